//! HTTP statuses: RFC 9110 section 15, RFC 6585, RFC 8470, and the unregistered ones in use.

use super::finding::{AUTH_GATE_MS, Again, Finding, QUOTA_GATE_MS};
use crate::observation::Outcome;

/// What a status means, where no profile knows better. `hint` is the provider's Retry-After in
/// ms, and `long` whether it is longer than a call waits in line.
pub(super) fn find(status: u16, hint: Option<u64>, long: bool) -> &'static Finding {
    use Again::{Always, IfIdempotent, Never};
    match status {
        200..=399 => const { &Finding::good(Outcome::Success, "the provider answered") },
        401 | 403 => {
            const { &Finding::account(AUTH_GATE_MS, "the provider rejects the credential") }
        }
        402 => const { &Finding::account(QUOTA_GATE_MS, "the provider wants to be paid") },
        405 | 406 | 451 | 501 | 505 => {
            const { &Finding::caller("the provider does not offer what was asked for").elsewhere() }
        }
        408 => {
            const { &Finding::transient(IfIdempotent, "the provider stopped waiting for the request") }
        }
        413 if hint.is_some() => {
            const { &Finding::throttled("the provider takes no request of this size for now") }
        }
        420 | 429 | 509 => const { &Finding::throttled("this client asks too fast") },
        421 => {
            const { &Finding::transient(Always, "the connection leads to another server").neutral() }
        }
        425 => {
            const {
                &Finding::transient(Always, "the provider wants the request without early data")
                    .neutral()
            }
        }
        511 => {
            const {
                &Finding::account(AUTH_GATE_MS, "the local network wants a login")
                    .neutral()
                    .here_only()
            }
        }
        400..=499 => const { &Finding::caller("the provider rejects the request") },
        503 if long => {
            const {
                &Finding::down(
                    Never,
                    "the provider is out of service, and says for how long",
                )
            }
        }
        503 => const { &Finding::transient(IfIdempotent, "the provider is out of service") },
        521..=523 => const { &Finding::down(Always, "the provider's edge cannot connect to it") },
        525 | 526 => {
            const { &Finding::down(Never, "the provider's edge does not trust its certificate") }
        }
        530 => const { &Finding::down(Never, "the provider's edge cannot find it") },
        500..=599 => const { &Finding::transient(IfIdempotent, "the provider failed") },
        _ => const { &Finding::transient(IfIdempotent, "the status is not one of HTTP") },
    }
}
