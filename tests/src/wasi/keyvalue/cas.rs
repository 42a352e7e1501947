//! 0.2.0-draft2, which wasmtime does not have: a host side of our own, in memory.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use wasmtime::component::{HasData, Linker, Resource};

use super::{Contents, HasContents, View};

#[allow(missing_docs, reason = "the documentation is in the WIT files")]
mod bindings {
    wasmtime::component::bindgen!({
        inline: "
            package fusewire:tests;
            world bucket {
                import wasi:keyvalue/store@0.2.0-draft2;
                import wasi:keyvalue/atomics@0.2.0-draft2;
            }
        ",
        path: "../policy/wasi/wit/deps/keyvalue-draft2",
        imports: { default: trappable },
        with: {
            "wasi:keyvalue/store.bucket": super::Handle,
            "wasi:keyvalue/atomics.cas": super::Seen,
        },
    });
}

use bindings::wasi::keyvalue::{atomics, store};

/// What an instance holds of the bucket.
pub struct Handle;

/// What an instance has seen under a key.
pub struct Seen {
    key: String,
    version: u64,
    held: Option<Vec<u8>>,
}

/// Values with the versions that they are.
#[derive(Default)]
pub struct CasBucket {
    values: Mutex<Values>,
    down: AtomicBool,
}

#[derive(Default)]
struct Values {
    map: HashMap<String, (u64, Vec<u8>)>,
    /// How many versions there have been, of all keys.
    versions: u64,
}

impl Values {
    fn put(&mut self, key: String, value: Vec<u8>) {
        self.versions += 1;
        self.map.insert(key, (self.versions, value));
    }

    fn seen(&self, key: String) -> Seen {
        let held = self.map.get(&key);
        Seen {
            version: held.map_or(0, |(version, _)| *version),
            held: held.map(|(_, value)| value.clone()),
            key,
        }
    }
}

impl CasBucket {
    pub(super) fn set_up(&self, up: bool) {
        self.down.store(!up, Ordering::Relaxed);
    }

    pub(super) fn lose(&self, key: &str) {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.map.remove(key);
    }

    fn values(&self) -> Result<MutexGuard<'_, Values>, store::Error> {
        if self.down.load(Ordering::Relaxed) {
            return Err(store::Error::Other("out of reach".into()));
        }
        Ok(self.values.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The values, where the contents are of this kind. Not a method, so that the handles can be
/// touched while they are held.
fn values<'a>(contents: &'a Contents) -> Told<MutexGuard<'a, Values>> {
    match contents {
        Contents::Cas(bucket) => Ok(bucket.values()),
        Contents::Increment(_) => wasmtime::bail!("these contents are not of 0.2.0-draft2"),
    }
}

type Told<T> = wasmtime::Result<Result<T, store::Error>>;

impl store::Host for View<'_> {
    fn open(&mut self, identifier: String) -> Told<Resource<Handle>> {
        Ok(match identifier.as_str() {
            "default" => Ok(self.table.push(Handle)?),
            _ => Err(store::Error::NoSuchStore),
        })
    }
}

impl store::HostBucket for View<'_> {
    fn get(&mut self, _: Resource<Handle>, key: String) -> Told<Option<Vec<u8>>> {
        Ok(values(self.contents)?.map(|values| values.seen(key).held))
    }

    fn set(&mut self, _: Resource<Handle>, key: String, value: Vec<u8>) -> Told<()> {
        Ok(values(self.contents)?.map(|mut values| values.put(key, value)))
    }

    fn delete(&mut self, _: Resource<Handle>, key: String) -> Told<()> {
        Ok(values(self.contents)?.map(|mut values| drop(values.map.remove(&key))))
    }

    fn exists(&mut self, _: Resource<Handle>, key: String) -> Told<bool> {
        Ok(values(self.contents)?.map(|values| values.map.contains_key(&key)))
    }

    fn list_keys(&mut self, _: Resource<Handle>, _: Option<String>) -> Told<store::KeyResponse> {
        Ok(Err(store::Error::Other("nobody here lists keys".into())))
    }

    fn drop(&mut self, bucket: Resource<Handle>) -> wasmtime::Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

impl atomics::Host for View<'_> {
    fn increment(&mut self, _: Resource<Handle>, key: String, delta: i64) -> Told<i64> {
        let mut values = match values(self.contents)? {
            Ok(values) => values,
            Err(error) => return Ok(Err(error)),
        };
        let held = values.seen(key.clone()).held.unwrap_or(b"0".to_vec());
        let held = String::from_utf8(held)
            .ok()
            .and_then(|held| held.parse::<i64>().ok());
        Ok(match held.and_then(|held| held.checked_add(delta)) {
            Some(sum) => {
                values.put(key, sum.to_string().into_bytes());
                Ok(sum)
            }
            None => Err(store::Error::Other("no number, or too large a one".into())),
        })
    }

    fn swap(
        &mut self,
        seen: Resource<Seen>,
        value: Vec<u8>,
    ) -> wasmtime::Result<Result<(), atomics::CasError>> {
        let seen = self.table.delete(seen)?;
        let now = {
            let mut values = match values(self.contents)? {
                Ok(values) => values,
                Err(error) => return Ok(Err(atomics::CasError::StoreError(error))),
            };
            let now = values.seen(seen.key.clone());
            if now.version == seen.version {
                values.put(seen.key, value);
                return Ok(Ok(()));
            }
            now
        };
        Ok(Err(atomics::CasError::CasFailed(self.table.push(now)?)))
    }
}

impl atomics::HostCas for View<'_> {
    fn new(&mut self, _: Resource<Handle>, key: String) -> Told<Resource<Seen>> {
        let seen = values(self.contents)?.map(|values| values.seen(key));
        Ok(match seen {
            Ok(seen) => Ok(self.table.push(seen)?),
            Err(error) => Err(error),
        })
    }

    fn current(&mut self, seen: Resource<Seen>) -> Told<Option<Vec<u8>>> {
        Ok(Ok(self.table.get(&seen)?.held.clone()))
    }

    fn drop(&mut self, seen: Resource<Seen>) -> wasmtime::Result<()> {
        self.table.delete(seen)?;
        Ok(())
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
