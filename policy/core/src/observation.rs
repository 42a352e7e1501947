//! What a host saw of one attempt, and what it means. `wit/classifier.wit` documents each name.
#![allow(missing_docs, reason = "each name is documented in wit/classifier.wit")]

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    pub name: String,
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<Field>,
    pub trailers: Vec<Field>,
    pub body: Option<Vec<u8>>,
}

impl Response {
    /// A response with this status and nothing else.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    /// The first header field of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|f| f.name.eq_ignore_ascii_case(name))
            .map(|f| f.value.as_str())
    }
}

/// Declares an enum whose members have the contract's kebab-case names, once.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($member:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $(#[serde(rename = $text)] $member,)*
        }

        impl $name {
            /// Every member, in the contract's order.
            pub const ALL: &[Self] = &[$(Self::$member,)*];

            /// Each name with its member.
            pub const WORDS: &[(&'static str, Self)] = &[$(($text, Self::$member),)*];

            /// The contract's name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$member => $text,)* }
            }

            /// The member of this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|member| member.name() == name)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use named;

named!(TransportFailure {
    DnsNotFound = "dns-not-found",
    DnsTemporary = "dns-temporary",
    ConnectRefused = "connect-refused",
    ConnectTimeout = "connect-timeout",
    NetworkUnreachable = "network-unreachable",
    TlsHandshake = "tls-handshake",
    TlsCertificate = "tls-certificate",
    Reset = "reset",
    ResetMidBody = "reset-mid-body",
    StaleConnection = "stale-connection",
    RefusedStream = "refused-stream",
    Goaway = "goaway",
    ReadTimeout = "read-timeout",
    TotalTimeout = "total-timeout",
    IncompleteBody = "incomplete-body",
    ContentDecoding = "content-decoding",
    Protocol = "protocol",
    TooManyRedirects = "too-many-redirects",
    InvalidRequest = "invalid-request",
    CallerDeadline = "caller-deadline",
    DeadlineBeforeSend = "deadline-before-send",
    BreakerOpen = "breaker-open",
    LocalResources = "local-resources",
    Cancelled = "cancelled",
    Shutdown = "shutdown",
    Other = "other",
});

named!(
    Media {
        Any = "any",
        Json = "json",
        Xml = "xml",
        Image = "image",
        VectorTile = "vector-tile",
    }
);

named!(Outcome {
    Success = "success",
    NoResult = "no-result",
    CallerError = "caller-error",
    Throttled = "throttled",
    QuotaOrAuth = "quota-or-auth",
    Transient = "transient",
    ProviderDown = "provider-down",
    Cancelled = "cancelled",
});

named!(Effect {
    Success = "success",
    SlowSuccess = "slow-success",
    Failure = "failure",
    Neutral = "neutral",
});

named!(Blame {
    Nobody = "nobody",
    Caller = "caller",
    Provider = "provider",
    Account = "account",
    Operation = "operation",
});

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Observation {
    pub response: Option<Response>,
    pub failure: Option<TransportFailure>,
    pub cause: Option<String>,
    pub latency_ms: u64,
    pub now_ms: u64,
    pub idempotent: bool,
    pub delivered_partial: bool,
    pub expect: Media,
    pub minimum_budget_ms: Option<u64>,
}

impl Observation {
    /// An answer to an idempotent request, at this time.
    #[must_use]
    pub fn response(response: Response, now_ms: u64) -> Self {
        Self {
            response: Some(response),
            ..Self::nothing(now_ms)
        }
    }

    /// A failure below HTTP of an idempotent request, at this time.
    #[must_use]
    pub fn failure(failure: TransportFailure, now_ms: u64) -> Self {
        Self {
            failure: Some(failure),
            ..Self::nothing(now_ms)
        }
    }

    fn nothing(now_ms: u64) -> Self {
        Self {
            response: None,
            failure: None,
            cause: None,
            latency_ms: 0,
            now_ms,
            idempotent: true,
            delivered_partial: false,
            expect: Media::Any,
            minimum_budget_ms: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Verdict {
    pub outcome: Outcome,
    pub effect: Effect,
    pub blame: Blame,
    pub retry_same: bool,
    pub next_provider: bool,
    pub min_delay_ms: u64,
    pub retry_after_ms: Option<u64>,
    pub slow: bool,
    pub rule: String,
    pub reason: String,
}

/// What a policy looks at in the answers of a target: `wit/evidence.wit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Wanted {
    pub body_bytes: u32,
    pub headers: Option<Vec<String>>,
    pub trailers: bool,
}
