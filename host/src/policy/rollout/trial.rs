//! A candidate under traffic: when it may go on, and when it must stop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::options::Shadowing;
use super::probation::{Watched, percent, share};
use crate::engine::ComponentEngine;
use crate::guard::Generation;
use crate::policy::shadow::{Comparison, Shadow};
use crate::policy::{Artefact, Stage};

/// A vetted candidate, and where it is.
pub(super) struct Trial {
    pub(super) artefact: Artefact,
    pub(super) configuration: String,
    pub(super) engine: Arc<ComponentEngine>,
    /// The generation that it has decided a share with, and is to serve as: calls that began with
    /// the canary go on with it.
    pub(super) generation: Option<Arc<Generation>>,
    pub(super) at: At,
}

/// Where a vetted candidate is.
pub(super) enum At {
    /// It waits for its turn.
    Waiting(Stage),
    /// In the shadow of the serving policy.
    Shadow(Arc<Shadow>, Instant),
    /// It decides a share.
    Canary(Watched),
}

/// Whether a candidate may go on from its stage, and what was seen there.
pub(super) enum Verdict {
    NotYet,
    GoOn(String),
    Stop(String),
}

/// Whether a candidate has been in the shadow for long enough.
pub(super) fn shadowed(options: &Shadowing, comparison: &Comparison, lasted: Duration) -> Verdict {
    if comparison.faults > options.faults {
        let last = comparison.last_fault.as_deref().unwrap_or_default();
        return Verdict::Stop(format!(
            "it failed at {} of {} questions, and {} are allowed; the last time {last}",
            comparison.faults, comparison.compared, options.faults
        ));
    }
    if comparison.store_refusals > options.faults {
        return Verdict::Stop(format!(
            "{} of its store operations were refused, such as those on keys that are not its own, and \
             {} are allowed",
            comparison.store_refusals, options.faults
        ));
    }
    let enough = comparison.compared >= options.decisions;
    let over = lasted >= options.at_most;
    let differing = share(comparison.differences, comparison.compared);
    if (enough || over) && differing > options.differences {
        return Verdict::Stop(format!(
            "it decided {} of {} questions differently ({}), and {} are allowed: {}",
            comparison.differences,
            comparison.compared,
            percent(differing),
            percent(options.differences),
            most(comparison)
        ));
    }
    if (enough && lasted >= options.span) || over {
        let differences = match comparison.differences {
            0 => "none differently".to_owned(),
            n => format!(
                "{n} differently ({}): {}",
                percent(differing),
                most(comparison)
            ),
        };
        return Verdict::GoOn(format!(
            "it decided {} questions, {differences}",
            comparison.compared
        ));
    }
    Verdict::NotYet
}

/// The most frequent differences in words.
fn most(comparison: &Comparison) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = comparison
        .pairs
        .iter()
        .take(SHOWN)
        .map(|pair| format!("{} ({} times)", pair.words(), pair.count))
        .collect();
    let more = comparison.pairs.len().saturating_sub(SHOWN);
    match more {
        0 => shown.join("; "),
        more => format!("{}; and {more} more kinds", shown.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shadow::Pair;

    fn compared(compared: u64, differences: u64, faults: u64) -> Comparison {
        let pair = Pair {
            kind: "admit".into(),
            serving: "allowed".into(),
            candidate: "refused: open".into(),
            count: differences,
            samples: Vec::new(),
        };
        Comparison {
            compared,
            differences,
            faults,
            last_fault: Some("the policy trapped: unreachable".into()),
            pairs: vec![pair],
            ..Comparison::default()
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn it_goes_on_after_the_time_and_the_number_of_decisions() {
        let options = Shadowing::default();
        let judge = |n, lasted| shadowed(&options, &compared(n, 0, 0), lasted);
        assert!(matches!(judge(99, 31 * SECOND), Verdict::NotYet));
        assert!(matches!(judge(100, 29 * SECOND), Verdict::NotYet));
        assert!(matches!(judge(100, 30 * SECOND), Verdict::GoOn(_)));
    }

    #[test]
    fn where_there_is_little_traffic_it_goes_on_with_what_there_was() {
        let options = Shadowing::default();
        match shadowed(&options, &compared(0, 0, 0), options.at_most) {
            Verdict::GoOn(found) => assert_eq!(found, "it decided 0 questions, none differently"),
            _ => panic!("it does not go on"),
        }
    }

    #[test]
    fn too_many_differences_stop_it_as_soon_as_there_are_enough_to_tell() {
        let options = Shadowing::default();
        let judge = |n, differing| shadowed(&options, &compared(n, differing, 0), SECOND);
        assert!(matches!(judge(99, 99), Verdict::NotYet));
        assert!(matches!(judge(100, 5), Verdict::NotYet));
        let Verdict::Stop(why) = judge(100, 6) else {
            panic!("it is not stopped")
        };
        let expected = "it decided 6 of 100 questions differently (6 %), and 5 % are allowed: admit: \
                        allowed here, refused: open there (6 times)";
        assert_eq!(why, expected);
    }

    #[test]
    fn reaching_for_what_is_not_its_own_stops_it() {
        let comparison = Comparison {
            store_refusals: 2,
            ..compared(5, 0, 0)
        };
        let judged = shadowed(&Shadowing::default(), &comparison, SECOND);
        assert!(
            matches!(judged, Verdict::Stop(why) if why.starts_with("2 of its store operations"))
        );
    }

    #[test]
    fn more_failures_than_allowed_stop_it_at_once() {
        let options = Shadowing::default();
        let once = shadowed(&options, &compared(1, 0, 1), SECOND);
        assert!(matches!(once, Verdict::NotYet));
        let judged = shadowed(&options, &compared(2, 2, 2), SECOND);
        let Verdict::Stop(why) = judged else {
            panic!("it is not stopped")
        };
        let expected = "it failed at 2 of 2 questions, and 1 are allowed; the last time the policy \
                        trapped: unreachable";
        assert_eq!(why, expected);
    }
}
