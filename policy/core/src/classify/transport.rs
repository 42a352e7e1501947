//! Failures below HTTP, and calls that were never sent.

use super::finding::{Again, Finding};
use crate::observation::{Observation, TransportFailure as F};

/// What a failure below HTTP means.
///
/// Counted are failures that the provider, its network or its resolver brought about; a fault
/// near the caller (no network, no free port, a caller who left) is nobody's. What was never
/// processed may be sent again whatever it was (RFC 9110, section 9.2.2).
pub(super) fn find(failure: F, observation: &Observation) -> &'static Finding {
    use Again::{Always, IfIdempotent, Never};
    match failure {
        F::DnsNotFound => const { &Finding::down(Never, "the resolver knows no such name") },
        F::DnsTemporary => const { &Finding::transient(Always, "the resolver did not answer") },
        F::ConnectRefused => const { &Finding::down(Always, "the connection was refused") },
        F::ConnectTimeout => {
            const { &Finding::down(Always, "no connection within the connect limit") }
        }
        F::TlsHandshake => const { &Finding::transient(Always, "the TLS handshake failed") },
        F::TlsCertificate => const { &Finding::down(Never, "the certificate is not valid") },
        F::Reset => const { &Finding::transient(IfIdempotent, "the connection was reset") },
        F::ResetMidBody => {
            const {
                &Finding::transient(
                    IfIdempotent,
                    "the connection ended while the answer was coming",
                )
            }
        }
        F::IncompleteBody => {
            const { &Finding::transient(IfIdempotent, "the answer ended before its stated length") }
        }
        F::ContentDecoding => const { &Finding::transient(Never, "the answer cannot be decoded") },
        F::Protocol => const { &Finding::transient(IfIdempotent, "the answer is not HTTP") },
        F::ReadTimeout => {
            const { &Finding::transient(IfIdempotent, "nothing came within the read limit") }
        }
        F::TotalTimeout => {
            const { &Finding::transient(IfIdempotent, "the attempt took longer than its total limit") }
        }
        F::TooManyRedirects => {
            const { &Finding::down(Never, "the provider redirects in a circle") }
        }
        F::RefusedStream => {
            const { &Finding::transient(Always, "the provider refused the stream unprocessed") }
        }
        F::Other => const { &Finding::transient(IfIdempotent, "the call failed below HTTP") },

        F::StaleConnection => {
            const {
                &Finding::transient(Always, "a kept connection was already closed")
                    .neutral()
                    .here_only()
            }
        }
        F::Goaway => {
            const {
                &Finding::transient(Always, "the server is going away in good order")
                    .neutral()
                    .here_only()
            }
        }
        F::NetworkUnreachable => {
            const { &Finding::transient(Always, "there is no route to the network").neutral() }
        }
        F::BreakerOpen => const { &Finding::down(Never, "a breaker refused the call").neutral() },
        F::LocalResources => {
            const {
                &Finding::transient(Always, "no connection, port or file was to be had here")
                    .neutral()
            }
        }

        F::InvalidRequest => const { &Finding::caller("the request cannot be built") },
        F::CallerDeadline => {
            // The provider is to blame only where it had the time that it needs at least.
            let fair = observation.minimum_budget_ms.unwrap_or(0);
            if observation.latency_ms >= fair {
                const {
                    &Finding::transient(
                        Never,
                        "the provider did not answer within the caller's deadline",
                    )
                    .here_only()
                }
            } else {
                const { &Finding::cancelled("the caller's deadline left the provider too little time") }
            }
        }
        F::DeadlineBeforeSend => {
            const { &Finding::cancelled("the caller's deadline was over before anything was sent") }
        }
        F::Cancelled => const { &Finding::cancelled("the caller went away") },
        F::Shutdown => const { &Finding::cancelled("this process is stopping") },
    }
}
