//! What can be set: names, units, defaults and bounds, each with the reason for its value.

use std::sync::Arc;

use serde_json::Value;

use super::breaker::{
    BreakerSettings, CoolDown, FailureCount, FailureRatio, ProbeSettings, Quorum, Ramp,
    StoreFailure,
};
use super::reader::{Problem, Reader, quoted};
use crate::classify::profile::read::expect;
use crate::classify::profile::{Library, Profile};
use crate::observation::Media;
use crate::target::check_provider;

pub(super) const SECOND: u64 = 1_000;
pub(super) const MINUTE: u64 = 60 * SECOND;
pub(super) const HOUR: u64 = 60 * MINUTE;
pub(super) const DAY: u64 = 24 * HOUR;

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
    /// How the provider signals failure.
    pub profile: Arc<Profile>,
    /// What callers can use, where an observation does not say.
    pub expect: Media,
    /// Which answers are slow.
    pub slow: SlowSettings,
}

/// Which answers are slow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowSettings {
    /// An answer that took this long is slow, in ms. 10 s: longer than people wait, shorter than
    /// most clients' time limits.
    pub limit_ms: u64,
    /// The limit as a multiple of what is usual, where that is shorter; `None`: off.
    pub learnt: Option<Learnt>,
}

/// A limit that follows the provider's own pace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Learnt {
    /// How many times the 99th percentile of good answers.
    pub times: f64,
    /// The shortest such limit, in ms.
    pub floor_ms: u64,
    /// Over what time the percentile is taken, in ms.
    pub window_ms: u64,
    /// The fewest good answers that it is taken of.
    pub minimum: u64,
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
                slow_ratio: None,
                quorum: Quorum {
                    instances: 1,
                    fingerprints: 1,
                },
                probes: ProbeSettings {
                    needed: 3,
                    lease_ms: 10 * SECOND,
                    time_share: 0.5,
                },
                ramp: Some(Ramp {
                    time_ms: 10 * SECOND,
                    first_share: 0.1,
                }),
                holds: true,
                enforce_percent: 100,
                store_failure: StoreFailure::Local,
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
            profile: Arc::new(Profile::plain()),
            expect: Media::Any,
            slow: SlowSettings {
                limit_ms: 10 * SECOND,
                learnt: None,
            },
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
        let read = Self::read(&root);
        let problems = root.problems();
        if problems.is_empty() {
            Ok(read)
        } else {
            Err(problems)
        }
    }

    pub(super) fn read(root: &Reader<'_>) -> Self {
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
        let library = Library::read(root);
        let defaults = Settings::read(root, &Settings::default(), &library);
        let mut providers = Vec::new();
        for (name, reader) in root.objects("providers") {
            if let Err(wrong) = check_provider(&name) {
                root.object("providers").problem(&name, wrong, "");
            }
            let settings = Settings::read(&reader, &defaults, &library);
            reader.finish();
            providers.push((name, settings));
        }
        root.finish();
        Self {
            prefix,
            defaults,
            providers,
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
    fn read(at: &Reader<'_>, base: &Self, library: &Library) -> Self {
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
            profile: profile(at, library).unwrap_or_else(|| Arc::clone(&base.profile)),
            expect: expect(at).unwrap_or(base.expect),
            slow: SlowSettings::read(at, &base.slow),
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

impl SlowSettings {
    /// A duration alone is the limit.
    fn read(at: &Reader<'_>, base: &Self) -> Self {
        let slow = match at.duration_ms_or_object("slow", base.limit_ms, 1..=HOUR) {
            Ok(limit_ms) => return Self { limit_ms, ..*base },
            Err(table) => table,
        };
        let read = Self {
            limit_ms: slow.duration_ms("limit", base.limit_ms, 1..=HOUR),
            learnt: match slow.has("learnt") {
                false => {
                    let _ = slow.value("learnt");
                    base.learnt
                }
                true => slow
                    .object_or_false("learnt")
                    .map(|learnt| Learnt::read(&learnt, base.learnt)),
            },
        };
        slow.finish();
        read
    }
}

impl Learnt {
    fn read(at: &Reader<'_>, base: Option<Self>) -> Self {
        let base = base.unwrap_or(Self {
            times: 3.0,
            floor_ms: SECOND,
            window_ms: 10 * MINUTE,
            minimum: 100,
        });
        let read = Self {
            times: at.number("times", base.times, 1.0..=100.0, "a number from 1 to 100"),
            floor_ms: at.duration_ms("floor", base.floor_ms, 1..=HOUR),
            window_ms: at.duration_ms("window", base.window_ms, 10 * SECOND..=DAY),
            minimum: at.whole("minimum", base.minimum, 10..=1_000_000),
        };
        at.finish();
        read
    }
}

/// The profile that is named there.
fn profile(at: &Reader<'_>, library: &Library) -> Option<Arc<Profile>> {
    let name = at.text("profile")?;
    match library.profile(&name) {
        Ok(profile) => Some(profile),
        Err(Problem { wrong, right, .. }) => {
            at.problem("profile", wrong, right);
            None
        }
    }
}

/// A bounded setting as the type it is kept in.
pub(super) fn small(n: u64) -> u32 {
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
    fn a_setting_may_be_as_large_as_its_bound_and_no_larger() {
        let problems = |text: &str| {
            let config = Config::from_json(text);
            config.err().map_or(0, |problems| problems.len())
        };
        for (largest, larger) in [
            (
                r#"{"breaker": {"idle": "168h"}}"#,
                r#"{"breaker": {"idle": "169h"}}"#,
            ),
            (
                r#"{"breaker": {"failures": {"window": "60s"}, "failure-ratio": {"window": "5s"}}}"#,
                r#"{"breaker": {"failures": {"window": "61s"}, "failure-ratio": {"window": "5s"}}}"#,
            ),
            (
                r#"{"breaker": {"cool-down": {"first": "1m", "max": "1m"}}}"#,
                r#"{"breaker": {"cool-down": {"first": "61s", "max": "1m"}}}"#,
            ),
            (
                r#"{"retry": {"base": "1m", "max": "1m"}}"#,
                r#"{"retry": {"base": "1m", "max": "59s"}}"#,
            ),
            (
                r#"{"retry": {"max": "10m"}}"#,
                r#"{"retry": {"max": "11m"}}"#,
            ),
            (
                r#"{"hints": {"inline": "10m"}}"#,
                r#"{"hints": {"inline": "11m"}}"#,
            ),
            (
                r#"{"slow": {"learnt": {"window": "10s"}}}"#,
                r#"{"slow": {"learnt": {"window": "9s"}}}"#,
            ),
        ] {
            assert_eq!((problems(largest), problems(larger)), (0, 1), "{larger}");
        }
        let prefix = |letters: usize| format!(r#"{{"prefix": "{}"}}"#, "p".repeat(letters));
        assert_eq!([1, 64, 65].map(|n| problems(&prefix(n))), [0, 0, 1]);
        for bad in ["", "a*", "a{", "a\\u0007"] {
            assert_eq!(problems(&format!(r#"{{"prefix": "{bad}"}}"#)), 1, "{bad}");
        }
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
