//! From response code details and flags to what went wrong.
//!
//! The details say most precisely what happened; the flags are asked where the details are of
//! somebody else's wording, such as another filter's. What Envoy answered by itself is not an
//! answer of the provider's, whatever its status.

use fusewire_core::TransportFailure as F;

use super::flags::Flags;

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The provider answered, and the answer is whole.
    Answered,
    /// Something failed. `begun`: after the answer had begun.
    Failed {
        /// What.
        failure: F,
        /// Whether part of the answer was passed on.
        begun: bool,
    },
    /// Envoy answered by itself, and asked nobody.
    NotSent,
}

/// What Envoy says of a stream's end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Said<'a> {
    /// The response code details.
    pub details: &'a str,
    /// The response flags.
    pub flags: Flags,
    /// Why there was no connection, in Envoy's words.
    pub transport: &'a str,
    /// The status that the caller was given; zero: none.
    pub status: u16,
    /// Whether the request had no body, so that all of it was there from the beginning.
    pub sent_whole: bool,
}

/// How a stream ended.
#[must_use]
pub fn ended(said: Said<'_>) -> Ended {
    let failed = |failure| Ended::Failed {
        failure,
        begun: false,
    };
    // Envoy tells of a limit in the same words before and after the answer has begun. Before, the
    // status is its own.
    let limit = |failure| Ended::Failed {
        failure,
        begun: !matches!(said.status, 0 | 408 | 504),
    };
    let name = said.details.split(['{', '(']).next().unwrap_or_default();
    match name {
        "via_upstream" => Ended::Answered,
        "upstream_reset_before_response_started" => failed(reset(said)),
        "upstream_reset_after_response_started" => Ended::Failed {
            failure: match reset(said) {
                F::LocalResources => F::LocalResources,
                // HTTP/1 that ends before its stated length is a protocol error to Envoy.
                _ => F::ResetMidBody,
            },
            begun: true,
        },
        "response_timeout"
        | "upstream_per_try_timeout"
        | "upstream_max_stream_duration_reached" => limit(F::TotalTimeout),
        "upstream_per_try_idle_timeout" => limit(F::ReadTimeout),
        // The time of a caller who sends its request too slowly is over in the same words.
        "stream_idle_timeout" if said.sent_whole => limit(F::ReadTimeout),
        "max_duration_timeout" if said.sent_whole => limit(F::TotalTimeout),
        "stream_idle_timeout"
        | "max_duration_timeout"
        | "request_overall_timeout"
        | "request_header_timeout"
        | "duration_timeout"
        | "downstream_remote_disconnect"
        | "downstream_local_disconnect"
        | "downstream_header_timeout" => failed(F::Cancelled),
        "no_healthy_upstream" => failed(F::ConnectRefused),
        "dns_resolution_failure" => failed(dns(said.details)),
        "overload" | "response_payload_too_large" => failed(F::LocalResources),
        _ => by_flags(said).map_or(Ended::NotSent, failed),
    }
}

/// What the flags alone say.
fn by_flags(said: Said<'_>) -> Option<F> {
    use Flags as B;
    let flags = said.flags;
    let rules: [(&[B], F); 9] = [
        (
            &[
                B::CALLER_GONE,
                B::CALLER_RESET,
                B::CALLER_PROTOCOL,
                B::CALLER_DURATION,
            ],
            F::Cancelled,
        ),
        (&[B::OVERFLOW, B::OVERLOAD], F::LocalResources),
        (&[B::DNS], dns(said.details)),
        (&[B::CONNECTION_FAILURE], connection(said)),
        (
            &[B::CONNECTION_TERMINATION, B::REMOTE_RESET, B::LOCAL_RESET],
            F::Reset,
        ),
        (&[B::PROTOCOL], F::Protocol),
        (&[B::UPSTREAM_TIMEOUT, B::MAX_DURATION], F::TotalTimeout),
        (
            &[B::STREAM_IDLE],
            if said.sent_whole {
                F::ReadTimeout
            } else {
                F::Cancelled
            },
        ),
        (&[B::NO_HEALTHY_UPSTREAM], F::ConnectRefused),
    ];
    rules
        .into_iter()
        .find(|(of, _)| flags.any(of))
        .map(|(_, failure)| failure)
}

/// What a reset of the stream to the provider was: `name{why|more}`.
fn reset(said: Said<'_>) -> F {
    let why = said
        .details
        .split_once('{')
        .map_or("", |(_, rest)| rest.trim_end_matches('}'));
    match why.split('|').next().unwrap_or_default() {
        "connection_timeout" => F::ConnectTimeout,
        "remote_connection_failure" | "local_connection_failure" => connection(said),
        "overflow" | "overload_manager" => F::LocalResources,
        "protocol_error" => F::Protocol,
        "remote_refused_stream_reset" => F::RefusedStream,
        _ => F::Reset,
    }
}

/// Why there was no connection.
fn connection(said: Said<'_>) -> F {
    // The details have what the transport says as well, blanks as underscores.
    let text = [said.transport, said.details].join(" ").replace('_', " ");
    let has = |what: &str| text.contains(what);
    if has("CERTIFICATE VERIFY FAILED") {
        F::TlsCertificate
    } else if has("TLS error") {
        F::TlsHandshake
    } else if has("unreachable") || has("No route to host") {
        F::NetworkUnreachable
    } else if has("Cannot assign requested address") || has("Too many open files") {
        F::LocalResources
    } else if has("connection timeout") {
        F::ConnectTimeout
    } else {
        F::ConnectRefused
    }
}

