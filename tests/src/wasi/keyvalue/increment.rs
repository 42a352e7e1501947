//! 0.2.0-draft: wasmtime's own implementation, one bucket of it for all.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use wasmtime::component::{
    Component, ComponentType, HasData, Lift, Linker, Lower, Resource, ResourceTable, TypedFunc,
};
use wasmtime::{Engine, Store};
use wasmtime_wasi_keyvalue::{WasiKeyValue, WasiKeyValueCtx};

use super::{Contents, HasContents, View};

#[allow(missing_docs, reason = "the documentation is in the WIT files")]
mod bindings {
    wasmtime::component::bindgen!({
        inline: "
            package fusewire:tests;
            world bucket {
                import wasi:keyvalue/store@0.2.0-draft;
                import wasi:keyvalue/atomics@0.2.0-draft;
            }
        ",
        path: "../policy/wasi/wit/deps/keyvalue-draft",
        imports: { default: trappable },
        with: { "wasi:keyvalue/store.bucket": super::Handle },
    });
}

use bindings::wasi::keyvalue::{atomics, store};

/// What an instance holds of the bucket.
pub struct Handle;

/// Why the bucket did not do its part, as wasmtime's implementation says it.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(variant)]
enum Error {
    #[component(name = "no-such-store")]
    NoSuchStore,
    #[component(name = "access-denied")]
    AccessDenied,
    #[component(name = "other")]
    Other(String),
}

impl From<Error> for store::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::NoSuchStore => Self::NoSuchStore,
            Error::AccessDenied => Self::AccessDenied,
            Error::Other(why) => Self::Other(why),
        }
    }
}

type Answer<T> = (Result<T, Error>,);

/// One bucket of wasmtime's own implementation, for all who ask.
pub struct SharedBucket {
    teller: Mutex<Teller>,
    down: AtomicBool,
}

/// The component that has opened it.
struct Teller {
    store: Store<State>,
    get: TypedFunc<(String,), Answer<Option<Vec<u8>>>>,
    set: TypedFunc<(String, Vec<u8>), Answer<()>>,
    delete: TypedFunc<(String,), Answer<()>>,
    increment: TypedFunc<(String, u64), Answer<u64>>,
}

struct State {
    table: ResourceTable,
    keyvalue: WasiKeyValueCtx,
}

impl SharedBucket {
    /// Opens an empty bucket.
    ///
    /// # Errors
    /// wasmtime does not run it.
    pub fn open() -> wasmtime::Result<Self> {
        let engine = Engine::default();
        let component = wat::parse_str(include_str!("teller.wat"))?;
        let component = Component::new(&engine, component)?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi_keyvalue::add_to_linker(&mut linker, |state: &mut State| {
            WasiKeyValue::new(&state.keyvalue, &mut state.table)
        })?;
        let state = State {
            table: ResourceTable::new(),
            keyvalue: WasiKeyValueCtx::builder().build(),
        };
        let mut store = Store::new(&engine, state);
        let teller = linker.instantiate(&mut store, &component)?;
        let open = teller.get_typed_func::<(String,), Answer<()>>(&mut store, "open")?;
        let (opened,) = open.call(&mut store, (String::new(),))?;
        opened.map_err(|error| wasmtime::format_err!("{error:?}"))?;
        Ok(Self {
            teller: Mutex::new(Teller {
                get: teller.get_typed_func(&mut store, "get")?,
                set: teller.get_typed_func(&mut store, "set")?,
                delete: teller.get_typed_func(&mut store, "delete")?,
                increment: teller.get_typed_func(&mut store, "increment")?,
                store,
            }),
            down: AtomicBool::new(false),
        })
    }

    pub(super) fn set_up(&self, up: bool) {
        self.down.store(!up, Ordering::Relaxed);
    }

    /// All that is under a key begins at one of the bucket's.
    pub(super) fn lose(&self, key: &str) {
        let lost = self.delete(format!("{key}#first"));
        assert!(matches!(lost, Ok(Ok(()))), "{lost:?}");
    }

