//! From what was observed of one attempt to what it means.
//!
//! | module | subject |
//! |---|---|
//! | `transport` | failures below HTTP, and calls that were never sent |
//! | `grpc` | gRPC: its statuses, in trailers or by the mapping of HTTP's |
//! | [`profile`] | how one service signals failure: a table of rules, as data |
//! | [`media`] | what the answer is, against what the caller can use |
//! | `should_retry` | the service's own word on another attempt |
//! | `status` | HTTP statuses |
//! | `hint` | when the provider wants to be asked again |
//! | `body` | looking at bodies |
//! | `finding` | what a rule finds |
//! | `decide` | the order of decision |
//! | `verdict` | from what was found to the verdict: the slow flag, the hint, the retry |
//! | `trace` | how a verdict came about |

pub(crate) mod body;
mod decide;
mod finding;
pub(crate) mod grpc;
pub(crate) mod hint;
pub mod media;
pub mod profile;
mod should_retry;
mod status;
pub(crate) mod trace;
mod transport;
mod verdict;

pub use self::body::{BEGINNING, BODY_MAX};
pub use self::finding::{AUTH_GATE_MS, QUOTA_GATE_MS, THROTTLE_FLOOR_MS};
pub use self::trace::{Explanation, HintSaid, Tried};

use self::trace::{Story, Untold};
use crate::config::Settings;
use crate::observation::{Media, Observation, Verdict, Wanted};

/// Judges one attempt. Total: every observation has a verdict.
#[must_use]
pub fn classify(settings: &Settings, observation: &Observation) -> Verdict {
    let decision = decide::decide(settings, observation, &mut Untold);
    verdict::verdict(settings, observation, decision, &mut Untold)
}

/// Judges one attempt, and tells how. The verdict is that of [`classify`].
#[must_use]
pub fn explain(settings: &Settings, observation: &Observation) -> Explanation {
    let mut story = Story::default();
    let decision = decide::decide(settings, observation, &mut story);
    let verdict = verdict::verdict(settings, observation, decision, &mut story);
    Explanation {
        verdict,
        tried: story.tried,
        hint: story.hint,
    }
}

/// What [`classify`] looks at, with these settings.
#[must_use]
pub fn wanted(settings: &Settings) -> Wanted {
    let profile = &settings.profile;
    let mut headers: Vec<String> = media::HEADERS
        .iter()
        .chain(hint::HEADERS)
        .chain(grpc::FIELDS)
        .chain(should_retry::HEADERS)
        .copied()
        .chain(profile.headers())
        .map(str::to_owned)
        .collect();
    headers.sort_unstable();
    headers.dedup();
    let expects = decide::expected(settings, Media::Any) != Media::Any;
    let least = if expects { BEGINNING } else { 0 };
    Wanted {
        body_bytes: u32::try_from(profile.body_bytes().max(least)).unwrap_or(u32::MAX),
        headers: Some(headers),
        trailers: true,
    }
}

#[cfg(test)]
mod tests;
