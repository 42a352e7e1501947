//! The usual names of failures below HTTP.

use fusewire_core::TransportFailure::{self as Failure, *};

/// Names that are in use besides the contract's, with `-` for `_`.
const USUAL: &[(&str, Failure)] = &[
    ("nxdomain", DnsNotFound),
    ("dns-nxdomain", DnsNotFound),
    ("enotfound", DnsNotFound),
    ("dns-timeout", DnsTemporary),
    ("dns-servfail", DnsTemporary),
    ("dns-failure", DnsTemporary),
    ("eai-again", DnsTemporary),
    ("connection-refused", ConnectRefused),
    ("econnrefused", ConnectRefused),
    ("connect-error", ConnectRefused),
    ("connection-timeout", ConnectTimeout),
    ("host-unreachable", NetworkUnreachable),
    ("enetunreach", NetworkUnreachable),
    ("ehostunreach", NetworkUnreachable),
    ("tls", TlsHandshake),
    ("tls-error", TlsHandshake),
    ("certificate", TlsCertificate),
    ("tls-certificate-expired", TlsCertificate),
    ("connection-reset", Reset),
    ("connection-aborted", Reset),
    ("econnreset", Reset),
    ("broken-pipe", Reset),
    ("closed-before-first-byte", Reset),
    ("h2-stream-reset", Reset),
    ("stream-reset", Reset),
    ("closed-mid-body", ResetMidBody),
    ("closed-before-first-byte-reused", StaleConnection),
    ("stale-pooled-connection", StaleConnection),
    ("h2-refused-stream", RefusedStream),
    ("h2-goaway", Goaway),
    ("goaway-graceful", Goaway),
    ("graceful-goaway", Goaway),
    ("h2-goaway-graceful", Goaway),
    ("h2-goaway-no-error", Goaway),
    ("timeout", TotalTimeout),
    ("write-timeout", TotalTimeout),
    ("short-body", IncompleteBody),
    ("truncated-body", IncompleteBody),
    ("unexpected-eof", IncompleteBody),
    ("corrupt-encoding", ContentDecoding),
    ("bad-chunk", Protocol),
    ("bad-chunk-encoding", Protocol),
    ("invalid-chunk", Protocol),
    ("not-http", Protocol),
    ("h2-protocol-error", Protocol),
    ("redirect-loop", TooManyRedirects),
    ("invalid-url", InvalidRequest),
    ("deadline-exceeded", CallerDeadline),
    ("deadline-before-dispatch", DeadlineBeforeSend),
    ("circuit-open", BreakerOpen),
    ("pool-timeout", LocalResources),
    ("pool-wait", LocalResources),
    ("pool-wait-timeout", LocalResources),
    ("pool-acquire-timeout", LocalResources),
    ("pool-exhausted", LocalResources),
    ("local-ports", LocalResources),
    ("local-ports-exhausted", LocalResources),
    ("local-port-exhaustion", LocalResources),
    ("ports-exhausted", LocalResources),
    ("port-exhaustion", LocalResources),
    ("eaddrnotavail", LocalResources),
    ("fd-exhausted", LocalResources),
    ("fd-limit", LocalResources),
    ("too-many-open-files", LocalResources),
    ("emfile", LocalResources),
    ("caller-cancelled", Cancelled),
    ("caller-cancel", Cancelled),
    ("client-cancelled", Cancelled),
    ("client-disconnect", Cancelled),
    ("canceled", Cancelled),
    ("process-shutdown", Shutdown),
];

/// The failure of this name, whether it is written with `-` or with `_`.
pub(super) fn failure(name: &str) -> Option<Failure> {
    let name = name.replace('_', "-");
    let usual = || USUAL.iter().find(|(usual, _)| *usual == name);
    Failure::from_name(&name).or_else(|| usual().map(|(_, failure)| *failure))
}

/// Every name that is known, for messages.
pub(super) fn known() -> String {
    let ours = Failure::ALL.iter().map(|failure| failure.name());
    let usual = USUAL.iter().map(|(name, _)| *name);
    ours.chain(usual).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_its_name_of_the_contract_and_the_usual_ones_in_either_spelling() {
        for failure in Failure::ALL {
            assert_eq!(super::failure(failure.name()), Some(*failure));
            let underscores = failure.name().replace('-', "_");
            assert_eq!(super::failure(&underscores), Some(*failure));
        }
        assert_eq!(failure("h2_refused_stream"), Some(RefusedStream));
        assert_eq!(failure("pool-timeout"), Some(LocalResources));
        assert_eq!(failure("bad luck"), None);
    }

    #[test]
    fn no_usual_name_hides_one_of_the_contract() {
        for (name, _) in USUAL {
            assert_eq!(Failure::from_name(name), None, "{name}");
        }
    }
}
