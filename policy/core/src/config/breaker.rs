//! The settings of the breaker: when it opens, how long, and how it closes again.

use super::duration::format_ms;
use super::reader::Reader;
use super::settings::{DAY, HOUR, MINUTE, SECOND, Settings, small};

/// The fewest buckets in a window: a failure is forgotten at most a tenth of the window early.
pub const BUCKETS: u64 = 10;

/// How much longer the longest window may be than the shortest. With [`BUCKETS`] this bounds a
/// counter to 120 buckets, which a store reads in one small answer.
pub const WINDOW_SPREAD: u64 = 12;

/// The largest quorum: more are not told apart for certain by a counter's lanes.
pub const QUORUM_MAX: u64 = 32;

/// Trips on this many failures within the window. Five in a minute: a service that is called
/// once in ten seconds is found out within a minute, and one stray error never opens it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FailureCount {
    /// How many.
    pub count: u64,
    /// Within what time, in ms.
    pub window_ms: u64,
}

/// Trips on this share of failures within the window. Half of at least twenty in 30 s: for busy
/// services, where five failures are noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FailureRatio {
    /// The share, above 0 to 1.
    pub share: f64,
    /// The fewest calls that a share is taken of.
    pub minimum: u64,
    /// Within what time, in ms.
    pub window_ms: u64,
}

/// Trips on this share of slow calls within the window. Off by default: what is slow differs by
/// service, and an answer of a language model may take a minute in good health.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowRatio {
    /// The share, above 0 to 1.
    pub share: f64,
    /// The fewest calls that a share is taken of.
    pub minimum: u64,
    /// Within what time, in ms.
    pub window_ms: u64,
}

/// How many must have seen a failure before the breaker opens for all. Below that the instance that
/// sees them opens for itself alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quorum {
    /// Distinct instances. One: whoever sees enough failures speaks for all.
    pub instances: u32,
    /// Distinct requests, where hosts tell them apart: one poisonous request is not many failures.
    pub fingerprints: u32,
}

impl Quorum {
    /// Whether it takes more than one.
    #[must_use]
    pub fn is_needed(self) -> bool {
        self.instances > 1 || self.fingerprints > 1
    }
}

/// How traffic returns after closing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ramp {
    /// How long until all calls are let through, in ms.
    pub time_ms: u64,
    /// The share that is let through at first.
    pub first_share: f64,
}

/// What is done while the store is out of reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFailure {
    /// Each instance keeps a breaker of its own.
    Local,
    /// Every call is let through.
    Allow,
    /// Every call is refused.
    Deny,
}

/// How long a breaker stays open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoolDown {
    /// After the first opening, in ms. 30 s: restarts and fail-overs are mostly over by then.
    pub first_ms: u64,
    /// The factor for each further opening in a row.
    pub growth: f64,
    /// What growth stops at, in ms. 10 min: a recovery is noticed within a coffee break.
    pub max_ms: u64,
    /// The largest share that is added at random, so that breakers which opened together do not
    /// probe together. Added, never taken away: nothing shortens a cool-down.
    pub jitter: f64,
    /// How long it must have been closed before the next opening counts as the first, in ms.
    pub quiet_ms: u64,
}

/// How recovery is tested.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbeSettings {
    /// Clean probes in a row that close it. Three: one success may be a lucky replica.
    pub needed: u32,
    /// How long a probe's lease lasts at least, in ms. Longer than the longest call.
    pub lease_ms: u64,
    /// How much of a call's time a probe is given.
    pub time_share: f64,
}

/// When the breaker opens, how long, and how it closes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreakerSettings {
    /// The rule on a number of failures; `None`: off.
    pub failures: Option<FailureCount>,
    /// The rule on a share of failures; `None`: off.
    pub ratio: Option<FailureRatio>,
    /// The rule on a share of slow calls; `None`: off.
    pub slow_ratio: Option<SlowRatio>,
    /// How many must have seen it.
    pub quorum: Quorum,
    /// How long it stays open.
    pub cool_down: CoolDown,
    /// How recovery is tested.
    pub probes: ProbeSettings,
    /// How traffic returns; `None`: at once.
    pub ramp: Option<Ramp>,
    /// Whether accounts that were throttled or rejected are held back.
    pub holds: bool,
    /// How many of a hundred refusals are enforced.
    pub enforce_percent: u32,
    /// What is done while the store is out of reach.
    pub store_failure: StoreFailure,
    /// How long after its cool-down an opening is remembered without any traffic, in ms.
    pub idle_ms: u64,
}

