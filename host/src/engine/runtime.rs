//! The wasmtime that all policies of this process share.
//!
//! One for all, so that a policy that is replaced leaves nothing behind but freed memory: no
//! thread, no table of types. It lives for as long as any policy does.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use wasmtime::{Config, Engine as Wasmtime};

use super::LoadError;
use super::compiled::component_error;

/// One tick of the epoch, which is how finely deadlines are kept.
pub(super) const TICK: Duration = Duration::from_millis(5);

/// A wasmtime engine whose epoch advances for as long as it lives.
pub(super) struct Runtime {
    pub(super) wasmtime: Wasmtime,
}

impl Runtime {
    /// The one of this process.
    pub(super) fn shared() -> Result<Arc<Self>, LoadError> {
        static SHARED: Mutex<Weak<Runtime>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = shared.upgrade() {
            return Ok(runtime);
        }
        let runtime = Arc::new(Self::new()?);
        *shared = Arc::downgrade(&runtime);
        Ok(runtime)
    }

    fn new() -> Result<Self, LoadError> {
        let mut config = Config::new();
        config.epoch_interruption(true);
        // A policy's functions are synchronous. On by default where a crate beside this one has the
        // runtime's asynchronous functions compiled in, it makes each call dearer.
        config.concurrency_support(false);
        let wasmtime = Wasmtime::new(&config).map_err(component_error)?;
        let weak = wasmtime.weak();
        std::thread::Builder::new()
            .name("fusewire-epoch".into())
            .spawn(move || {
                while let Some(wasmtime) = weak.upgrade() {
                    wasmtime.increment_epoch();
                    drop(wasmtime);
                    std::thread::sleep(TICK);
                }
            })
            .map_err(|error| LoadError::Component(format!("no thread for deadlines: {error}")))?;
        Ok(Self { wasmtime })
    }
}