    fn teller(&self) -> Result<MutexGuard<'_, Teller>, Error> {
        if self.down.load(Ordering::Relaxed) {
            return Err(Error::Other("out of reach".into()));
        }
        Ok(self.teller.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn get(&self, key: String) -> wasmtime::Result<Result<Option<Vec<u8>>, Error>> {
        let mut teller = match self.teller() {
            Ok(teller) => teller,
            Err(error) => return Ok(Err(error)),
        };
        let Teller { store, get, .. } = &mut *teller;
        Ok(get.call(store, (key,))?.0)
    }

    fn set(&self, key: String, value: Vec<u8>) -> wasmtime::Result<Result<(), Error>> {
        let mut teller = match self.teller() {
            Ok(teller) => teller,
            Err(error) => return Ok(Err(error)),
        };
        let Teller { store, set, .. } = &mut *teller;
        Ok(set.call(store, (key, value))?.0)
    }

    fn delete(&self, key: String) -> wasmtime::Result<Result<(), Error>> {
        let mut teller = match self.teller() {
            Ok(teller) => teller,
            Err(error) => return Ok(Err(error)),
        };
        let Teller { store, delete, .. } = &mut *teller;
        Ok(delete.call(store, (key,))?.0)
    }

    fn increment(&self, key: String, by: u64) -> wasmtime::Result<Result<u64, Error>> {
        let mut teller = match self.teller() {
            Ok(teller) => teller,
            Err(error) => return Ok(Err(error)),
        };
        let Teller {
            store, increment, ..
        } = &mut *teller;
        Ok(increment.call(store, (key, by))?.0)
    }
}

impl View<'_> {
    /// The bucket, where the contents have one.
    fn bucket(&self) -> wasmtime::Result<&SharedBucket> {
        match self.contents {
            Contents::Increment(bucket) => Ok(bucket),
            Contents::Cas(_) => wasmtime::bail!("these contents are not of 0.2.0-draft"),
        }
    }
}

impl store::Host for View<'_> {
    fn open(
        &mut self,
        identifier: String,
    ) -> wasmtime::Result<Result<Resource<Handle>, store::Error>> {
        Ok(match identifier.as_str() {
            "" => Ok(self.table.push(Handle)?),
            _ => Err(store::Error::NoSuchStore),
        })
    }
}

type Told<T> = wasmtime::Result<Result<T, store::Error>>;

impl store::HostBucket for View<'_> {
    fn get(&mut self, _: Resource<Handle>, key: String) -> Told<Option<Vec<u8>>> {
        Ok(self.bucket()?.get(key)?.map_err(Into::into))
    }

    fn set(&mut self, _: Resource<Handle>, key: String, value: Vec<u8>) -> Told<()> {
        Ok(self.bucket()?.set(key, value)?.map_err(Into::into))
    }

    fn delete(&mut self, _: Resource<Handle>, key: String) -> Told<()> {
        Ok(self.bucket()?.delete(key)?.map_err(Into::into))
    }

    fn exists(&mut self, _: Resource<Handle>, key: String) -> Told<bool> {
        let held = self.bucket()?.get(key)?;
        Ok(held.map(|held| held.is_some()).map_err(Into::into))
    }

    fn list_keys(&mut self, _: Resource<Handle>, _: Option<u64>) -> Told<store::KeyResponse> {
        Ok(Err(store::Error::Other("nobody here lists keys".into())))
    }

    fn drop(&mut self, bucket: Resource<Handle>) -> wasmtime::Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

impl atomics::Host for View<'_> {
    fn increment(&mut self, _: Resource<Handle>, key: String, delta: u64) -> Told<u64> {
        Ok(self.bucket()?.increment(key, delta)?.map_err(Into::into))
    }
}

struct Access;

impl HasData for Access {
    type Data<'a> = View<'a>;
}

pub(super) fn add_to_linker<T: HasContents>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    store::add_to_linker::<T, Access>(linker, T::contents)?;
    atomics::add_to_linker::<T, Access>(linker, T::contents)
}
