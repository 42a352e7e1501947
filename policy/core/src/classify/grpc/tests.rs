use super::details::tests::retry_info;
use super::web::tests::frame;
use super::*;
use crate::classify::finding::Again;
use crate::observation::{Effect, Field, Outcome};
use proptest::prelude::*;

fn all(fields: &[(&str, &str)]) -> Vec<Field> {
    let field = |(name, value): &(&str, &str)| Field {
        name: (*name).into(),
        value: (*value).into(),
    };
    fields.iter().map(field).collect()
}

fn response(status: u16, headers: &[(&str, &str)], trailers: &[(&str, &str)]) -> Response {
    Response {
        status,
        headers: all(headers),
        trailers: all(trailers),
        body: None,
    }
}

fn of_trailers(trailers: &[(&str, &str)]) -> Judged {
    let headers = [("content-type", "application/grpc")];
    judge(&response(200, &headers, trailers), false).unwrap()
}

#[test]
fn every_code_has_its_meaning() {
    use Again::{Always, IfIdempotent, Never};
    use Effect::{Failure, Neutral, Success};
    for (number, name, outcome, effect, again, next) in [
        (0, "OK", Outcome::Success, Success, Never, false),
        (1, "CANCELLED", Outcome::Cancelled, Neutral, Never, false),
        (
            2,
            "UNKNOWN",
            Outcome::Transient,
            Failure,
            IfIdempotent,
            true,
        ),
        (
            3,
            "INVALID_ARGUMENT",
            Outcome::CallerError,
            Neutral,
            Never,
            false,
        ),
        (
            4,
            "DEADLINE_EXCEEDED",
            Outcome::Transient,
            Failure,
            Never,
            true,
        ),
        (5, "NOT_FOUND", Outcome::CallerError, Neutral, Never, false),
        (
            6,
            "ALREADY_EXISTS",
            Outcome::CallerError,
            Neutral,
            Never,
            false,
        ),
        (
            7,
            "PERMISSION_DENIED",
            Outcome::QuotaOrAuth,
            Neutral,
            Never,
            true,
        ),
        (
            8,
            "RESOURCE_EXHAUSTED",
            Outcome::Throttled,
            Neutral,
            Always,
            true,
        ),
        (
            9,
            "FAILED_PRECONDITION",
            Outcome::CallerError,
            Neutral,
            Never,
            false,
        ),
        (10, "ABORTED", Outcome::CallerError, Neutral, Never, false),
        (
            11,
            "OUT_OF_RANGE",
            Outcome::CallerError,
            Neutral,
            Never,
            false,
        ),
        (
            12,
            "UNIMPLEMENTED",
            Outcome::CallerError,
            Neutral,
            Never,
            true,
        ),
        (
            13,
            "INTERNAL",
            Outcome::Transient,
            Failure,
            IfIdempotent,
            true,
        ),
        (
            14,
            "UNAVAILABLE",
            Outcome::Transient,
            Failure,
            IfIdempotent,
            true,
        ),
        (15, "DATA_LOSS", Outcome::Transient, Failure, Never, true),
        (
            16,
            "UNAUTHENTICATED",
            Outcome::QuotaOrAuth,
            Neutral,
            Never,
            true,
        ),
    ] {
        let text = number.to_string();
        let judged = of_trailers(&[("grpc-status", &text)]);
        let finding = judged.finding;
        assert_eq!(
            (
                judged.code,
                judged.rule.strip_prefix("grpc/"),
                judged.wait_ms,
                judged.do_not_retry
            ),
            (number, Some(name), None, false)
        );
        assert_eq!(
            (
                finding.outcome,
                finding.effect,
                finding.again,
                finding.next_provider
            ),
            (outcome, effect, again, next),
            "{name}"
        );
        assert_eq!((code(&text), code(name)), (Some(number), Some(number)));
        assert_eq!(code(&name.to_ascii_lowercase()), Some(number));
    }
    for text in [
        "",
        "17",
        "-1",
        "+1",
        "OKAY",
        "99999999999999999999",
        "1.0",
        "grpc/OK",
    ] {
        assert_eq!(code(text), None, "{text}");
    }
}

