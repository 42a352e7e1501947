//! One process of a fleet that is killed, paused and cut off at random: callers of each provider,
//! each an instance of the fleet with a guard of its own, which write down everything that they do.
//!
//! `chaos_worker ORDERS`, as `fusewire_tests::chaos::orders` has them. Ends when its standard input
//! does.
//!
//! Its wall clock is wrong by as much as it is told: `clock_gettime` is this program's own, so the
//! whole process is mistaken, as on a host whose clock was never set. The monotonic clock stays as
//! it is, as on such a host.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fusewire::engine::{BUILT_IN, Compiled, Engine, Limits};
use fusewire::policy::cache::Kept;
use fusewire::policy::{Cache, Digest};
use fusewire::store::{MergedStore, RedisStore, Store, WatchedStore};
use fusewire_tests::chaos::journal::{Journal, What};
use fusewire_tests::chaos::lane::Lane;
use fusewire_tests::chaos::noted::{ClockOf, Notes, Numbers, wall_ms};
use fusewire_tests::chaos::orders::{CONFIGURATION, Orders, STORE_LIMIT, journal_file};
use fusewire_tests::chaos::random::Random;

/// How many callers of each provider tell what they have seen at once.
const PROMPT: usize = 2;
/// How many do so later.
const DAWDLERS: usize = 1;
/// How long the callers may take to come to their end. Longer than any call.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let argument = std::env::args().nth(1).unwrap_or_default();
    let orders = match Orders::of_argument(&argument) {
        Ok(orders) => orders,
        Err(error) => {
            eprintln!("usage: chaos_worker ORDERS, which are no orders: {error}");
            std::process::exit(2);
        }
    };
    wall_clock::shift(orders.shift_ms);
    let journal = journal_of(&orders, &orders.instance);
    let store = store(&orders, &journal);
    journal.write(
        store.now_ms(),
        What::Start {
            shift_ms: orders.shift_ms,
            wall_ms: wall_ms(),
        },
    );
    let engine = engine(&orders);
    let stop = Arc::new(AtomicBool::new(false));
    let mut lanes = Vec::new();
    for (domain, address) in &orders.providers {
        for at in 0..PROMPT + DAWDLERS {
            let clock = match &orders.own_clock_for {
                Some(own) if own == domain => ClockOf::Process,
                _ => ClockOf::Store,
            };
            let instance = format!("{}-{}", orders.instance, lanes.len());
            let notes = Notes::new(
                journal_of(&orders, &instance),
                Numbers::default(),
                Arc::clone(&store),
                clock,
                domain,
            );
            let random = Random::apart(orders.seed, &instance);
            let lane = Lane::new(&engine, &notes, *address, &instance, random, at >= PROMPT);
            lanes.push(tokio::spawn(lane.run(Arc::clone(&stop))));
        }
    }
    let ended = tokio::task::spawn_blocking(|| {
        // Nothing is ever said there: it ends, also with the process that started this one.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
    });
    ended.await.expect("standard input ends");
    stop.store(true, Ordering::Relaxed);
    for lane in lanes {
        let ended = tokio::time::timeout(PATIENCE, lane).await;
        ended.expect("a caller ends in time").expect("no panic");
    }
    journal.write(store.now_ms(), What::End);
}

fn journal_of(orders: &Orders, name: &str) -> Arc<Journal> {
    let path = journal_file(&orders.journals, name);
    Arc::new(Journal::create(&path).expect("a journal"))
}

/// The store as a fleet has it. It is not waited for: a process that starts while its store is away
/// calls all the same.
fn store(orders: &Orders, journal: &Arc<Journal>) -> Arc<dyn Store> {
    let redis = Arc::new(RedisStore::open(&orders.store).expect("the URL of a store"));
    let (journal, clock) = (Arc::clone(journal), Arc::clone(&redis));
    let watched = WatchedStore::observed(redis, STORE_LIMIT, move |mode, why| {
        let (mode, why) = (mode.name().to_owned(), why.to_owned());
        journal.write(clock.now_ms(), What::Mode { mode, why });
    });
    Arc::new(MergedStore::new(Arc::new(watched)))
}

/// The built-in policy, compiled by whoever started this process.
fn engine(orders: &Orders) -> Arc<dyn Engine> {
    // A process that is paused in the midst of a question has not been slow with it.
    let limits = Limits {
        deadline: Duration::from_secs(30),
        ..Limits::default()
    };
    let cache = Cache::open(&orders.cache).expect("the folder of compiled code");
    let compiled = match cache.get(&Digest::of(BUILT_IN)) {
        Kept::Code(compiled) => Ok(compiled),
        Kept::Nothing | Kept::Unusable(_) => Compiled::new(BUILT_IN),
    };
    let engine = compiled
        .and_then(|compiled| compiled.start(limits))
        .and_then(|started| started.configured(CONFIGURATION));
    Arc::new(engine.unwrap_or_else(|error| panic!("the policy does not load: {error}")))
}

#[cfg(target_os = "linux")]
mod wall_clock {
    //! The process's own idea of the time of day.

    use std::ffi::c_int;
    use std::sync::atomic::{AtomicI64, Ordering};

    use rustix::time::{ClockId, Timespec};

    static SHIFT_MS: AtomicI64 = AtomicI64::new(0);

    /// Puts the wall clock wrong by so many ms.
    pub(crate) fn shift(by_ms: i64) {
        SHIFT_MS.store(by_ms, Ordering::Relaxed);
    }

    /// Takes the place of the C library's, which the standard library asks.
    ///
    /// # Safety
    /// As of the original: `time` points to where the time may be written.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn clock_gettime(id: c_int, time: *mut Timespec) -> c_int {
        const MILLION: i64 = 1_000_000;
        let Ok(id) = ClockId::try_from(id) else {
            return -1;
        };
        // By a system call of its own, not by way of this function.
        let mut now = rustix::time::clock_gettime(id);
        if id == ClockId::Realtime {
            let shift_ns = SHIFT_MS.load(Ordering::Relaxed) * MILLION;
            let nanos = now.tv_sec * 1_000 * MILLION + now.tv_nsec + shift_ns;
            now.tv_sec = nanos.div_euclid(1_000 * MILLION);
            now.tv_nsec = nanos.rem_euclid(1_000 * MILLION);
        }
        // SAFETY: the caller's promise.
        unsafe { time.write(now) };
        0
    }
}

#[cfg(not(target_os = "linux"))]
mod wall_clock {
    //! Where there is no way to put the clock of one process wrong, it stays right.

    pub(crate) fn shift(_: i64) {}
}
