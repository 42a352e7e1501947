//! What the failing provider does when.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a provider does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Mood {
    Healthy,
    /// Answers 503.
    Failing,
    /// Takes requests and does not answer.
    Hanging,
}

impl Mood {
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Healthy => "is healthy",
            Self::Failing => "answers 503 to everything",
            Self::Hanging => "takes requests and never answers",
        }
    }
}

/// The outage, as the end of each part in time since the start. Long enough for the breaker to
/// trip, to be tested twice in vain, and to close again: about half a minute.
const PARTS: [(u64, Mood); 3] = [(4, Mood::Healthy), (9, Mood::Failing), (14, Mood::Hanging)];

/// After this the outage begins again, where the demo runs on.
const CYCLE: Duration = Duration::from_secs(40);

/// What the provider does at this time since the start.
pub(super) fn mood(since_start: Duration) -> Mood {
    let within = since_start.as_millis() % CYCLE.as_millis();
    PARTS
        .iter()
        .find(|(end, _)| within < u128::from(*end) * 1_000)
        .map_or(Mood::Healthy, |(_, mood)| *mood)
}

/// When the provider began to do what it does at this time since the start.
pub(super) fn began(since_start: Duration) -> Duration {
    let millis = |d: Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
    let cycle = millis(since_start) / millis(CYCLE) * millis(CYCLE);
    let within = millis(since_start) - cycle;
    let ends = PARTS.iter().map(|(end, _)| end * 1_000);
    Duration::from_millis(cycle + ends.filter(|end| *end <= within).max().unwrap_or(0))
}

/// When the outage of the first cycle is over.
pub(super) const RECOVERED: Duration = Duration::from_secs(14);

/// When the demo ends whatever has happened by then.
pub(super) const LATEST_END: Duration = Duration::from_secs(39);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outage_begins_ends_and_comes_again() {
        let at = |seconds| mood(Duration::from_secs(seconds));
        assert_eq!(
            [at(0), at(4), at(9), at(14), at(39)].map(|m| m == Mood::Healthy),
            [true, false, false, true, true]
        );
        assert_eq!((at(44), at(50)), (Mood::Failing, Mood::Hanging));
        let began = |seconds| super::began(Duration::from_secs(seconds)).as_secs();
        assert_eq!(
            [began(3), began(5), began(20), began(41), began(45)],
            [0, 4, 14, 40, 44]
        );
    }
}