#[test]
fn a_status_that_is_none_is_unknown() {
    for text in ["17", "-1", "", "x", "99999999999999999999", "1.0", "OK"] {
        assert_eq!(of_trailers(&[("grpc-status", text)]).code, 2, "{text}");
    }
    assert_eq!(of_trailers(&[("grpc-status", " 14 ")]).code, 14);
}

#[test]
fn a_status_counts_wherever_it_stands_and_whatever_http_says() {
    let code = |response: &Response| judge(response, false).map(|judged| judged.code);
    assert_eq!(code(&response(200, &[], &[("Grpc-Status", "0")])), Some(0));
    assert_eq!(code(&response(200, &[("grpc-status", "5")], &[])), Some(5));
    assert_eq!(code(&response(503, &[], &[("grpc-status", "3")])), Some(3));
    assert_eq!(
        code(&response(429, &[("grpc-status", "14")], &[])),
        Some(14)
    );
    let both = response(200, &[("grpc-status", "0")], &[("grpc-status", "13")]);
    assert_eq!(code(&both), Some(13));
}

#[test]
fn an_answer_without_a_status_is_mapped_and_a_429_left_to_http() {
    for (http, grpc) in [
        (400, Some(13)),
        (401, Some(16)),
        (403, Some(7)),
        (404, Some(12)),
        (429, None),
        (502, Some(14)),
        (503, Some(14)),
        (504, Some(14)),
        (500, Some(2)),
        (200, Some(2)),
        (0, Some(2)),
    ] {
        let html = response(http, &[("content-type", "text/html")], &[]);
        assert_eq!(judge(&html, true).map(|j| j.code), grpc, "{http}");
        assert!(judge(&html, false).is_none());
        let media = [("content-type", "application/grpc")];
        let seen = response(http, &media, &[("other", "x")]);
        assert_eq!(judge(&seen, false).map(|j| j.code), grpc, "{http}");
    }
}

#[test]
fn a_client_that_shows_no_trailers_makes_no_failure_of_every_good_answer() {
    let media = [("content-type", "application/grpc")];
    let code = |status, assume| judge(&response(status, &media, &[]), assume).map(|j| j.code);
    assert_eq!(code(200, false), None);
    assert_eq!(code(200, true), Some(2));
    assert_eq!(code(503, false), Some(14));
}

#[test]
fn grpc_is_known_by_its_content_type() {
    for (media, is_grpc) in [
        ("application/grpc", true),
        ("Application/GRPC", true),
        ("application/grpc+proto", true),
        ("application/grpc+json; charset=utf-8", true),
        (" application/grpc;x=y", true),
        ("application/grpcs", false),
        ("application/json", false),
        ("application/grpé", false),
        ("", false),
    ] {
        let answer = response(500, &[("content-type", media)], &[]);
        assert_eq!(judge(&answer, false).is_some(), is_grpc, "{media}");
    }
}

#[test]
fn grpc_web_has_its_trailers_in_the_body_and_an_unseen_end_tells_nothing() {
    let mut answer = response(200, &[("content-type", "application/grpc-web+proto")], &[]);
    assert!(judge(&answer, true).is_none());
    let trailers = "grpc-status:8\r\ngrpc-retry-pushback-ms:900\r\n";
    answer.body = Some([frame(0, "message"), frame(0x80, trailers)].concat());
    let judged = judge(&answer, false).unwrap();
    assert_eq!((judged.code, judged.wait_ms), (8, Some(900)));
    answer.body = Some(frame(0, "message"));
    assert!(judge(&answer, false).is_none());
    answer.status = 503;
    assert_eq!(judge(&answer, false).map(|j| j.code), Some(14));
    let text = [("content-type", "application/grpc-web-text")];
    assert!(judge(&response(200, &text, &[]), false).is_none());
}

