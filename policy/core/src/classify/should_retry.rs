//! The service's own word on whether to try again: `x-should-retry`, `stripe-should-retry`.
//!
//! The clients of OpenAI, Anthropic and Stripe obey it before any status. A code that says that the
//! quota is used up wins over it, whatever the field says: it is set by something in front.

use super::finding::{Again, Finding};
use crate::observation::{Outcome, Response};

/// The fields, in lower case.
pub(super) const HEADERS: &[&str] = &["x-should-retry", "stripe-should-retry"];

/// What the service says, if anything.
pub(super) fn said(response: &Response) -> Option<bool> {
    let values = HEADERS.iter().filter_map(|name| response.header(name));
    values.map(str::trim_ascii).find_map(|value| match value {
        _ if value.eq_ignore_ascii_case("true") => Some(true),
        _ if value.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    })
}

/// What a caller's error is where the service asks for another attempt: a lock that was taken, a
/// conflict that will pass. Not a matter of health, and not of another provider either.
pub(super) const TRY_AGAIN: Finding =
    Finding::transient(Again::Always, "the provider asks to be tried again")
        .neutral()
        .here_only();

/// A finding with that taken into account.
pub(super) fn applied(said: bool, finding: &mut Finding) {
    match (said, finding.outcome) {
        (_, Outcome::Success | Outcome::NoResult | Outcome::Cancelled | Outcome::QuotaOrAuth) => {}
        (false, _) => finding.again = Again::Never,
        (true, Outcome::CallerError) => {}
        (true, _) => finding.again = Again::Always,
    }
}