/// What may be turned off by `false`: as it is inherited where nothing is said of it.
fn optional<T>(
    at: &Reader<'_>,
    key: &str,
    inherited: Option<T>,
    read: impl FnOnce(&Reader<'_>, Option<T>) -> T,
) -> Option<T> {
    if !at.has(key) {
        // A name that may stand there.
        let _ = at.value(key);
        return inherited;
    }
    at.object_or_false(key).map(|table| {
        let read = read(&table, inherited);
        table.finish();
        read
    })
}

impl BreakerSettings {
    pub(super) fn read(at: &Reader<'_>, base: &Self) -> Self {
        let default = Settings::default().breaker;
        let failures = optional(at, "failures", base.failures, |rule, inherited| {
            let base = inherited.or(default.failures).unwrap_or(FailureCount {
                count: 5,
                window_ms: MINUTE,
            });
            FailureCount {
                count: rule.whole("count", base.count, 1..=1_000_000),
                window_ms: rule.duration_ms("window", base.window_ms, SECOND..=HOUR),
            }
        });
        let ratio = optional(at, "failure-ratio", base.ratio, |rule, inherited| {
            let base = inherited.or(default.ratio).unwrap_or(FailureRatio {
                share: 0.5,
                minimum: 20,
                window_ms: 30 * SECOND,
            });
            FailureRatio {
                share: rule.number("share", base.share, 0.001..=1.0, "a number from 0.001 to 1"),
                minimum: rule.whole("minimum", base.minimum, 1..=1_000_000),
                window_ms: rule.duration_ms("window", base.window_ms, SECOND..=HOUR),
            }
        });
        let slow_ratio = optional(at, "slow-ratio", base.slow_ratio, |rule, inherited| {
            let base = inherited.unwrap_or(SlowRatio {
                share: 0.8,
                minimum: 20,
                window_ms: MINUTE,
            });
            SlowRatio {
                share: rule.number("share", base.share, 0.001..=1.0, "a number from 0.001 to 1"),
                minimum: rule.whole("minimum", base.minimum, 1..=1_000_000),
                window_ms: rule.duration_ms("window", base.window_ms, SECOND..=HOUR),
            }
        });
        let ramp = optional(at, "ramp", base.ramp, |ramp, inherited| {
            let base = inherited.or(default.ramp).unwrap_or(Ramp {
                time_ms: 10 * SECOND,
                first_share: 0.1,
            });
            Ramp {
                time_ms: ramp.duration_ms("time", base.time_ms, 100..=HOUR),
                first_share: ramp.number(
                    "first-share",
                    base.first_share,
                    0.01..=1.0,
                    "a number from 0.01 to 1",
                ),
            }
        });
        let read = Self {
            failures,
            ratio,
            slow_ratio,
            quorum: {
                let quorum = at.object("quorum");
                let read = Quorum {
                    instances: small(quorum.whole(
                        "instances",
                        base.quorum.instances.into(),
                        1..=QUORUM_MAX,
                    )),
                    fingerprints: small(quorum.whole(
                        "fingerprints",
                        base.quorum.fingerprints.into(),
                        1..=QUORUM_MAX,
                    )),
                };
                quorum.finish();
                read
            },
            cool_down: CoolDown::read(&at.object("cool-down"), &base.cool_down),
            probes: {
                let probes = at.object("probes");
                let read = ProbeSettings {
                    needed: small(probes.whole("needed", base.probes.needed.into(), 1..=100)),
                    lease_ms: probes.duration_ms("lease", base.probes.lease_ms, 100..=HOUR),
                    time_share: probes.number(
                        "time-share",
                        base.probes.time_share,
                        0.1..=1.0,
                        "a number from 0.1 to 1",
                    ),
                };
                probes.finish();
                read
            },
            ramp,
            holds: at.flag("holds", base.holds),
            enforce_percent: small(at.whole("enforce", base.enforce_percent.into(), 0..=100)),
            store_failure: at.word(
                "store-failure",
                &[
                    ("local", StoreFailure::Local),
                    ("allow", StoreFailure::Allow),
                    ("deny", StoreFailure::Deny),
                ],
                base.store_failure,
            ),
            idle_ms: at.duration_ms("idle", base.idle_ms, SECOND..=7 * DAY),
        };
        if at.has_any(&["failures", "failure-ratio", "slow-ratio"])
            && read.longest_window_ms() > read.shortest_window_ms().saturating_mul(WINDOW_SPREAD)
        {
            let culprit = ["slow-ratio", "failure-ratio", "failures"]
                .into_iter()
                .find(|rule| at.has(rule));
            at.problem(
                culprit.unwrap_or("failures"),
                format!(
                    "the windows of the rules are from {1} to {0} long, and one may be {WINDOW_SPREAD} times as long as the other",
                    format_ms(read.longest_window_ms()),
                    format_ms(read.shortest_window_ms()),
                ),
                "bring the windows of `failures`, `failure-ratio` and `slow-ratio` closer together",
            );
        }
        at.finish();
        read
    }

    fn windows(&self) -> impl Iterator<Item = u64> {
        let rules = [
            self.failures.map(|r| r.window_ms),
            self.ratio.map(|r| r.window_ms),
            self.slow_ratio.map(|r| r.window_ms),
        ];
        rules.into_iter().flatten()
    }

    /// The longest window of any rule, in ms; a minute where there is no rule.
    #[must_use]
    pub fn longest_window_ms(&self) -> u64 {
        self.windows().max().unwrap_or(MINUTE)
    }

    /// The shortest window of any rule, in ms; a minute where there is no rule.
    #[must_use]
    pub fn shortest_window_ms(&self) -> u64 {
        self.windows().min().unwrap_or(MINUTE)
    }

    /// How wide a bucket is, in ms: the shortest window has [`BUCKETS`] of them.
    #[must_use]
    pub fn bucket_ms(&self) -> u64 {
        self.shortest_window_ms()
            .checked_div(BUCKETS)
            .unwrap_or(1)
            .max(1)
    }
}

impl CoolDown {
    fn read(at: &Reader<'_>, base: &Self) -> Self {
        let read = Self {
            first_ms: at.duration_ms("first", base.first_ms, 10..=DAY),
            growth: at.number("growth", base.growth, 1.0..=10.0, "a number from 1 to 10"),
            max_ms: at.duration_ms("max", base.max_ms, 10..=DAY),
            jitter: at.number("jitter", base.jitter, 0.0..=1.0, "a number from 0 to 1"),
            quiet_ms: at.duration_ms("quiet", base.quiet_ms, 0..=DAY),
        };
        if at.has_any(&["first", "max"]) && read.max_ms < read.first_ms {
            at.problem(
                "max",
                "the longest cool-down is shorter than the first",
                "raise `max` or lower `first`",
            );
        }
        at.finish();
        read
    }

    /// How long the `openings`-th opening in a row lasts, in ms, with `unit` (0 to 1) of the
    /// jitter. Growth stops at the maximum, whatever the number of openings: it is reached by
    /// repeated multiplication, never by an exponent.
    #[must_use]
    pub fn length_ms(&self, openings: u32, unit: f64) -> u64 {
        let max = self.max_ms as f64;
        let mut length = (self.first_ms as f64).min(max);
        // Growth of 1 never gets there; no factor above it needs more than this many steps to go
        // from 10 ms to a day but the very small, which then grow no further.
        for _ in 1..openings.min(1_024) {
            length = (length * self.growth).min(max);
        }
        (length * (1.0 + self.jitter * unit)) as u64
    }

    /// The longest that [`CoolDown::length_ms`] can answer, in ms.
    #[must_use]
    pub fn longest_ms(&self) -> u64 {
        (self.max_ms as f64 * (1.0 + self.jitter)) as u64
    }
}
