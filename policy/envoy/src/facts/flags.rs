//! Envoy's response flags, as the property `response.flags` has them: one bit each, in the order
//! of `CoreResponseFlag` in Envoy's `stream_info.h`. The order is Envoy 1.40's; flags were only ever
//! added at the end.

/// A set of response flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u64);

macro_rules! flags {
    ($($(#[$meta:meta])* $name:ident = $bit:literal,)*) => {
        impl Flags {
            $($(#[$meta])* pub const $name: Self = Self(1 << $bit);)*
        }
    };
}

flags! {
    /// UH: no healthy host.
    NO_HEALTHY_UPSTREAM = 1,
    /// UT: the answer took too long.
    UPSTREAM_TIMEOUT = 2,
    /// LR: Envoy reset the stream.
    LOCAL_RESET = 3,
    /// UR: the provider reset the stream.
    REMOTE_RESET = 4,
    /// UF: no connection.
    CONNECTION_FAILURE = 5,
    /// UC: the connection ended.
    CONNECTION_TERMINATION = 6,
    /// UO: a limit of Envoy's own.
    OVERFLOW = 7,
    /// DC: the caller went away.
    CALLER_GONE = 14,
    /// SI: nothing came in either direction.
    STREAM_IDLE = 16,
    /// DPE: what the caller sent is not HTTP.
    CALLER_PROTOCOL = 18,
    /// UMSDR: the stream's own limit.
    MAX_DURATION = 19,
    /// DT: the limit of the caller's connection.
    CALLER_DURATION = 22,
    /// UPE: what the provider sent is not HTTP.
    PROTOCOL = 23,
    /// OM: Envoy is overloaded.
    OVERLOAD = 25,
    /// DF: the name was not resolved.
    DNS = 26,
    /// DR: the caller reset the stream.
    CALLER_RESET = 28,
}

impl Flags {
    /// Whether any of these is set.
    #[must_use]
    pub fn any(self, of: &[Self]) -> bool {
        of.iter().any(|flag| self.0 & flag.0 != 0)
    }
}
