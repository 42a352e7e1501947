//! Which domains have series, within the limit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::series::Series;
use crate::live::{LIVE_DOMAINS, Names};

/// How many of those that stay are looked at, at most, for one that may go by now, where a domain
/// comes and none is idle. Few, as it is on a caller's path; each time others.
const LOOKED_AT: usize = 4;

/// The domains that have series.
pub(super) struct Domains(Mutex<Inner>);

struct Inner {
    /// Each behind a lock of its own, so that writing all of them holds up nobody.
    names: Names<Arc<Mutex<Series>>>,
    limit: usize,
    totals: Totals,
}

/// What is counted of all domains together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) live: usize,
    pub(super) limit: usize,
    /// Domains that went, and their series with them, for others to come.
    pub(super) evicted: u64,
    /// How often something was told of a domain that has no series, since none could go.
    pub(super) left_out: u64,
}

impl Default for Domains {
    fn default() -> Self {
        Self(Mutex::new(Inner {
            names: Names::default(),
            limit: LIVE_DOMAINS,
            totals: Totals::default(),
        }))
    }
}

impl Domains {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_limit(&self, limit: usize) {
        let mut inner = self.lock();
        inner.limit = limit;
        while inner.names.len() > limit && inner.evict() {}
    }

    /// A domain that has its series from the start, whatever the limit is.
    pub(super) fn configure(&self, domain: &str) {
        let mut inner = self.lock();
        let series = Series {
            is_configured: true,
            ..Series::default()
        };
        let series = Arc::new(Mutex::new(series));
        inner.names.add(domain.into(), series);
        inner.names.set_staying(domain, true);
    }

    /// Something has happened to a domain, which is in use by that. Where it has no series, and can
    /// have none, nothing is done. `now_ms` is asked where it matters.
    pub(super) fn told(
        &self,
        domain: &str,
        now_ms: impl Fn() -> u64,
        change: impl FnOnce(&mut Series),
    ) {
        let mut inner = self.lock();
        if inner.names.used(domain).is_none() {
            if !inner.has_room(&now_ms) {
                inner.totals.left_out = inner.totals.left_out.saturating_add(1);
                return;
            }
            inner.names.add(domain.into(), Arc::default());
        }
        inner.change(domain, now_ms, change);
    }

    /// More is known of a domain that has series. It is in use no more than before.
    pub(super) fn known(
        &self,
        domain: &str,
        now_ms: impl Fn() -> u64,
        change: impl FnOnce(&mut Series),
    ) {
        self.lock().change(domain, now_ms, change);
    }

    /// Some that stay and are not configured: with each question others, until it is the first
    /// ones' turn again.
    pub(super) fn next_staying(&self, most: usize) -> Vec<Arc<str>> {
        let mut inner = self.lock();
        let all = inner.names.staying();
        let mut found = Vec::new();
        for _ in 0..all {
            if found.len() >= most {
                break;
            }
            let Some((name, series)) = inner.names.next_staying() else {
                break;
            };
            if !of(series).is_configured {
                found.push(name);
            }
        }
        found
    }

    pub(super) fn totals(&self) -> Totals {
        let inner = self.lock();
        Totals {
            live: inner.names.len(),
            limit: inner.limit,
            ..inner.totals
        }
    }

    /// All series as they stand, in the order of the names.
    pub(super) fn all(&self) -> Vec<(Arc<str>, Series)> {
        let all: Vec<_> = {
            let inner = self.lock();
            let names = inner.names.iter();
            names
                .map(|(name, series)| (Arc::clone(name), Arc::clone(series)))
                .collect()
        };
        let series = |(name, series): (_, Arc<Mutex<Series>>)| (name, of(&series).clone());
        let mut all: Vec<(Arc<str>, Series)> = all.into_iter().map(series).collect();
        all.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        all
    }
}

impl Inner {
    fn change(&mut self, domain: &str, now_ms: impl Fn() -> u64, change: impl FnOnce(&mut Series)) {
        let Some(held) = self.names.known(domain) else {
            return;
        };
        let mut series = of(held);
        change(&mut series);
        if series.kept_until.max(series.own_until) > 0 {
            series.forget_what_is_over(now_ms());
        }
        let stays = series.stays();
        drop(series);
        self.names.set_staying(domain, stays);
    }

