//! What can be set: names, units, defaults and bounds, each with the reason for its value.

use serde_json::Value;

use super::duration::format_ms;
use super::reader::{Problem, Reader, quoted};
use crate::target::check_provider;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The fewest buckets in a window: a failure is forgotten at most a tenth of the window early.
pub const BUCKETS: u64 = 10;

/// How much longer the longest window may be than the shortest. With [`BUCKETS`] this bounds a
/// counter to 120 buckets, which a store reads in one small answer.
pub const WINDOW_SPREAD: u64 = 12;

/// Everything a policy is configured with.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// What every key begins with; two fleets on one store have two.
    pub prefix: String,
    defaults: Settings,
    /// In order of their names.
    providers: Vec<(String, Settings)>,
}

/// What holds for one provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// When to open, how long, and how to close again.
    pub breaker: BreakerSettings,
    /// When to try again.
    pub retry: RetrySettings,
    /// How far a provider's own word on waiting is believed.
    pub hints: HintSettings,
    /// An answer that took longer is slow, in ms. 10 s: longer than people wait, shorter than
    /// most clients' time limits.
    pub slow_ms: u64,
}

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
}

/// When the breaker opens, how long, and how it closes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreakerSettings {
    /// The rule on a number of failures; `None`: off.
    pub failures: Option<FailureCount>,
    /// The rule on a share of failures; `None`: off.
    pub ratio: Option<FailureRatio>,
    /// How long it stays open.
    pub cool_down: CoolDown,
    /// How recovery is tested.
    pub probes: ProbeSettings,
    /// How long after its cool-down an opening is remembered without any traffic, in ms.
    pub idle_ms: u64,
}

/// When to try again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetrySettings {
    /// Attempts at one provider, the first included.
    pub attempts: u32,
    /// The upper end of the first back-off, in ms; doubled for each further one.
    pub base_ms: u64,
    /// What the upper end stops at, in ms.
    pub max_ms: u64,
}

/// How far a provider's own word on waiting is believed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HintSettings {
    /// The longest hint that is believed, in ms; a longer one is taken as this. 6 h: urllib3's.
    pub max_ms: u64,
    /// The longest that a call waits in line for its next attempt, in ms. A longer hint means: do
    /// not try again within this call.
    pub inline_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            breaker: BreakerSettings {
                failures: Some(FailureCount {
                    count: 5,
                    window_ms: 60 * SECOND,
                }),
                ratio: Some(FailureRatio {
                    share: 0.5,
                    minimum: 20,
                    window_ms: 30 * SECOND,
                }),
                cool_down: CoolDown {
                    first_ms: 30 * SECOND,
                    growth: 2.0,
                    max_ms: 10 * MINUTE,
                    jitter: 0.1,
                    quiet_ms: 10 * MINUTE,
                },
                probes: ProbeSettings {
                    needed: 3,
                    lease_ms: 10 * SECOND,
                },
                idle_ms: HOUR,
            },
            retry: RetrySettings {
                attempts: 3,
                base_ms: 200,
                max_ms: 2 * SECOND,
            },
            hints: HintSettings {
                max_ms: 6 * HOUR,
                inline_ms: 30 * SECOND,
            },
            slow_ms: 10 * SECOND,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            prefix: "fusewire".into(),
            defaults: Settings::default(),
            providers: Vec::new(),
        }
    }
}

impl Config {
    /// Reads a configuration from a JSON text.
    ///
    /// # Errors
    /// Every problem found, each at its place.
    pub fn from_json(json: &str) -> Result<Self, Vec<Problem>> {
        // From bytes, as records are read: one JSON reader in the component, not two.
        let document: Value = serde_json::from_slice(json.as_bytes()).map_err(|error| {
            vec![Problem {
                path: String::new(),
                wrong: format!(
                    "this is not JSON from line {}, column {} on",
                    error.line(),
                    error.column()
                ),
                right: "write an object".into(),
            }]
        })?;
        Self::from_value(&document)
    }

