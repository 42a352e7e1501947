//! The codes of gRPC (grpc/grpc, doc/statuscodes.md), and what each means.

use crate::classify::finding::{AUTH_GATE_MS, Again, Finding};
use crate::observation::Outcome;

pub(super) const RESOURCE_EXHAUSTED: u32 = 8;

/// A code.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) number: u32,
    /// `grpc/` and the code's name.
    pub(super) rule: &'static str,
    pub(super) finding: &'static Finding,
}

const fn code_of(number: u32, rule: &'static str, finding: &'static Finding) -> Code {
    Code {
        number,
        rule,
        finding,
    }
}

/// In the order of their numbers.
static CODES: [Code; 17] = {
    use Again::{IfIdempotent, Never};
    [
        code_of(
            0,
            "grpc/OK",
            &Finding::good(Outcome::Success, "the provider answered"),
        ),
        code_of(
            1,
            "grpc/CANCELLED",
            &Finding::cancelled("the call was cancelled"),
        ),
        code_of(
            2,
            "grpc/UNKNOWN",
            &Finding::transient(IfIdempotent, "the provider failed in a way it cannot name"),
        ),
        code_of(
            3,
            "grpc/INVALID_ARGUMENT",
            &Finding::caller("the provider rejects the request"),
        ),
        // The server may still be at work on it, and the caller's time is over.
        code_of(
            4,
            "grpc/DEADLINE_EXCEEDED",
            &Finding::transient(Never, "the provider did not finish within the deadline"),
        ),
        code_of(
            5,
            "grpc/NOT_FOUND",
            &Finding::caller("the provider has nothing of that name"),
        ),
        code_of(
            6,
            "grpc/ALREADY_EXISTS",
            &Finding::caller("what was to be made is there already"),
        ),
        code_of(
            7,
            "grpc/PERMISSION_DENIED",
            &Finding::account(
                AUTH_GATE_MS,
                "the provider does not permit this to the credential",
            ),
        ),
        code_of(
            8,
            "grpc/RESOURCE_EXHAUSTED",
            &Finding::throttled("this client asks too fast"),
        ),
        code_of(
            9,
            "grpc/FAILED_PRECONDITION",
            &Finding::caller("the provider is not in the state that the request needs"),
        ),
        code_of(
            10,
            "grpc/ABORTED",
            &Finding::caller("the request is in conflict with another one"),
        ),
        code_of(
            11,
            "grpc/OUT_OF_RANGE",
            &Finding::caller("the request goes beyond the valid range"),
        ),
        code_of(
            12,
            "grpc/UNIMPLEMENTED",
            &Finding::caller("the provider does not offer what was asked for").elsewhere(),
        ),
        code_of(
            13,
            "grpc/INTERNAL",
            &Finding::transient(IfIdempotent, "the provider failed"),
        ),
        code_of(
            14,
            "grpc/UNAVAILABLE",
            &Finding::transient(IfIdempotent, "the provider is out of service"),
        ),
        // The same request would meet the same loss.
        code_of(
            15,
            "grpc/DATA_LOSS",
            &Finding::transient(Never, "the provider lost data"),
        ),
        code_of(
            16,
            "grpc/UNAUTHENTICATED",
            &Finding::account(AUTH_GATE_MS, "the provider rejects the credential"),
        ),
    ]
};

/// The third of [`CODES`].
fn unknown() -> &'static Code {
    let [_, _, unknown, ..] = &CODES;
    unknown
}

fn of_number(number: u32) -> Option<&'static Code> {
    CODES.get(usize::try_from(number).ok()?)
}

/// The code that a text names, by its number or its name.
pub(crate) fn code(text: &str) -> Option<u32> {
    let is = |code: &&Code| {
        code.rule
            .strip_prefix("grpc/")
            .is_some_and(|name| name.eq_ignore_ascii_case(text))
    };
    let by_number = || super::whole(text).and_then(|n| of_number(u32::try_from(n).ok()?));
    CODES.iter().find(is).or_else(by_number).map(|c| c.number)
}

/// The code of a `grpc-status`. What is none is UNKNOWN, as gRPC wants it.
pub(super) fn of_status(text: &str) -> &'static Code {
    super::whole(text)
        .and_then(|number| of_number(u32::try_from(number).ok()?))
        .unwrap_or(unknown())
}

/// The code of an answer without a `grpc-status`. None for 429: the mapping has UNAVAILABLE, but
/// a throttle is no failure.
pub(super) fn of_http(status: u16) -> Option<&'static Code> {
    match status {
        400 => of_number(13),
        401 => of_number(16),
        403 => of_number(7),
        404 => of_number(12),
        429 => None,
        502..=504 => of_number(14),
        _ => Some(unknown()),
    }
}
