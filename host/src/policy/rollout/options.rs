//! How careful to be with a policy that is to take the place of another.

use std::path::PathBuf;
use std::time::Duration;

use super::Serving;
use crate::policy::Terms;

/// How careful to be.
#[derive(Clone, Default)]
pub struct Options {
    /// On which terms a policy may run.
    pub terms: Terms,
    /// Deciding real calls in the shadow of the serving policy.
    pub shadow: Shadowing,
    /// Truly deciding a share of them.
    pub canary: Canarying,
    /// Serving, and being watched.
    pub probation: Probation,
    /// Replaced policies that calls still have.
    pub linger: Linger,
    /// Where the last good policy is kept; `None`: nowhere.
    pub folder: Option<PathBuf>,
    /// The last good policy, where the one that serves from the beginning is another.
    pub before: Option<Serving>,
}

/// Deciding real calls in the shadow of the serving policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shadowing {
    /// The share of questions that both are asked, from 0 to 1. 0: the stage is left out.
    pub share: f64,
    /// How long at least. 0: the stage is left out.
    pub span: Duration,
    /// How many decisions are to be compared at least.
    pub decisions: u64,
    /// How long is waited for so many, where there is little traffic. Then what was compared has to
    /// do: a host that nobody calls at night must converge too.
    pub at_most: Duration,
    /// The largest share of decisions that may differ, from 0 to 1.
    pub differences: f64,
    /// How many traps, time-outs and breaches of the contract it may have, and how many store
    /// operations may be refused to it. One by default: time is the machine's, and a busy one may be
    /// late once.
    pub faults: u64,
}

impl Default for Shadowing {
    fn default() -> Self {
        Self {
            share: 0.1,
            span: Duration::from_secs(30),
            decisions: 100,
            at_most: Duration::from_secs(300),
            differences: 0.05,
            faults: 1,
        }
    }
}

/// Truly deciding a share of the providers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Canarying {
    /// The share of providers, by their names, from 0 to 1. 0: the stage is left out.
    pub share: f64,
    /// How long. 0: the stage is left out.
    pub span: Duration,
}

impl Default for Canarying {
    fn default() -> Self {
        Self {
            share: 0.1,
            span: Duration::from_secs(30),
        }
    }
}

/// Serving, and being watched: what a policy may do before its predecessor is put back. The limits
/// hold in the canary stage too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probation {
    /// How long. 0: it is not watched.
    pub span: Duration,
    /// How many traps, time-outs and breaches of the contract it may have.
    pub faults: u64,
    /// How many store operations may be refused to it, such as those on keys that are not its own.
    pub store_refusals: u64,
    /// The largest share of calls that it may refuse although its predecessor would have let them
    /// through, from 0 to 1.
    pub refusals: f64,
    /// How many such refusals there are at least before the share counts.
    pub refusals_minimum: u64,
}

impl Default for Probation {
    fn default() -> Self {
        Self {
            span: Duration::from_secs(600),
            faults: 5,
            store_refusals: 5,
            refusals: 0.1,
            refusals_minimum: 20,
        }
    }
}

/// Replaced policies that calls still have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Linger {
    /// How long a call may go on with a policy that was replaced. Longer than any call lasts.
    pub span: Duration,
    /// How many replaced policies are kept for the calls that have them; the oldest is taken away
    /// from its calls where there would be more.
    pub policies: usize,
}

impl Default for Linger {
    fn default() -> Self {
        Self {
            span: Duration::from_secs(300),
            policies: 16,
        }
    }
}