    /// Reads a configuration from a JSON document.
    ///
    /// # Errors
    /// Every problem found, each at its place.
    pub fn from_value(document: &Value) -> Result<Self, Vec<Problem>> {
        let root = Reader::root(document);
        let prefix = root.text("prefix").unwrap_or_else(|| "fusewire".into());
        if prefix.is_empty()
            || prefix.len() > 64
            || prefix.contains(|c: char| c.is_control() || "{}*?[]\\".contains(c))
        {
            root.problem(
                "prefix",
                format!("{} cannot begin a key", quoted(&prefix)),
                r"write 1 to 64 bytes without control characters or any of {}*?[]\",
            );
        }
        let defaults = Settings::read(&root, &Settings::default());
        let mut providers = Vec::new();
        for (name, reader) in root.objects("providers") {
            if let Err(wrong) = check_provider(&name) {
                root.object("providers").problem(&name, wrong, "");
            }
            let settings = Settings::read(&reader, &defaults);
            reader.finish();
            providers.push((name, settings));
        }
        root.finish();
        let problems = root.problems();
        if problems.is_empty() {
            Ok(Self {
                prefix,
                defaults,
                providers,
            })
        } else {
            Err(problems)
        }
    }

    /// What holds for this provider: its own settings, and the general ones for the rest.
    #[must_use]
    pub fn settings(&self, provider: &str) -> &Settings {
        let at = self
            .providers
            .binary_search_by(|(name, _)| name.as_str().cmp(provider));
        at.ok()
            .and_then(|at| self.providers.get(at))
            .map_or(&self.defaults, |(_, own)| own)
    }
}

impl Settings {
    fn read(at: &Reader<'_>, base: &Self) -> Self {
        let breaker = at.object("breaker");
        let retry = at.object("retry");
        let hints = at.object("hints");
        let read = Self {
            breaker: BreakerSettings::read(&breaker, &base.breaker),
            retry: RetrySettings {
                attempts: small(retry.whole("attempts", base.retry.attempts.into(), 1..=10)),
                base_ms: retry.duration_ms("base", base.retry.base_ms, 1..=MINUTE),
                max_ms: retry.duration_ms("max", base.retry.max_ms, 1..=10 * MINUTE),
            },
            hints: HintSettings {
                max_ms: hints.duration_ms("max", base.hints.max_ms, SECOND..=DAY),
                inline_ms: hints.duration_ms("inline", base.hints.inline_ms, 0..=10 * MINUTE),
            },
            slow_ms: at.duration_ms("slow", base.slow_ms, 1..=HOUR),
        };
        // A contradiction is reported where one side of it is written, not where it is inherited.
        if retry.has_any(&["base", "max"]) && read.retry.max_ms < read.retry.base_ms {
            retry.problem(
                "max",
                "the longest back-off is shorter than the first",
                "raise `max` or lower `base`",
            );
        }
        retry.finish();
        hints.finish();
        read
    }
}

impl BreakerSettings {
    fn read(at: &Reader<'_>, base: &Self) -> Self {
        let default = Settings::default().breaker;
        let failures = match (at.has("failures"), base.failures) {
            (false, inherited) => {
                let _ = at.value("failures");
                inherited
            }
            (true, inherited) => at.object_or_false("failures").map(|rule| {
                let base = inherited.or(default.failures).unwrap_or(FailureCount {
                    count: 5,
                    window_ms: MINUTE,
                });
                let read = FailureCount {
                    count: rule.whole("count", base.count, 1..=1_000_000),
                    window_ms: rule.duration_ms("window", base.window_ms, SECOND..=HOUR),
                };
                rule.finish();
                read
            }),
        };
        let ratio = match (at.has("failure-ratio"), base.ratio) {
            (false, inherited) => {
                let _ = at.value("failure-ratio");
                inherited
            }
            (true, inherited) => at.object_or_false("failure-ratio").map(|rule| {
                let base = inherited.or(default.ratio).unwrap_or(FailureRatio {
                    share: 0.5,
                    minimum: 20,
                    window_ms: 30 * SECOND,
                });
                let read = FailureRatio {
                    share: rule.number(
                        "share",
                        base.share,
                        0.001..=1.0,
                        "a number from 0.001 to 1",
                    ),
                    minimum: rule.whole("minimum", base.minimum, 1..=1_000_000),
                    window_ms: rule.duration_ms("window", base.window_ms, SECOND..=HOUR),
                };
                rule.finish();
                read
            }),
        };
        let read = Self {
            failures,
            ratio,
            cool_down: CoolDown::read(&at.object("cool-down"), &base.cool_down),
            probes: {
                let probes = at.object("probes");
                let read = ProbeSettings {
                    needed: small(probes.whole("needed", base.probes.needed.into(), 1..=100)),
                    lease_ms: probes.duration_ms("lease", base.probes.lease_ms, 100..=HOUR),
                };
                probes.finish();
                read
            },
            idle_ms: at.duration_ms("idle", base.idle_ms, SECOND..=7 * DAY),
        };
        if at.has_any(&["failures", "failure-ratio"])
            && read.longest_window_ms() > read.shortest_window_ms().saturating_mul(WINDOW_SPREAD)
        {
            at.problem(
                "failure-ratio",
                format!(
                    "the windows of the rules are {} and {}, and one may be {WINDOW_SPREAD} times as long as the other",
                    format_ms(read.longest_window_ms()),
                    format_ms(read.shortest_window_ms()),
                ),
                "bring `failures.window` and `failure-ratio.window` closer together",
            );
        }
        at.finish();
        read
    }

