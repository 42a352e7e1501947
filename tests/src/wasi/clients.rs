//! Many instances of an adapter on the same contents, each on a thread of its own: as a store of
//! the host, so that the host's tests of stores can be run over them.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use fusewire::store::{self, Reply, StoreError, Tally, Window};
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Engine, Store};
use wasmtime_wasi::WasiCtx;

use super::keyvalue::Contents;
use super::state::State;

#[allow(missing_docs, reason = "the documentation is in wit/")]
mod bindings {
    wasmtime::component::bindgen!({
        inline: "
            package fusewire:tests;
            world adapter { export fusewire:policy/keyvalue@0.1.2; }
        ",
        path: "../wit",
    });
}

use bindings::exports::fusewire::policy::keyvalue as wit;

/// One instance of an adapter.
pub struct Client {
    store: Store<State>,
    adapter: bindings::Adapter,
}

/// An adapter, and the contents that all its instances are given.
pub struct Clients {
    pre: InstancePre<State>,
    contents: Contents,
    spare: Mutex<Vec<Client>>,
}

impl Clients {
    /// The adapter in this file.
    ///
    /// # Errors
    /// It does not run.
    pub fn of(path: impl AsRef<Path>, contents: &Contents) -> wasmtime::Result<Arc<Self>> {
        let engine = Engine::default();
        let component = Component::from_file(&engine, path.as_ref())?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_sync(&mut linker)?;
        Contents::add_to_linker(&mut linker)?;
        Ok(Arc::new(Self {
            pre: linker.instantiate_pre(&component)?,
            contents: contents.clone(),
            spare: Mutex::default(),
        }))
    }

    /// One more instance.
    ///
    /// # Errors
    /// It does not run.
    pub fn client(&self) -> wasmtime::Result<Client> {
        let state = State::new(WasiCtx::builder().build(), self.contents.clone());
        let mut store = Store::new(self.pre.engine(), state);
        let instance = self.pre.instantiate(&mut store)?;
        let adapter = bindings::Adapter::new(&mut store, &instance)?;
        Ok(Client { store, adapter })
    }

    /// An operation of an instance that has none under way, on a thread of its own.
    fn later<T: Send + 'static>(
        self: &Arc<Self>,
        operation: impl FnOnce(&mut Client) -> Result<T, StoreError> + Send + 'static,
    ) -> Reply<T> {
        let this = Arc::clone(self);
        let spare = move || {
            this.spare
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop()
        };
        let this = Arc::clone(self);
        Reply::Later(Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || {
                let client = spare().map_or_else(|| this.client(), Ok);
                let mut client = client.map_err(unavailable)?;
                let answer = operation(&mut client);
                let mut spare = this.spare.lock().unwrap_or_else(PoisonError::into_inner);
                spare.push(client);
                answer
            });
            done.await.map_err(unavailable)?
        }))
    }
}

/// The instances as one store.
pub struct ClientsStore(pub Arc<Clients>);

impl store::Store for ClientsStore {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        self.0.later(move |client| client.get(&keys))
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        self.0.later(move |client| {
            client.swap(&key, expected.as_deref(), replacement.as_deref(), ttl_ms)
        })
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        self.0.later(move |client| client.count(&windows))
    }

    fn ping(&self) -> Reply<()> {
        Reply::Ready(Ok(()))
    }

    fn now_ms(&self) -> u64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
    }
}

impl Client {
    /// See [`store::Store::get`].
    ///
    /// # Errors
    /// See [`StoreError`]; a trap is [`StoreError::Unavailable`].
    pub fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let guest = self.adapter.fusewire_policy_keyvalue();
        let answer = guest.call_get(&mut self.store, keys);
        answer.map_err(unavailable)?.map_err(error)
    }

    /// See [`store::Store::swap`].
    ///
    /// # Errors
    /// See [`StoreError`]; a trap is [`StoreError::Unavailable`].
    pub fn swap(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
        ttl_ms: u64,
    ) -> Result<bool, StoreError> {
        let guest = self.adapter.fusewire_policy_keyvalue();
        let answer = guest.call_swap(&mut self.store, key, expected, replacement, ttl_ms);
        answer.map_err(unavailable)?.map_err(error)
    }

    /// See [`store::Store::count`].
    ///
    /// # Errors
    /// See [`StoreError`]; a trap is [`StoreError::Unavailable`].
    pub fn count(&mut self, windows: &[Window]) -> Result<Vec<Tally>, StoreError> {
        let windows: Vec<wit::Window> = windows.iter().map(window).collect();
        let guest = self.adapter.fusewire_policy_keyvalue();
        let answer = guest.call_count(&mut self.store, &windows);
        let tallies = answer.map_err(unavailable)?.map_err(error)?;
        Ok(tallies.into_iter().map(tally).collect())
    }
}

fn unavailable(error: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("{error:#}"))
}

fn error(error: wit::Error) -> StoreError {
    match error {
        wit::Error::Pending => StoreError::Refused("it says that it is pending".into()),
        wit::Error::Unavailable => StoreError::Unavailable("it says so".into()),
        wit::Error::Refused(why) => StoreError::Refused(why),
    }
}

fn window(from: &Window) -> wit::Window {
    wit::Window {
        key: from.key.clone(),
        epoch: from.epoch,
        bucket: from.bucket,
        add: from
            .add
            .iter()
            .map(|lane| wit::Lane {
                name: lane.name.clone(),
                amount: lane.amount,
            })
            .collect(),
        since: from.since,
        ttl_ms: from.ttl_ms,
    }
}

fn tally(from: wit::Tally) -> Tally {
    let lane = |lane: wit::Lane| store::Lane {
        name: lane.name,
        amount: lane.amount,
    };
    Tally {
        epoch: from.epoch,
        lanes: from.lanes.into_iter().map(lane).collect(),
    }
}