    fn evict(&mut self) -> bool {
        let went = self.names.evict().is_some();
        self.totals.evicted = self.totals.evicted.saturating_add(u64::from(went));
        went
    }

    /// Whether there is room for one more, by letting one go where there is none.
    fn has_room(&mut self, now_ms: impl Fn() -> u64) -> bool {
        if self.names.len() < self.limit || self.evict() {
            return true;
        }
        let now = now_ms();
        for _ in 0..LOOKED_AT.min(self.names.staying()) {
            let Some((name, series)) = self.names.next_staying() else {
                break;
            };
            let mut series = of(series);
            series.forget_what_is_over(now);
            let stays = series.stays();
            drop(series);
            self.names.set_staying(&name, stays);
        }
        self.evict()
    }
}

fn of(series: &Mutex<Series>) -> MutexGuard<'_, Series> {
    series.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use fusewire_core::Phase;

    use super::*;

    fn domains(limit: usize) -> Domains {
        let domains = Domains::default();
        domains.set_limit(limit);
        domains
    }

    fn at(now: u64) -> impl Fn() -> u64 {
        move || now
    }

    fn names(domains: &Domains) -> Vec<String> {
        let all = domains.all();
        all.iter().map(|(name, _)| name.to_string()).collect()
    }

    fn called(domains: &Domains, name: &str) {
        domains.told(name, at(0), |_| {});
    }

    fn is(domains: &Domains, name: &str, phase: Phase) {
        domains.told(name, at(0), |series| series.phase = phase);
    }

    #[test]
    fn the_closed_domain_that_was_called_least_recently_goes_with_all_its_series() {
        let domains = domains(2);
        for name in ["a", "b", "a", "c"] {
            called(&domains, name);
        }
        assert_eq!(names(&domains), ["a", "c"]);
        let totals = domains.totals();
        assert_eq!((totals.live, totals.evicted, totals.left_out), (2, 1, 0));
    }

    #[test]
    fn what_is_open_or_half_open_stays_and_may_go_once_it_is_closed() {
        let domains = domains(3);
        is(&domains, "open", Phase::Open);
        is(&domains, "half", Phase::HalfOpen);
        for name in ["a", "b", "c"] {
            called(&domains, name);
        }
        assert_eq!(names(&domains), ["c", "half", "open"]);
        is(&domains, "open", Phase::Closed);
        called(&domains, "d");
        called(&domains, "e");
        assert_eq!(names(&domains), ["d", "e", "half"].map(String::from));
    }

    #[test]
    fn what_is_configured_stays_and_is_there_beyond_the_limit() {
        let domains = domains(1);
        domains.configure("p");
        domains.configure("q");
        called(&domains, "a");
        assert_eq!(names(&domains), ["p", "q"]);
        assert_eq!(domains.totals().left_out, 1);
        assert_eq!(domains.next_staying(10), Vec::<Arc<str>>::new());
    }

    #[test]
    fn where_all_must_stay_what_comes_is_left_out_and_that_is_counted() {
        let domains = domains(2);
        is(&domains, "a", Phase::Open);
        is(&domains, "b", Phase::Open);
        is(&domains, "c", Phase::Open);
        called(&domains, "c");
        assert_eq!(names(&domains), ["a", "b"]);
        assert_eq!(domains.totals().left_out, 2);
    }

    #[test]
    fn a_hold_or_an_order_keeps_a_domain_for_as_long_as_it_lasts() {
        let domains = domains(1);
        domains.told("held", at(10), |series| series.kept_until = 20);
        domains.told("a", at(19), |_| {});
        assert_eq!(names(&domains), ["held"]);
        domains.told("a", at(20), |_| {});
        assert_eq!(names(&domains), ["a"]);
    }

    #[test]
    fn those_that_stay_are_looked_at_in_turn() {
        let domains = domains(10);
        for name in ["a", "b", "c"] {
            is(&domains, name, Phase::Open);
        }
        let next = |most| {
            let next = domains.next_staying(most);
            next.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(next(2), ["a", "b"]);
        assert_eq!(next(2), ["c", "a"]);
        assert_eq!(next(9), ["b", "c", "a"]);
        domains.known("b", at(0), |series| series.phase = Phase::Closed);
        assert_eq!(next(9), ["c", "a"]);
    }
}
