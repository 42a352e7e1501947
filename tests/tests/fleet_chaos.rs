//! Eight processes on a real Redis, while providers fail, processes are killed and paused, clocks are
//! wrong and the store is cut off, all at random: the promises hold, by the journals of all of them.
//!
//! Every process's wall clock is wrong by seconds to a minute, and all but one follow the store's
//! clock. That one does so for the provider `geo`, and goes by its own clock for `maps`: so what is
//! promised without a common clock is tested there, and what needs one is tested with `geo`. The
//! documentation of `fusewire_tests::chaos::check` says which is which.
//!
//! Lasts for two minutes and some seconds, or `FUSEWIRE_CHAOS_SECONDS`. The schedule comes from a
//! seed, which is printed; `FUSEWIRE_CHAOS_SEED` brings it back, as far as the machine goes along.
//! Where a promise is broken, the journals are kept.

use std::path::Path;
use std::time::{Duration, SystemTime};

use fusewire_tests::chaos::check::check;
use fusewire_tests::chaos::director::run;
use fusewire_tests::chaos::report::table;

/// From how long a run is expected to have shown everything.
const TELLING: Duration = Duration::from_secs(60);
/// How many problems are shown: one may bring about many.
const SHOWN: usize = 20;

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {text}")),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_to_a_fleet_its_promises_hold() {
    let lasts = Duration::from_secs(number("FUSEWIRE_CHAOS_SECONDS").unwrap_or(120));
    let seed = number("FUSEWIRE_CHAOS_SEED").unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.map_or(1, |since| u64::from(since.subsec_nanos()))
    });
    // Not by way of the test's own output, which nobody sees before the test has ended.
    let say = |text: &str| {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "{text}");
    };
    say(&format!(
        "\n  chaos for {} s; FUSEWIRE_CHAOS_SEED={seed} brings its schedule back",
        lasts.as_secs()
    ));
    let folder = tempfile::tempdir().expect("a folder for the journals");
    let program = Path::new(env!("CARGO_BIN_EXE_chaos_worker"));
    let run = run(seed, lasts, program, folder.path()).await;
    let findings = check(&run.story);
    say(&table(&run, &findings));

    if !findings.problems.is_empty() {
        let folder = folder.keep();
        let shown: Vec<String> = findings
            .problems
            .iter()
            .take(SHOWN)
            .map(|problem| format!("  {problem}"))
            .collect();
        panic!(
            "{} promises were broken with the seed {seed}; the journals are in {}. The first:\n{}",
            findings.problems.len(),
            folder.display(),
            shown.join("\n")
        );
    }
    for (domain, tally) in &findings.tallies {
        assert!(tally.tripped > 0, "{domain} never opened");
        assert!(tally.closed > 0, "{domain} never closed");
    }
    if lasts >= TELLING {
        let sum = |of: fn(&fusewire_tests::chaos::check::Tally) -> usize| {
            findings.tallies.values().map(of).sum::<usize>()
        };
        let ignored = |reason: &str| {
            let tallies = findings.tallies.values();
            tallies.filter_map(|t| t.ignored.get(reason)).sum::<usize>()
        };
        // What nothing has come of has not been tested.
        assert!(run.done.kills > 0 && run.done.pauses > 0, "{:?}", run.done);
        assert!(
            run.done.store_pauses + run.done.store_losses > 0,
            "{:?}",
            run.done
        );
        assert!(sum(|t| t.reopened) > 0, "no probe failed");
        assert!(sum(|t| t.taken_over) > 0, "no lease was taken over");
        assert!(ignored("lease-lost") > 0, "no probe lost its lease");
        assert!(
            ignored("stale") + ignored("late") > 0,
            "no outcome came late"
        );
    }
}
