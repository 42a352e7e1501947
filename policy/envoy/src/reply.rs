//! The filter's own answer to a request that was refused: problem details (RFC 9457), with the same
//! names as the gateway's.

use fusewire_core::Refusal;
use serde_json::json;

use crate::host::LocalResponse;

/// The answer to a request that was refused.
#[must_use]
pub fn refused(status: u32, refusal: &Refusal) -> LocalResponse {
    let reason = refusal.reason.name();
    let body = json!({
        "type": "urn:fusewire:problem:refused",
        "title": "The call was refused",
        "status": status,
        "detail": refusal.detail,
        "domain": refusal.domain,
        "reason": reason,
        "retry_after_ms": refusal.retry_after_ms,
    });
    LocalResponse {
        status,
        details: ["fusewire_", &reason.replace('-', "_")].concat(),
        headers: vec![
            ("content-type", "application/problem+json".into()),
            ("retry-after", seconds(refusal.retry_after_ms).to_string()),
            ("fusewire-refused", reason.into()),
            ("fusewire-domain", field(&refusal.domain)),
        ],
        body: body.to_string().into_bytes(),
    }
}

/// Whole seconds, never too few, and at least one: what `Retry-After` can say.
#[must_use]
pub fn seconds(ms: u64) -> u64 {
    ms.div_ceil(1_000).max(1)
}

/// A text as the value of a header field: what is not visible ASCII is left to the reader.
#[must_use]
pub fn field(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c == ' ' || c.is_ascii_graphic() {
                c
            } else {
                '?'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusewire_core::RefusalReason;

    #[test]
    fn a_refusal_is_told_in_header_fields_and_in_the_body() {
        let refusal = Refusal {
            domain: "karten/süd".into(),
            reason: RefusalReason::ProbeInFlight,
            retry_after_ms: 1_001,
            detail: "a call of envoy-1 is testing the recovery".into(),
        };
        let answer = refused(503, &refusal);
        assert_eq!(answer.details, "fusewire_probe_in_flight");
        let field = |name| {
            let field = answer.headers.iter().find(|(n, _)| *n == name);
            field.map(|(_, value)| value.as_str())
        };
        assert_eq!(field("retry-after"), Some("2"));
        assert_eq!(field("fusewire-refused"), Some("probe-in-flight"));
        assert_eq!(field("fusewire-domain"), Some("karten/s?d"));
        let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(body["domain"], "karten/süd");
        assert_eq!(body["retry_after_ms"], 1_001);
    }

    #[test]
    fn a_wait_is_rounded_up_to_whole_seconds_and_is_at_least_one() {
        assert_eq!([0, 1, 1_000, 1_001, 29_999].map(seconds), [1, 1, 1, 2, 30]);
    }
}