#[test]
fn a_message_that_is_too_large_is_the_callers_and_no_throttle() {
    for (message, outcome) in [
        (
            "grpc: received message larger than max (5 vs. 4)",
            Outcome::CallerError,
        ),
        (
            "Received%20Message%20Larger%20Than%20Max",
            Outcome::CallerError,
        ),
        (
            "trying to send message larger than max",
            Outcome::CallerError,
        ),
        ("Sent message larger than 4194304", Outcome::CallerError),
        ("message%2", Outcome::Throttled),
        ("%zz%", Outcome::Throttled),
        ("quota", Outcome::Throttled),
        ("", Outcome::Throttled),
    ] {
        let judged = of_trailers(&[("grpc-status", "8"), ("grpc-message", message)]);
        assert_eq!(judged.finding.outcome, outcome, "{message}");
    }
    let other = of_trailers(&[
        ("grpc-status", "13"),
        ("grpc-message", "message larger than"),
    ]);
    assert_eq!(other.finding.outcome, Outcome::Transient);
}

#[test]
fn a_pushback_is_a_wait_or_forbids_a_retry() {
    for (text, wait, never) in [
        ("900", Some(900), false),
        ("0", Some(0), false),
        (" 7 ", Some(7), false),
        ("99999999999999999999", Some(u64::MAX), false),
        ("-1", None, true),
        ("x", None, true),
        ("", None, true),
        ("+5", None, true),
        ("1.5", None, true),
        ("NaN", None, true),
    ] {
        let judged = of_trailers(&[("grpc-status", "14"), ("grpc-retry-pushback-ms", text)]);
        assert_eq!(
            (judged.wait_ms, judged.do_not_retry),
            (wait, never),
            "{text}"
        );
    }
    let name = "grpc-retry-pushback-ms";
    let two = of_trailers(&[("grpc-status", "14"), (name, "5"), (name, "7")]);
    assert_eq!((two.wait_ms, two.do_not_retry), (None, true));
}

#[test]
fn the_wait_of_a_retry_info_counts_where_there_is_no_pushback() {
    let bin = retry_info(4, 0);
    let details = ("grpc-status-details-bin", bin.as_str());
    let status = ("grpc-status", "8");
    for (trailers, wait) in [
        (&[status, details][..], Some(4_000)),
        (&[status, ("retry-info-ms", "4000")], Some(4_000)),
        (&[status, ("retry-info-ms", "x"), details], Some(4_000)),
        (&[status, ("retry-info-ms", "5"), details], Some(5)),
        (&[status, details, ("grpc-retry-pushback-ms", "9")], Some(9)),
        (&[status, details, ("grpc-retry-pushback-ms", "-1")], None),
        (&[status, ("grpc-status-details-bin", "!")], None),
    ] {
        assert_eq!(of_trailers(trailers).wait_ms, wait, "{trailers:?}");
    }
    let joined = ["AAAA,", &bin].concat();
    let two = of_trailers(&[status, ("grpc-status-details-bin", &joined)]);
    assert_eq!(two.wait_ms, Some(4_000));
    let headers = response(200, &[status, details], &[]);
    assert_eq!(judge(&headers, false).unwrap().wait_ms, Some(4_000));
}

proptest! {
    #[test]
    fn no_answer_makes_the_rules_panic(
        status: u16, assume: bool, body: Option<Vec<u8>>, media in "application/grpc.{0,6}|.{0,9}",
        fields in prop::collection::vec((0..FIELDS.len(), ".{0,20}|[0-9+-]{0,21}", any::<bool>()), 0..8),
    ) {
        let of = |wanted: bool| {
            let here = fields.iter().filter(|f| f.2 == wanted);
            all(&here.map(|f| (FIELDS[f.0], f.1.as_str())).collect::<Vec<_>>())
        };
        let mut answer = Response { status, headers: of(false), trailers: of(true), body };
        answer.headers.push(Field { name: "Content-Type".into(), value: media });
        if let Some(judged) = judge(&answer, assume) {
            prop_assert!(judged.code <= 16);
            prop_assert!(!judged.do_not_retry || judged.wait_ms.is_none());
        }
    }
}
