//! The usual names of failures below HTTP.

use fusewire_core::TransportFailure::{self as Failure, *};

/// Names that are in use besides the contract's, with `-` for `_`.
const USUAL: &[(&str, Failure)] = &[
    ("nxdomain", DnsNotFound),
    ("dns-nxdomain", DnsNotFound),
    ("dns-timeout", DnsTemporary),
    ("dns-servfail", DnsTemporary),
    ("connection-refused", ConnectRefused),
    ("host-unreachable", NetworkUnreachable),
    ("tls", TlsHandshake),
    ("certificate", TlsCertificate),
    ("connection-reset", Reset),
    ("closed-before-first-byte", Reset),
    ("closed-mid-body", ResetMidBody),
    ("closed-before-first-byte-reused", StaleConnection),
    ("h2-refused-stream", RefusedStream),
    ("h2-goaway", Goaway),
    ("goaway-graceful", Goaway),
    ("graceful-goaway", Goaway),
    ("h2-goaway-graceful", Goaway),
    ("timeout", TotalTimeout),
    ("short-body", IncompleteBody),
    ("corrupt-encoding", ContentDecoding),
    ("bad-chunk", Protocol),
    ("not-http", Protocol),
    ("h2-protocol-error", Protocol),
    ("redirect-loop", TooManyRedirects),
    ("invalid-url", InvalidRequest),
    ("deadline-before-dispatch", DeadlineBeforeSend),
    ("pool-timeout", LocalResources),
    ("pool-exhausted", LocalResources),
    ("local-ports", LocalResources),
    ("local-ports-exhausted", LocalResources),
    ("fd-exhausted", LocalResources),
    ("caller-cancelled", Cancelled),
    ("canceled", Cancelled),
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
