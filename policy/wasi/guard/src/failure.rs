//! From an error of `wasi:http` to the contract's name for it.

use crate::bindings::fusewire::policy::classifier::TransportFailure as F;
use crate::bindings::wasi::http::types::ErrorCode as E;

/// A failure below HTTP.
pub(crate) struct Failure {
    pub(crate) kind: F,
    /// More about it, for people.
    pub(crate) cause: String,
}

impl Failure {
    pub(crate) fn new(kind: F, cause: impl Into<String>) -> Self {
        Self {
            kind,
            cause: cause.into(),
        }
    }

    /// What an error means that came instead of an answer.
    pub(crate) fn before_answer(error: &E) -> Self {
        Self::new(kind(error), format!("{error:?}"))
    }

    /// What an error means that came while the body was read; none: the host does not say.
    pub(crate) fn mid_body(error: Option<&E>) -> Self {
        let kind = match error.map(kind) {
            Some(F::Reset | F::Other) | None => F::ResetMidBody,
            Some(kind) => kind,
        };
        let cause = error.map_or_else(|| "the body broke off".into(), |error| format!("{error:?}"));
        Self::new(kind, cause)
    }

    /// The status of the answer that a caller gets instead.
    pub(crate) fn status(&self) -> u16 {
        match self.kind {
            F::ConnectTimeout | F::ReadTimeout | F::TotalTimeout => 504,
            _ => 502,
        }
    }
}

fn kind(error: &E) -> F {
    match error {
        E::DnsTimeout => F::DnsTemporary,
        E::DnsError(payload) if payload.rcode.as_deref() == Some("NXDOMAIN") => F::DnsNotFound,
        E::DnsError(_) => F::DnsTemporary,
        E::DestinationNotFound => F::DnsNotFound,
        E::DestinationIpUnroutable => F::NetworkUnreachable,
        E::ConnectionRefused | E::DestinationUnavailable => F::ConnectRefused,
        E::ConnectionTimeout => F::ConnectTimeout,
        E::ConnectionTerminated => F::Reset,
        E::ConnectionReadTimeout | E::ConnectionWriteTimeout | E::HttpResponseTimeout => {
            F::ReadTimeout
        }
        // The host's own doing: nothing was sent.
        E::ConnectionLimitReached | E::DestinationIpProhibited | E::HttpRequestDenied => {
            F::LocalResources
        }
        E::TlsProtocolError | E::TlsAlertReceived(_) => F::TlsHandshake,
        E::TlsCertificateError => F::TlsCertificate,
        E::HttpRequestLengthRequired
        | E::HttpRequestBodySize(_)
        | E::HttpRequestMethodInvalid
        | E::HttpRequestUriInvalid
        | E::HttpRequestUriTooLong
        | E::HttpRequestHeaderSectionSize(_)
        | E::HttpRequestHeaderSize(_)
        | E::HttpRequestTrailerSectionSize(_)
        | E::HttpRequestTrailerSize(_)
        | E::ConfigurationError => F::InvalidRequest,
        E::HttpResponseIncomplete => F::IncompleteBody,
        E::HttpResponseContentCoding(_) => F::ContentDecoding,
        E::HttpResponseHeaderSectionSize(_)
        | E::HttpResponseHeaderSize(_)
        | E::HttpResponseBodySize(_)
        | E::HttpResponseTrailerSectionSize(_)
        | E::HttpResponseTrailerSize(_)
        | E::HttpResponseTransferCoding(_)
        | E::HttpUpgradeFailed
        | E::HttpProtocolError => F::Protocol,
        E::LoopDetected | E::InternalError(_) => F::Other,
    }
}
