//! A run as a short table.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use fusewire_core::RefusalReason;

use super::check::{Findings, Tally};
use super::director::Run;
use super::provider::Mood;

/// What happened in a run, for people.
#[must_use]
pub fn table(run: &Run, findings: &Findings) -> String {
    let mut text = String::new();
    let domains: Vec<&str> = findings.tallies.keys().map(String::as_str).collect();
    let mut line = |what: &str, values: Vec<String>| {
        let values: String = values.iter().map(|v| format!("{v:>12}")).collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {what:<58}{values}");
    };
    line("", domains.iter().map(|d| (*d).to_owned()).collect());
    let mut number = |what: &str, of: &dyn Fn(&Tally) -> usize| {
        let values = findings.tallies.values().map(|t| of(t).to_string());
        line(what, values.collect());
    };
    number("calls asked for", &asked);
    number("  refused", &|t| t.refused.values().sum());
    for reason in RefusalReason::ALL.iter().map(|reason| reason.name()) {
        let of = |t: &Tally| t.refused.get(reason).copied().unwrap_or(0);
        if findings.tallies.values().any(|t| of(t) > 0) {
            number(&format!("    {reason}"), &of);
        }
    }
    number("  given up by the caller before the answer", &|t| {
        t.given_up
    });
    number("  let through", &|t| t.admitted);
    number("    of them probes", &|t| t.probes);
    number("    of them dropped by the caller", &|t| t.dropped);
    number("calls that reached the provider", &|t| t.reached);
    number("  while it failed, hung or flapped", &|t| {
        t.reached_in_outages
    });
    number("openings by the rule", &|t| t.tripped);
    number("openings by a probe that failed", &|t| t.reopened);
    number("closes", &|t| t.closed);
    number("leases taken over when they had run out", &|t| t.taken_over);
    number("probes told after their lease was over", &|t| t.outlived);
    for reason in ["stale", "lease-lost", "late", "unshared"] {
        number(&format!("outcomes that changed nothing: {reason}"), &|t| {
            t.ignored.get(reason).copied().unwrap_or(0)
        });
    }
    number("changes of the record without an answer", &|t| t.unanswered);
    number("  that had taken effect", &|t| t.unanswered_done);
    number("records that were lost and put back", &|t| t.put_back);
    number("calls decided while the store was out of reach", &|t| {
        t.decided_alone
    });
    number("  refused by the instance's own breaker", &|t| {
        t.refused_alone
    });
    number("changes of instances' own breakers", &|t| t.alone);
    let overlaps = findings.tallies.values().map(|t| ms(t.overlap_us));
    line(
        "two leases at once by the machine's clock, at most",
        overlaps.collect(),
    );
    let slowest = domains.iter().map(|domain| {
        let recovery = recovery(run, findings, domain);
        recovery.map_or_else(|| "none".to_owned(), ms)
    });
    line(
        "longest from a provider's recovery to the close",
        slowest.collect(),
    );
    let done = &run.done;
    let _ = writeln!(
        text,
        "  {} processes killed ({} held a lease), {} paused ({} held a lease), the store paused {} \
         times and lost {} times",
        done.kills,
        done.holders_killed,
        done.pauses,
        done.holders_paused,
        done.store_pauses,
        done.store_losses,
    );
    let _ = writeln!(
        text,
        "  the clocks that follow the store's agreed within {}; at rest every breaker was closed for \
         good after {:.1} s",
        ms(findings.clocks_apart_us),
        run.settled_in.as_secs_f64(),
    );
    text
}

fn asked(tally: &Tally) -> usize {
    tally.admitted + tally.given_up + tally.refused.values().sum::<usize>()
}

fn ms(us: u64) -> String {
    format!("{:.1} ms", Duration::from_micros(us).as_secs_f64() * 1e3)
}

/// The longest from when a provider was well again, with its breaker open, to the close, where the
/// provider stayed well until then; in us.
fn recovery(run: &Run, findings: &Findings, domain: &str) -> Option<u64> {
    let moods: &Vec<(u64, Mood)> = run.moods.get(domain)?;
    let (opens, closes) = findings.turns.get(domain)?;
    let mut turns = BTreeMap::new();
    turns.extend(opens.iter().map(|at| (*at, true)));
    turns.extend(closes.iter().map(|at| (*at, false)));
    let ends = moods.iter().skip(1).map(|(at, _)| *at).chain([u64::MAX]);
    moods
        .iter()
        .zip(ends)
        .filter(|((_, mood), _)| *mood == Mood::Healthy)
        .filter_map(|((began, _), end)| {
            let (_, was_open) = turns.range(..*began).next_back()?;
            let (closed, _) = turns.range(*began..end).find(|(_, opens)| !**opens)?;
            was_open.then_some(closed - began)
        })
        .max()
}