    fn windows(&self) -> impl Iterator<Item = u64> {
        self.failures
            .map(|r| r.window_ms)
            .into_iter()
            .chain(self.ratio.map(|r| r.window_ms))
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

/// A bounded setting as the type it is kept in.
fn small(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_configuration_is_the_defaults() {
        assert_eq!(Config::from_json("{}").unwrap(), Config::default());
    }

    #[test]
    fn a_provider_inherits_what_it_does_not_set() {
        let config = Config::from_json(
            r#"{"breaker": {"failures": {"count": 9}, "failure-ratio": false},
                "providers": {"p": {"breaker": {"failures": {"window": "30s"}}},
                              "q": {"breaker": {"failures": false, "failure-ratio": {}}}}}"#,
        )
        .unwrap();
        let p = config.settings("p").breaker;
        assert_eq!(
            p.failures,
            Some(FailureCount {
                count: 9,
                window_ms: 30_000
            })
        );
        assert_eq!(p.ratio, None);
        let q = config.settings("q").breaker;
        assert_eq!(
            (q.failures, q.ratio),
            (None, Settings::default().breaker.ratio)
        );
        assert_eq!(
            config.settings("unknown").breaker.failures.unwrap().count,
            9
        );
    }

    #[test]
    fn settings_that_contradict_one_another_are_reported() {
        let problems = Config::from_json(
            r#"{"breaker": {"failures": {"window": "1h"}, "failure-ratio": {"window": "1s"},
                            "cool-down": {"first": "1m", "max": "30s"}},
                "retry": {"base": "5s", "max": "1s"}, "prefix": "", "providers": {"a/b": {}}}"#,
        )
        .unwrap_err();
        let paths: Vec<&str> = problems.iter().map(|p| p.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "/prefix",
                "/breaker/cool-down/max",
                "/breaker/failure-ratio",
                "/retry/max",
                "/providers/a~1b"
            ]
        );
    }

    #[test]
    fn a_cool_down_doubles_to_its_maximum_and_stays_there_for_any_number_of_openings() {
        let cool_down = Settings::default().breaker.cool_down;
        let lengths: Vec<u64> = [1, 2, 3, 4, 5, 6, 7, u32::MAX]
            .iter()
            .map(|n| cool_down.length_ms(*n, 0.0) / 1000)
            .collect();
        assert_eq!(lengths, [30, 60, 120, 240, 480, 600, 600, 600]);
        assert_eq!(cool_down.length_ms(0, 0.0), 30_000);
    }

    proptest! {
        #[test]
        fn no_text_makes_configure_panic(text: String) {
            let _ = Config::from_json(&text);
        }

        #[test]
        fn jitter_only_lengthens_and_stays_within_its_share(openings: u32, unit in 0.0..1.0f64) {
            let cool_down = Settings::default().breaker.cool_down;
            let (plain, jittered) = (cool_down.length_ms(openings, 0.0), cool_down.length_ms(openings, unit));
            prop_assert!(plain <= jittered && jittered <= plain + plain / 10 + 1);
            prop_assert!(jittered <= cool_down.longest_ms());
        }
    }
}
