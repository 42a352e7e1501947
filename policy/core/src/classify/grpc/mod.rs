//! gRPC: what its status codes mean, and what its trailers tell of waiting.
//!
//! | module | subject |
//! |---|---|
//! | [`mod@code`] | codes, their names, and what each means |
//! | [`details`] | `grpc-status-details-bin`: the wait of a `RetryInfo` |
//! | [`trailers`] | status, pushback and message, wherever the trailers are |
//! | [`web`] | the trailers of gRPC-Web, which stand in the body |
//!
//! A `grpc-status` decides whatever the HTTP status is; without one the HTTP status is mapped
//! to a code (grpc/grpc, doc/http-grpc-status-mapping.md).

mod code;
mod details;
mod trailers;
mod web;

pub(crate) use self::code::code;
use self::code::{Code, RESOURCE_EXHAUSTED};
use self::trailers::{Pushback, field, is_message_too_large, pushback, retry_info_ms};
use super::finding::Finding;
use crate::observation::Response;

/// Every header and trailer that is looked at here, in lower case.
pub(crate) const FIELDS: &[&str] = &[
    "content-type",
    "grpc-status",
    "grpc-message",
    "grpc-retry-pushback-ms",
    "grpc-status-details-bin",
    "retry-info-ms",
];

/// What a gRPC answer means.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged {
    pub(crate) finding: &'static Finding,
    /// Such as `grpc/UNAVAILABLE`.
    pub(crate) rule: &'static str,
    pub(crate) code: u32,
    /// The server's word on when to come back, as a span.
    pub(crate) wait_ms: Option<u64>,
    /// The server wants no retry, whatever the code would allow.
    pub(crate) do_not_retry: bool,
}

/// Judges a gRPC answer; `assume` where a profile says that answers are of gRPC.
///
/// `None` for what is not gRPC, and where the rules for HTTP know better: a 429 without a
/// `grpc-status` is a throttle and not UNAVAILABLE, and a good answer whose end was not seen is
/// not UNKNOWN. Many clients of HTTP show no trailers, so that only a profile's word for gRPC makes
/// missing ones a failure; those of gRPC-Web may lie beyond what was seen of the body.
pub(crate) fn judge(response: &Response, assume: bool) -> Option<Judged> {
    let dialect = dialect(response);
    let status = field(response, "grpc-status");
    let code = match status {
        Some(status) => code::of_status(status),
        None if dialect.is_none() && !assume => return None,
        None if response.status == 200
            && response.trailers.is_empty()
            && (!assume || dialect == Some(Dialect::Web)) =>
        {
            return None;
        }
        None => code::of_http(response.status)?,
    };
    let Code {
        number,
        rule,
        finding,
    } = code;
    let finding = if *number == RESOURCE_EXHAUSTED && is_message_too_large(response) {
        const { &Finding::caller("the message is larger than the server takes") }
    } else {
        finding
    };
    let (wait_ms, do_not_retry) = match pushback(response) {
        Pushback::DoNotRetry => (None, true),
        Pushback::Wait(ms) => (Some(ms), false),
        Pushback::None => (retry_info_ms(response), false),
    };
    Some(Judged {
        finding,
        rule,
        code: *number,
        wait_ms,
        do_not_retry,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Grpc,
    Web,
}

/// By the content type: `application/grpc`, with `+proto` and the like, or gRPC-Web.
fn dialect(response: &Response) -> Option<Dialect> {
    const GRPC: &str = "application/grpc";
    let text = response.header("content-type")?.trim_ascii();
    let (beginning, rest) = text.split_at_checked(GRPC.len())?;
    if !beginning.eq_ignore_ascii_case(GRPC) {
        return None;
    }
    match rest.as_bytes() {
        [] | [b'+' | b';' | b' ', ..] => Some(Dialect::Grpc),
        [b'-', b'w' | b'W', ..] => Some(Dialect::Web),
        _ => None,
    }
}

/// Digits alone: what does not fit is as good as for ever.
fn whole(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
