//! What was seen: the part of a line that a verdict is of.

use std::time::UNIX_EPOCH;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fusewire_core::config::Reader;
use fusewire_core::{Field, Media, Observation, Response};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::read::{LARGEST, Reading, flag, text, whole};
use super::{body, transport};

/// Methods that may be sent twice without harm (RFC 9110, section 9.2.2).
const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"];

/// Whether a request of this method may be sent twice without harm.
pub(super) fn idempotent(method: Option<&str>) -> bool {
    method.is_none_or(|method| {
        IDEMPOTENT
            .iter()
            .any(|known| known.eq_ignore_ascii_case(method))
    })
}

/// When an answer says that it was sent, in ms.
pub(super) fn date_ms(response: &Response) -> Option<u64> {
    let date = httpdate::parse_http_date(response.header("date")?).ok()?;
    let since = date.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

/// What was seen.
pub(super) fn observation(at: &Reader<'_>, reading: &Reading) -> Observation {
    let method = text(at, "method").or_else(|| reading.method.clone());
    let response = response(at, method.as_deref());
    let failure = text(at, "transport").and_then(|name| {
        let failure = transport::failure(&name);
        if failure.is_none() {
            let known = format!("known are {}", transport::known());
            at.problem("transport", format!("{name:?} is not known"), known);
        }
        failure
    });
    if response.is_none() && failure.is_none() && !at.has_any(&["status", "transport"]) {
        let wrong = "neither an answer nor a failure below HTTP";
        at.problem("status", wrong, "give it a `status`, a `transport` or both");
    }
    let date = response.as_ref().and_then(date_ms);
    Observation {
        failure,
        cause: text(at, "cause"),
        latency_ms: whole(at, "latency_ms", LARGEST).unwrap_or(0),
        now_ms: now_ms(at).or(date).unwrap_or(reading.now_ms),
        idempotent: flag(at, "idempotent").unwrap_or_else(|| idempotent(method.as_deref())),
        delivered_partial: flag(at, "delivered_partial").unwrap_or(false),
        expect: expect(at).or(reading.expect).unwrap_or(Media::Any),
        minimum_budget_ms: whole(at, "min_budget_ms", LARGEST),
        response,
    }
}

fn response(at: &Reader<'_>, method: Option<&str>) -> Option<Response> {
    let status = whole(at, "status", u16::MAX.into())?;
    let status = u16::try_from(status).unwrap_or(u16::MAX);
    let headers = fields(at, "headers");
    let trailers = fields(at, "trailers");
    let body = written_body(at).filter(|_| body::has_body(method, status));
    Some(Response {
        status,
        headers,
        trailers,
        body,
    })
}

fn written_body(at: &Reader<'_>) -> Option<Vec<u8>> {
    let encoded = text(at, "body_base64");
    let (prefix, tail) = (text(at, "body_prefix"), text(at, "body_tail"));
    let mut bytes = match (encoded, prefix, tail) {
        (None, None, None) => return None,
        (Some(encoded), None, None) => match STANDARD.decode(encoded.trim()) {
            Ok(bytes) => bytes,
            Err(error) => {
                let wrong = format!("this is not base64: {error}");
                at.problem("body_base64", wrong, "encode it with padding");
                return None;
            }
        },
        (Some(_), _, _) => {
            let wrong = "the body is written twice";
            at.problem(
                "body_base64",
                wrong,
                "leave `body_prefix` and `body_tail` out",
            );
            return None;
        }
        (None, prefix, tail) => {
            body::bytes(&[prefix, tail].map(Option::unwrap_or_default).concat())
        }
    };
    bytes.truncate(body::LOOKED_AT);
    Some(bytes)
}

/// Header fields: a name has a text, or a list of texts for a field that came several times.
fn fields(at: &Reader<'_>, key: &str) -> Vec<Field> {
    let Some(value) = at.value(key).filter(|value| !value.is_null()) else {
        return Vec::new();
    };
    let Some(table) = value.as_object() else {
        let right = "write {\"name\": \"value\"}";
        at.problem(key, format!("`{key}` is not an object"), right);
        return Vec::new();
    };
    let inner = at.object(key);
    let mut fields = Vec::new();
    for (name, value) in table {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in values {
            match value.as_str() {
                Some(value) => fields.push(Field {
                    name: name.clone(),
                    value: value.to_owned(),
                }),
                None => {
                    let wrong = format!("the value of `{name}` is not a text");
                    inner.problem(name, wrong, "write a text, or a list of texts");
                    break;
                }
            }
        }
    }
    fields
}

fn expect(at: &Reader<'_>) -> Option<Media> {
    let word = text(at, "expect")?;
    let media = match word.as_str() {
        "mvt" => Some(Media::VectorTile),
        word => Media::from_name(&word.replace('_', "-")),
    };
    if media.is_none() {
        let right = "write \"any\", \"json\", \"xml\", \"image\", \"mvt\" or \"vector-tile\"";
        at.problem("expect", format!("{word:?} cannot be expected"), right);
    }
    media
}

fn now_ms(at: &Reader<'_>) -> Option<u64> {
    let written = text(at, "now")?;
    let ms = OffsetDateTime::parse(&written, &Rfc3339)
        .ok()
        .and_then(|time| u64::try_from(time.unix_timestamp_nanos() / 1_000_000).ok());
    if ms.is_none() {
        let right = "write a time since 1970 such as \"2026-01-01T00:00:00Z\"";
        at.problem("now", format!("{written:?} is not a time"), right);
    }
    ms
}
