//! A policy that truly decides, and is watched: when it is taken back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::options::Probation as Limits;
use crate::guard::Generation;
use crate::policy::shadow::{Comparison, Shadow};

/// A policy that is being watched.
pub(super) struct Watched {
    limits: Limits,
    generation: Arc<Generation>,
    /// What its predecessor says of the calls that it refuses; `None`: nobody is asked.
    predecessor: Option<Arc<Shadow>>,
    since: Instant,
}

impl Watched {
    pub(super) fn new(
        limits: Limits,
        generation: Arc<Generation>,
        predecessor: Option<Arc<Shadow>>,
    ) -> Self {
        Self {
            limits,
            generation,
            predecessor,
            since: Instant::now(),
        }
    }

    pub(super) fn lasted(&self) -> Duration {
        self.since.elapsed()
    }

    /// Whether it has been watched for long enough.
    pub(super) fn is_over(&self) -> bool {
        self.lasted() >= self.limits.span
    }

    pub(super) fn generation(&self) -> &Arc<Generation> {
        &self.generation
    }

    pub(super) fn predecessor(&self) -> Option<&Arc<Shadow>> {
        self.predecessor.as_ref()
    }

    pub(super) fn comparison(&self) -> Comparison {
        let compared = self.predecessor.as_ref().map(|shadow| shadow.comparison());
        compared.unwrap_or_default()
    }

    /// What it has decided, in words, or why it must be taken back.
    pub(super) fn verdict(&self) -> Result<String, String> {
        let counts = self.generation.counts();
        let faults = counts.traps + counts.deadlines + counts.breaches;
        if faults > self.limits.faults {
            return Err(format!(
                "it failed {faults} times ({} traps, {} time-outs, {} breaches of the contract), and \
                 {} are allowed",
                counts.traps, counts.deadlines, counts.breaches, self.limits.faults
            ));
        }
        if counts.store_refusals > self.limits.store_refusals {
            return Err(format!(
                "{} of its store operations were refused, and {} are allowed",
                counts.store_refusals, self.limits.store_refusals
            ));
        }
        let calls = counts.allowed + counts.refused;
        let refusals = in_all(&self.comparison());
        if refusals >= self.limits.refusals_minimum && share(refusals, calls) > self.limits.refusals
        {
            return Err(format!(
                "it refused {refusals} of {calls} calls that its predecessor would have let through \
                 ({}), and {} are allowed",
                percent(share(refusals, calls)),
                percent(self.limits.refusals)
            ));
        }
        Ok(format!(
            "it let {} calls through and refused {}, of which its predecessor would have let through \
             {refusals}; it failed {faults} times",
            counts.allowed, counts.refused
        ))
    }
}

/// How many calls were refused that the predecessor would have let through. Under traffic that is
/// heavier than the comparison can keep up with, what it saw stands for what it left out.
fn in_all(comparison: &Comparison) -> u64 {
    let Comparison {
        compared,
        refusals,
        left_out,
        ..
    } = comparison;
    let asked = u128::from(*compared) + u128::from(*left_out);
    let in_all = u128::from(*refusals) * asked / u128::from(*compared).max(1);
    u64::try_from(in_all).unwrap_or(u64::MAX)
}

/// The share of some in all, from 0 to 1; 0 where there are none.
#[allow(
    clippy::cast_precision_loss,
    reason = "it is compared with a limit that a person set"
)]
pub(super) fn share(some: u64, all: u64) -> f64 {
    some as f64 / all.max(1) as f64
}

/// A share as people read it.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.trim_end_matches(".0"))
}
