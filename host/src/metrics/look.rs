//! Looking at phases as the store has them.

use fusewire_core::{DomainState, Target};
use futures_util::future::{join, join_all};

use super::Metrics;
use super::series::Series;
use crate::guard::Guard;
use crate::live::kept_until;

/// How many domains that are not configured are looked at at once, at most: each is a question to
/// the store. With more of them that are not closed, each is looked at every few times.
const LOOKED_AT: usize = 256;

impl Metrics {
    /// Looks at the phases of these targets as the store has them, and of domains that are not
    /// closed as far as is known, so that those are seen which other hosts brought about, and
    /// openings whose time is over. Takes no longer than a question to the policy may; what the
    /// store does not answer for stays as it was known last.
    pub async fn look(&self, guard: &Guard, targets: &[Target]) {
        let staying = self.domains.next_staying(LOOKED_AT);
        let staying: Vec<Target> = staying.iter().map(|domain| target(domain)).collect();
        let (asked_for, staying) = join(states(guard, targets), states(guard, &staying)).await;
        let now = || guard.now_ms();
        for state in &asked_for {
            let domain = &state.domain;
            self.domains
                .told(domain, now, |series| seen(series, state, now()));
        }
        for state in &staying {
            let domain = &state.domain;
            self.domains
                .known(domain, now, |series| seen(series, state, now()));
        }
    }
}

/// The states of these targets' domains, asked for at once.
async fn states(guard: &Guard, targets: &[Target]) -> Vec<DomainState> {
    let asked = targets.iter().map(|target| guard.inspect(target));
    join_all(asked).await.into_iter().flatten().collect()
}

fn seen(series: &mut Series, state: &DomainState, now: u64) {
    series.phase = state.phase;
    series.kept_until = until(state, now);
}

/// Until when a domain in this state is held or under an order, in ms.
fn until(state: &DomainState, now: u64) -> u64 {
    let order = state
        .order
        .as_ref()
        .map_or(0, |order| match order.until_ms {
            0 => u64::MAX,
            until => until,
        });
    let stored = state.stored.as_ref().map_or(0, |record| {
        // Its phase may be over, which the state tells.
        match kept_until(record.as_bytes(), now) {
            u64::MAX => 0,
            until => until,
        }
    });
    order.max(stored)
}

/// A target that has this domain.
fn target(domain: &str) -> Target {
    let cut = domain.find(['@', '/']);
    let parts = cut.and_then(|at| Some((domain.get(..at)?, domain.get(at..)?)));
    let (provider, part) = parts.unwrap_or((domain, ""));
    Target {
        provider: provider.into(),
        account: part.strip_prefix('@').map(Into::into),
        operation: part.strip_prefix('/').map(Into::into),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_looked_at_by_a_target_that_has_it() {
        for name in ["p", "p@key-1", "p/layer", "p/a@b/c"] {
            let target = target(name);
            let domains = target.domains().unwrap();
            assert_eq!(domains.last().unwrap().name(), name);
        }
    }
}
