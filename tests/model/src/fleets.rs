//! The fleets that are searched: what each covers, and how far.

use crate::bounds::Bounds;
use crate::call::{End, Mode, Order};
use crate::promises::Promises;
use crate::store::{counter_of, record_of};
use crate::text::{FAR, Ms};

/// The core's settings that differ between fleets, in ms.
struct Settings {
    /// `FAR`: never over.
    quiet: Ms,
    /// `FAR`: a record is never forgotten for want of traffic.
    idle: Ms,
    lease: Ms,
    /// The longest cool-down.
    longest: Ms,
    needed: u32,
    ramp: bool,
    store_failure: &'static str,
    quorum: u32,
    /// How many failures open it.
    failures: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            quiet: FAR,
            idle: FAR,
            lease: 2_000,
            longest: 2_000,
            needed: 1,
            ramp: false,
            store_failure: "allow",
            quorum: 1,
            failures: 2,
        }
    }
}

impl Settings {
    /// Two failures within a second (or one) open it: for one second, and for two if it has been open
    /// before.
    fn bounds(&self) -> Bounds {
        let time = |ms: Ms, far: &str| match ms {
            FAR => far.to_owned(),
            ms => format!("{ms}ms"),
        };
        let config = format!(
            r#"{{"breaker": {{
                "failures": {{"count": {}, "window": "1s"}}, "failure-ratio": false,
                "cool-down": {{"first": "1s", "growth": 2, "max": "{}ms", "jitter": 0, "quiet": "{}"}},
                "probes": {{"needed": {}, "lease": "{}ms"}}, "idle": "{}",
                "ramp": {}, "store-failure": "{}", "quorum": {{"instances": {}}}}}}}"#,
            self.failures,
            self.longest,
            time(self.quiet, "1d"),
            self.needed,
            self.lease,
            time(self.idle, "7d"),
            if self.ramp {
                r#"{"time": "2s", "first-share": 0.5}"#
            } else {
                "false"
            },
            self.store_failure,
            self.quorum,
        );
        Bounds {
            config,
            quiet: self.quiet,
            lease: self.lease,
            failures: self.failures,
            lots: if self.ramp { 2 } else { 1 },
            ..Bounds::default()
        }
    }
}

impl Bounds {
    /// Three instances, each with an attempt of its own: crashes, lost and late outcomes, expired
    /// leases.
    #[must_use]
    pub fn three_at_once() -> Self {
        Self {
            patience: 1_000,
            ..Settings::default().bounds()
        }
    }

    /// A store so slow that a call outlives leases and cool-downs; three instances with two attempts
    /// between them, and two probes to close.
    #[must_use]
    pub fn slow_store() -> Self {
        Self {
            attempts: 2,
            attempts_each: 2,
            patience: 1_000,
            lag: 1_000,
            ..Settings {
                lease: 1_000,
                ..Settings::default()
            }
            .bounds()
        }
    }

    /// Two clean probes in a row to close, and whatever comes between them.
    #[must_use]
    pub fn two_probes() -> Self {
        Self {
            attempts: 2,
            ..Settings {
                needed: 2,
                ..Settings::default()
            }
            .bounds()
        }
    }

    /// A store that is out of reach at any operation, whether it takes effect or not, and every call
    /// is let through then.
    #[must_use]
    pub fn store_out_of_reach() -> Self {
        Self {
            attempts: 2,
            attempts_each: 2,
            patience: 1_000,
            cut_off: 3,
            ..Settings::default().bounds()
        }
    }

    /// The same for one of three instances, which has a breaker of its own then, and loses it when
    /// it crashes.
    #[must_use]
    pub fn breaker_of_its_own() -> Self {
        Self {
            attempts: 2,
            cut_off: 1,
            ends: vec![End::Passed, End::Failed],
            ..Settings {
                store_failure: "local",
                lease: 1_000,
                failures: 1,
                longest: 1_000,
                ..Settings::default()
            }
            .bounds()
        }
    }

    /// Two instances must have seen it; each opens for itself alone before.
    #[must_use]
    pub fn quorum() -> Self {
        Self {
            skews: vec![0; 2],
            attempts: 1,
            ..Settings {
                quorum: 2,
                lease: 1_000,
                longest: 1_000,
                ..Settings::default()
            }
            .bounds()
        }
    }

    /// Records and counters at the end of their lives: nothing is kept for longer than it must be.
    #[must_use]
    pub fn short_memory() -> Self {
        Self {
            attempts: 2,
            patience: 1_000,
            promises: Promises {
                forgets: true,
                ..Promises::default()
            },
            ..Settings {
                quiet: 3_000,
                idle: 1_000,
                ..Settings::default()
            }
            .bounds()
        }
    }

    /// A store that loses a record or a counter at any time.
    #[must_use]
    pub fn store_that_forgets() -> Self {
        Self {
            attempts: 2,
            lost: vec![record_of(0), counter_of(0)],
            promises: Promises {
                one_probe: false,
                forgets: true,
                ..Promises::default()
            },
            ..Settings {
                quiet: 3_000,
                ..Settings::default()
            }
            .bounds()
        }
    }

    /// An operator who, at any time, orders this until he clears it, or that for a while.
    #[must_use]
    pub fn operator(this: Mode, that: Mode) -> Self {
        let order = |mode, for_ms| Some(Order { mode, for_ms });
        Self {
            attempts: 1,
            orders: vec![None, order(this, 0), order(that, 1_000)],
            ..Settings::default().bounds()
        }
    }

    /// One of three clocks is ahead of the others by more than a lease.
    #[must_use]
    pub fn clock_ahead() -> Self {
        Self {
            skews: vec![0, 0, 2_000],
            attempts: 2,
            promises: Promises {
                leases_by_a_wrong_clock: true,
                ..Promises::default()
            },
            ..Settings {
                lease: 1_000,
                ..Settings::default()
            }
            .bounds()
        }
    }

    /// One of three clocks is behind the others by more than a lease.
    #[must_use]
    pub fn clock_behind() -> Self {
        Self {
            skews: vec![-2_000, 0, 0],
            attempts: 2,
            promises: Promises {
                leases_by_a_wrong_clock: true,
                ..Promises::default()
            },
            ..Settings {
                lease: 1_000,
                ..Settings::default()
            }
            .bounds()
        }
    }

    /// Calls with a provider and an operation of it, one at a time: each is blamed for its own.
    #[must_use]
    pub fn two_domains() -> Self {
        Self {
            domains: 2,
            attempts: 1,
            ends: vec![End::Passed, End::Failed, End::OperationFailed, End::Dropped],
            ..Settings::default().bounds()
        }
    }

    /// The same with both open at the start, and two calls at once: leases are taken all or none.
    #[must_use]
    pub fn two_open_domains() -> Self {
        Self {
            domains: 2,
            starts_open: true,
            attempts: 2,
            ends: vec![End::Passed, End::OperationFailed, End::Dropped],
            ..Settings {
                lease: 1_000,
                longest: 1_000,
                failures: 1,
                ..Settings::default()
            }
            .bounds()
        }
    }

    /// Traffic that returns by and by after closing.
    #[must_use]
    pub fn ramp() -> Self {
        Self {
            attempts: 2,
            ..Settings {
                ramp: true,
                ..Settings::default()
            }
            .bounds()
        }
    }
}