/// Why a name was not resolved.
fn dns(details: &str) -> F {
    // c-ares's words for a name that does not exist, and for one that has no address.
    if ["Domain_name_not_found", "cares_norecords"]
        .iter()
        .any(|word| details.contains(word))
    {
        F::DnsNotFound
    } else {
        F::DnsTemporary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, details: &str, flags: u64) -> Ended {
        ended(Said {
            details,
            flags: Flags(flags),
            transport: "",
            status,
            sent_whole: true,
        })
    }

    fn failed(failure: F) -> Ended {
        Ended::Failed {
            failure,
            begun: false,
        }
    }

    #[test]
    fn what_envoy_says_is_taken_for_what_it_is() {
        // As Envoy 1.40 says it.
        for (status, details, flags, failure) in [
            (
                503,
                "upstream_reset_before_response_started{remote_connection_failure|delayed_connect_error:_Connection_refused}",
                32,
                F::ConnectRefused,
            ),
            (
                503,
                "upstream_reset_before_response_started{connection_timeout}",
                32,
                F::ConnectTimeout,
            ),
            (
                503,
                "upstream_reset_before_response_started{remote_connection_failure|TLS_error:|268435703:SSL_routines:OPENSSL_internal:WRONG_VERSION_NUMBER:TLS_error_end}",
                32,
                F::TlsHandshake,
            ),
            (
                503,
                "upstream_reset_before_response_started{remote_connection_failure|TLS_error:|268435581:SSL_routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED:TLS_error_end}",
                32,
                F::TlsCertificate,
            ),
            (
                503,
                "upstream_reset_before_response_started{remote_connection_failure|immediate_connect_error:_Network_is_unreachable}",
                32,
                F::NetworkUnreachable,
            ),
            (
                503,
                "upstream_reset_before_response_started{overflow}",
                128,
                F::LocalResources,
            ),
            (
                503,
                "upstream_reset_before_response_started{connection_termination}",
                64,
                F::Reset,
            ),
            (
                503,
                "upstream_reset_before_response_started{remote_refused_stream_reset}",
                16,
                F::RefusedStream,
            ),
            (
                502,
                "upstream_reset_before_response_started{protocol_error}",
                8_388_608,
                F::Protocol,
            ),
            (503, "no_healthy_upstream", 2, F::ConnectRefused),
            (
                503,
                "dns_resolution_failure{cares_norecords:Domain_name_not_found}",
                67_108_864,
                F::DnsNotFound,
            ),
            (
                503,
                "dns_resolution_failure{cares_failure:DNS_server_returned_general_failure}",
                67_108_864,
                F::DnsTemporary,
            ),
            (504, "response_timeout", 4, F::TotalTimeout),
            (504, "upstream_per_try_timeout", 32_772, F::TotalTimeout),
            (504, "upstream_per_try_idle_timeout", 4, F::ReadTimeout),
            (504, "stream_idle_timeout", 65_536, F::ReadTimeout),
            (504, "max_duration_timeout", 0, F::TotalTimeout),
            (0, "downstream_remote_disconnect", 16_384, F::Cancelled),
        ] {
            assert_eq!(of(status, details, flags), failed(failure), "{details}");
        }
        assert_eq!(of(503, "via_upstream", 0), Ended::Answered);
    }

    #[test]
    fn an_answer_that_breaks_off_had_begun() {
        for (details, failure) in [
            (
                "upstream_reset_after_response_started{protocol_error}",
                F::ResetMidBody,
            ),
            (
                "upstream_reset_after_response_started{connection_termination}",
                F::ResetMidBody,
            ),
            (
                "upstream_reset_after_response_started{overload_manager}",
                F::LocalResources,
            ),
            ("response_timeout", F::TotalTimeout),
            ("stream_idle_timeout", F::ReadTimeout),
        ] {
            assert_eq!(
                of(200, details, 0),
                Ended::Failed {
                    failure,
                    begun: true
                },
                "{details}"
            );
        }
    }

    #[test]
    fn what_envoy_answers_by_itself_is_no_answer() {
        for details in [
            "direct_response",
            "route_not_found",
            "cluster_not_found",
            "maintenance_mode",
            "rbac_access_denied_matched_policy[none]",
            "ext_authz_denied",
            "request_rate_limited",
            "fault_filter_abort",
            "fusewire_open",
            "",
        ] {
            assert_eq!(of(503, details, 0), Ended::NotSent, "{details}");
        }
    }

    #[test]
    fn a_caller_who_sends_its_request_too_slowly_is_not_the_providers_failure() {
        for details in [
            "stream_idle_timeout",
            "max_duration_timeout",
            "request_overall_timeout",
        ] {
            let said = Said {
                details,
                status: 408,
                ..Said::default()
            };
            assert_eq!(ended(said), failed(F::Cancelled), "{details}");
        }
    }

    #[test]
    fn flags_decide_where_the_details_are_of_somebody_elses_wording() {
        for (flags, failure) in [
            (Flags::CONNECTION_FAILURE, F::ConnectRefused),
            (Flags::CONNECTION_TERMINATION, F::Reset),
            (Flags::UPSTREAM_TIMEOUT, F::TotalTimeout),
            (Flags::CALLER_RESET, F::Cancelled),
            (Flags::PROTOCOL, F::Protocol),
            (Flags::OVERLOAD, F::LocalResources),
        ] {
            assert_eq!(
                of(503, "somebody_elses", flags.0),
                failed(failure),
                "{flags:?}"
            );
        }
    }
}
