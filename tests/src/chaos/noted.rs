//! A store that writes down what becomes of the records in it, for one caller that makes one call
//! at a time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use fusewire::store::{Mode, Reply, Store, StoreError, Tally, Window};
use fusewire_core::Phase;

use super::check::Record;
use super::journal::{Answer, Journal, Saw, What};

/// Whose clock a caller goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockOf {
    /// The store's, as everybody should.
    Store,
    /// The process's own wall clock, which may be wrong.
    Process,
}

/// The numbers that a caller gives out.
#[derive(Debug, Default)]
pub struct Numbers {
    calls: AtomicU64,
    swaps: AtomicU64,
}

/// What is known of the call that is being made, and where it is written down.
pub struct Notes {
    journal: Arc<Journal>,
    numbers: Numbers,
    store: Arc<dyn Store>,
    clock: ClockOf,
    domain: String,
    state: Mutex<State>,
}

struct State {
    call: u64,
    /// The present time as the policy was last told it, in ms.
    now_ms: u64,
    saw: Saw,
}

impl Notes {
    /// Notes of a caller of this domain.
    #[must_use]
    pub fn new(
        journal: Arc<Journal>,
        numbers: Numbers,
        store: Arc<dyn Store>,
        clock: ClockOf,
        domain: &str,
    ) -> Arc<Self> {
        Arc::new(Self {
            journal,
            numbers,
            store,
            clock,
            domain: domain.to_owned(),
            state: Mutex::new(State {
                call: 0,
                now_ms: 0,
                saw: Saw::Unasked,
            }),
        })
    }

    /// Whom this caller calls.
    #[must_use]
    pub fn domain(&self) -> String {
        self.domain.clone()
    }

    /// The next call: its number.
    pub fn begin(&self) -> u64 {
        let call = self.numbers.calls.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state();
        state.call = call;
        state.saw = Saw::Unasked;
        call
    }

    /// The number of the call that is being made.
    pub fn call(&self) -> u64 {
        self.state().call
    }

    /// What the store has said of the domain in this call so far.
    pub fn saw(&self) -> Saw {
        self.state().saw
    }

    /// Writes a line.
    pub fn write(&self, what: What) {
        self.journal.write(self.clock_ms(), what);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clock_ms(&self) -> u64 {
        match self.clock {
            ClockOf::Store => self.store.now_ms(),
            ClockOf::Process => wall_ms(),
        }
    }

    fn read(&self, answer: Result<Option<&[u8]>, ()>) {
        let mut state = self.state();
        let record = match answer {
            Ok(bytes) => bytes.and_then(|bytes| Record::read(std::str::from_utf8(bytes).ok()?)),
            Err(()) => {
                state.saw = Saw::Away;
                return;
            }
        };
        state.saw = match record.filter(|record| record.counts(state.now_ms)) {
            None => Saw::Absent,
            Some(record) if record.phase == Phase::Closed => Saw::Closed(record.epoch),
            Some(_) => Saw::Tripped,
        };
    }
}

/// What the process's own wall clock says, in ms since the Unix epoch.
#[must_use]
pub fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or_default()
}

/// See the [module](self).
pub struct Noted(Arc<Notes>);

impl Noted {
    /// The store of these notes, which go into their journal.
    #[must_use]
    pub fn new(notes: &Arc<Notes>) -> Self {
        Self(Arc::clone(notes))
    }

    fn is_record(&self, key: &str) -> bool {
        let name = key.strip_prefix("fusewire:s:{");
        name.and_then(|name| name.strip_suffix('}')) == Some(&self.0.domain)
    }
}

impl Store for Noted {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        let place = keys.iter().position(|key| self.is_record(key));
        let reply = self.0.store.get(keys);
        let Some(place) = place else { return reply };
        let notes = Arc::clone(&self.0);
        then(reply, move |answer| match answer {
            Ok(values) => notes.read(Ok(values.get(place).and_then(Option::as_deref))),
            Err(_) => notes.read(Err(())),
        })
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        if !self.is_record(&key) {
            return self.0.store.swap(key, expected, replacement, ttl_ms);
        }
        let notes = Arc::clone(&self.0);
        let text = |bytes: &Option<Vec<u8>>| {
            let bytes = bytes.as_deref();
            bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let swap = notes.numbers.swaps.fetch_add(1, Ordering::Relaxed);
        let (call, now_ms) = {
            let state = notes.state();
            (state.call, state.now_ms)
        };
        notes.write(What::Swap {
            call,
            swap,
            domain: notes.domain.clone(),
            now_ms,
            expected: text(&expected),
            put: text(&replacement),
        });
        let reply = notes.store.swap(key, expected, replacement, ttl_ms);
        then(reply, move |answer| {
            let answer = match answer {
                Ok(true) => Answer::Done,
                Ok(false) | Err(StoreError::Refused(_)) => Answer::NotDone,
                Err(StoreError::Unavailable(_)) => Answer::Unknown,
            };
            notes.write(What::Swapped { swap, answer });
        })
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        self.0.store.count(windows)
    }

    fn ping(&self) -> Reply<()> {
        self.0.store.ping()
    }

    fn now_ms(&self) -> u64 {
        let now_ms = self.0.clock_ms();
        self.0.state().now_ms = now_ms;
        now_ms
    }

    fn mode(&self) -> Mode {
        self.0.store.mode()
    }
}

/// The same reply, and has the answer looked at when it is there.
fn then<T: Send + 'static>(
    reply: Reply<T>,
    look: impl FnOnce(&Result<T, StoreError>) + Send + 'static,
) -> Reply<T> {
    match reply {
        Reply::Ready(answer) => {
            look(&answer);
            Reply::Ready(answer)
        }
        Reply::Later(later) => Reply::Later(Box::pin(async move {
            let answer = later.await;
            look(&answer);
            answer
        })),
    }
}
