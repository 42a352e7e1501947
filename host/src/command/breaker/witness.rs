//! Why there was no answer, where there was none.
//!
//! A policy answers what it can when its store fails, and calls go on; it does not say how the
//! store failed. An operator wants to know, and a script whether an order was refused or is in
//! doubt. So the store that the policy is given is one that is listened to.

use std::sync::{Arc, Mutex, PoisonError};

use fusewire::guard::{Notice, Observer};
use fusewire::store::{Mode, Reply, Store, StoreError, Tally, Window};

/// A store that remembers what went wrong.
pub(super) struct Witness {
    store: Arc<dyn Store>,
    trouble: Arc<Trouble>,
}

/// What went wrong since it was asked last.
#[derive(Default)]
pub(super) struct Trouble(Mutex<Option<String>>);

impl Trouble {
    /// The last that went wrong. It is forgotten by that.
    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note(&self, what: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
    }
}

/// The policy's own failures.
impl Observer for Trouble {
    fn notice(&self, notice: &Notice<'_>) {
        if let Notice::Fault { fault, .. } = notice {
            self.note(fault.to_string());
        }
    }
}

impl Witness {
    pub(super) fn new(store: Arc<dyn Store>, trouble: Arc<Trouble>) -> Self {
        Self { store, trouble }
    }

    fn listen<T: Send + 'static>(&self, reply: Reply<T>) -> Reply<T> {
        let trouble = Arc::clone(&self.trouble);
        let judge = move |answer: Result<T, StoreError>| {
            if let Err(error) = &answer {
                trouble.note(error.to_string());
            }
            answer
        };
        match reply {
            Reply::Ready(answer) => Reply::Ready(judge(answer)),
            Reply::Later(later) => Reply::Later(Box::pin(async move { judge(later.await) })),
        }
    }
}

impl Store for Witness {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        self.listen(self.store.get(keys))
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        self.listen(self.store.swap(key, expected, replacement, ttl_ms))
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        self.listen(self.store.count(windows))
    }

    fn ping(&self) -> Reply<()> {
        self.listen(self.store.ping())
    }

    fn now_ms(&self) -> u64 {
        self.store.now_ms()
    }

    fn mode(&self) -> Mode {
        self.store.mode()
    }
}
