//! The fleet's key-value store, as the host sees it.
//!
//! | module | subject |
//! |---|---|
//! | [`memory`] | one process, answers at once: the embedded default |
//! | [`redis`] | a fleet, over one multiplexed connection |
//! | [`local`] | one instance's own keys in this process, beside any store |
//! | [`watch`] | a time limit and a breaker of its own around any store |
//! | [`merge`] | group commit for counts, around any store |
//! | `confine` | which keys and values may pass through this host |
//! | [`contract`] | what every store promises, as tests that your own store can run |
//!
//! A store answers at once ([`Reply::Ready`]) or hands over a future ([`Reply::Later`]). The
//! engine turns a future into the contract's `pending`, and replays the call when it is there.

pub(crate) mod confine;
pub mod contract;
pub mod local;
pub mod memory;
pub mod merge;
pub mod redis;
pub mod watch;

use std::future::Future;
use std::pin::Pin;

pub use fusewire_core::store::{Lane, Tally, Window};

pub use self::local::LocalStore;
pub use self::memory::MemoryStore;
pub use self::merge::MergedStore;
pub use self::redis::RedisStore;
pub use self::watch::{Mode, WatchedStore};

/// The longest key, in bytes.
pub const KEY_MAX_BYTES: usize = 512;
/// The longest value, in bytes.
pub const VALUE_MAX_BYTES: usize = 64 * 1024;
/// The largest amount that a lane can hold: what a double holds exactly.
pub const AMOUNT_MAX: u64 = (1 << 53) - 1;

/// Whether an operation adds something; otherwise it only reads.
fn adds(window: &Window) -> bool {
    window.add.iter().any(|lane| lane.amount > 0)
}

/// Why a store did not do its part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Out of reach, or too slow. Whether the operation took effect is not known.
    #[error("the store is out of reach: {0}")]
    Unavailable(String),
    /// Will not be done, and nothing was changed.
    #[error("the store refused: {0}")]
    Refused(String),
}

/// An answer that is not there yet. Dropping it abandons the answer; whether the operation takes
/// effect is then not known.
pub type Later<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'static>>;

/// A store's answer, now or later.
pub enum Reply<T> {
    /// The answer.
    Ready(Result<T, StoreError>),
    /// The answer is on its way.
    Later(Later<T>),
}

impl<T: Send + 'static> Reply<T> {
    /// Waits for the answer, where it is not there yet. Cancel-safe as far as [`Later`] says.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub async fn wait(self) -> Result<T, StoreError> {
        match self {
            Self::Ready(answer) => answer,
            Self::Later(answer) => answer.await,
        }
    }
}

/// A store that keeps a few small values for the fleet. `wit/keyvalue.wit` is the contract that
/// each operation keeps, and [`contract::check`] tests it.
///
/// Implementations are called from many tasks at once, and never block the thread.
pub trait Store: Send + Sync + 'static {
    /// Reads values, in one round trip: one answer a key, in order; `None` where there is none.
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>>;

    /// Replaces the value of a key only where it still is `expected` (`None`: absent), and
    /// answers whether it did. `replacement` of `None` removes the key. `ttl_ms` is how long the
    /// new value lives; zero: until it is replaced or removed.
    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool>;

    /// Adds to windowed counters and reads them, in one round trip: one tally a window, in order.
    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>>;

    /// Asks for a sign of life, cheaply.
    fn ping(&self) -> Reply<()>;

    /// The present time on the fleet's clock, in ms since the Unix epoch: the store's clock as
    /// well as it is known, so that hosts whose own clocks differ agree. Never waits.
    fn now_ms(&self) -> u64;

    /// How far this host's wall clock, as it is now, is ahead of the store's, in us (negative:
    /// behind); `None` where the store has no clock of its own, or it was not read yet. Never waits.
    fn clock_ahead_us(&self) -> Option<i64> {
        None
    }

    /// Whether the store answers, as far as is known without asking.
    fn mode(&self) -> Mode {
        Mode::Shared
    }
}
