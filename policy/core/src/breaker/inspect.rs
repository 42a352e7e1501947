//! The state of domains, for people and gauges.

use super::rules::{self, Counter};
use super::types::{Context, DomainState, Phase};
use crate::config::Config;
use crate::record::{Seen, Standing};
use crate::store::{KeyValue, Session, Stop, Suspended, Tally};
use crate::target::{Domain, Target};

/// Reads the state of the target's domains, changing nothing. Domains that the store does not
/// answer for are left out, as are those of a target whose names are not valid.
///
/// # Errors
/// [`Suspended`] where the store has not answered yet.
pub fn inspect(
    config: &Config,
    store: &mut dyn KeyValue,
    target: &Target,
    context: &Context,
) -> Result<Vec<DomainState>, Suspended> {
    let Ok(domains) = target.domains() else {
        return Ok(Vec::new());
    };
    match read(config, &mut Session::new(store), &domains, context) {
        Ok(states) => Ok(states),
        Err(Stop::Suspended(suspended)) => Err(suspended),
        Err(Stop::Store(_)) => Ok(Vec::new()),
    }
}

fn read(
    config: &Config,
    session: &mut Session<'_>,
    domains: &[Domain<'_>],
    context: &Context,
) -> Result<Vec<DomainState>, Stop> {
    let now = context.now_ms;
    let keys: Vec<String> = domains
        .iter()
        .map(|d| d.record_key(&config.prefix))
        .collect();
    let seen: Vec<Seen> = session
        .get(&keys)?
        .into_iter()
        .zip(domains)
        .map(|(bytes, domain)| Seen::read(bytes, config.settings(domain.provider()), now))
        .collect();
    let windows: Vec<_> = domains
        .iter()
        .zip(&seen)
        .map(|(domain, seen)| {
            let counter = Counter {
                settings: &config.settings(domain.provider()).breaker,
                key: &domain.window_key(&config.prefix),
                epoch: seen.epoch(),
                now,
                witness: None,
            };
            counter.longest(None)
        })
        .collect();
    let tallies = session.count(windows)?;
    Ok(domains
        .iter()
        .zip(seen)
        .zip(tallies)
        .map(|((domain, seen), tally)| state(domain, seen, &tally, now))
        .collect())
}

fn state(domain: &Domain<'_>, seen: Seen, tally: &Tally, now: u64) -> DomainState {
    let (phase, until_ms) = match seen.standing(now) {
        Standing::Closed => (Phase::Closed, 0),
        Standing::Open(until) => (Phase::Open, until),
        Standing::Ready(_) | Standing::Probing(_) => (Phase::HalfOpen, 0),
    };
    let mut state = DomainState {
        domain: domain.name(),
        phase,
        epoch: seen.epoch(),
        until_ms,
        openings: 0,
        probes_passed: 0,
        lease: None,
        order: seen.order(now).cloned(),
        successes: tally.amount(rules::SUCCESS),
        failures: tally.amount(rules::FAILURE),
        slow: tally.amount(rules::SLOW),
        retries: tally.amount(rules::RETRIES),
        stored: seen
            .bytes
            .as_ref()
            .and_then(|bytes| String::from_utf8(bytes.clone()).ok()),
    };
    if let Some(record) = seen.record() {
        state.openings = record.openings;
        state.probes_passed = record.passed;
        state.lease = record.lease.clone();
    }
    state
}
