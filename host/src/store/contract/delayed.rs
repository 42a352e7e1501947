//! Any store, as one that answers later.

use std::sync::Arc;

use crate::store::{Later, Mode, Reply, Store, Tally, Window};

/// Any store, as one that never answers at once: each operation is performed when its future is
/// polled the second time. What runs on it runs on a store across a network, without one.
pub struct Delayed<S>(Arc<S>);

impl<S: Store> Delayed<S> {
    /// Delays the answers of this store.
    #[must_use]
    pub fn new(inner: S) -> Self {
        Self(Arc::new(inner))
    }

    fn later<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&S) -> Reply<T> + Send + 'static,
    ) -> Reply<T> {
        let inner = Arc::clone(&self.0);
        let later: Later<T> = Box::pin(async move {
            tokio::task::yield_now().await;
            operation(&inner).wait().await
        });
        Reply::Later(later)
    }
}

impl<S: Store> Store for Delayed<S> {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        self.later(move |inner| inner.get(keys))
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        self.later(move |inner| inner.swap(key, expected, replacement, ttl_ms))
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        self.later(move |inner| inner.count(windows))
    }

    fn ping(&self) -> Reply<()> {
        self.later(Store::ping)
    }

    fn now_ms(&self) -> u64 {
        self.0.now_ms()
    }

    fn mode(&self) -> Mode {
        self.0.mode()
    }
}
