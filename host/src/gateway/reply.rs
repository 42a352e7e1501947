//! What the gateway says, in header fields and problem details.

use axum::body::Body;
use axum::response::Response;
use fusewire_core::Target;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::upstream::{Head, client::has_length_only};
use crate::guard::Skip;

const PROVIDER: HeaderName = HeaderName::from_static("fusewire-provider");
const ATTEMPTS: HeaderName = HeaderName::from_static("fusewire-attempts");
const SKIPPED: HeaderName = HeaderName::from_static("fusewire-skipped");

/// When to come back to a provider that failed and did not say, in ms.
const COME_BACK_MS: u64 = 1_000;

/// A provider's answer, marked with who gave it and how it came about.
pub(super) fn answer(
    method: &Method,
    head: Head,
    body: Body,
    is_whole: bool,
    how: &How<'_>,
) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = head.status;
    *response.headers_mut() = head.headers;
    let headers = response.headers_mut();
    if is_whole && !has_length_only(method, head.status) {
        // Made anew from the body at hand.
        headers.remove(header::CONTENT_LENGTH);
    }
    if let Some(provider) = how.provider
        && let Ok(value) = HeaderValue::from_str(&provider.provider)
    {
        headers.insert(PROVIDER, value);
    }
    how.mark(headers);
    response
}

/// How an answer came about.
pub(super) struct How<'a> {
    /// Who gave it. `None`: nobody.
    pub(super) provider: Option<&'a Target>,
    /// Attempts made in all.
    pub(super) attempts: u32,
    /// Who was passed over, in order.
    pub(super) skipped: Vec<(&'a Target, &'a Skip)>,
}

impl How<'_> {
    fn mark(&self, headers: &mut HeaderMap) {
        headers.insert(ATTEMPTS, self.attempts.into());
        let skipped: Vec<String> = self
            .skipped
            .iter()
            .map(|(target, skip)| {
                let after = skip
                    .retry_after_ms
                    .map(|ms| format!(";retry-after={}", seconds(ms)));
                let (name, reason) = (&target.provider, skip.reason.name());
                format!("{name};reason={reason}{}", after.unwrap_or_default())
            })
            .collect();
        if !skipped.is_empty()
            && let Ok(value) = HeaderValue::from_str(&skipped.join(", "))
        {
            headers.insert(SKIPPED, value);
        }
    }

    /// 503: nobody is left to ask.
    pub(super) fn nobody_left(&self) -> Response {
        let providers: Vec<Value> = self
            .skipped
            .iter()
            .map(|(target, skip)| {
                json!({
                    "provider": target.provider,
                    "reason": skip.reason.name(),
                    "detail": skip.detail,
                    "retry_after_ms": skip.retry_after_ms,
                    "attempts": skip.attempts,
                })
            })
            .collect();
        let soonest = self
            .skipped
            .iter()
            .map(|(_, skip)| skip.retry_after_ms.unwrap_or(COME_BACK_MS));
        let mut response = problem_with(
            StatusCode::SERVICE_UNAVAILABLE,
            "no-provider",
            "No provider is left",
            "No provider of this route gave an answer.",
            ("providers", providers.into()),
        );
        let headers = response.headers_mut();
        headers.insert(
            header::RETRY_AFTER,
            seconds(soonest.min().unwrap_or(COME_BACK_MS)).into(),
        );
        self.mark(headers);
        response
    }
}

/// Whole seconds, never too few, and at least one: what `Retry-After` can say.
fn seconds(ms: u64) -> u64 {
    ms.div_ceil(1_000).max(1)
}

/// An answer of the gateway's own: problem details (RFC 9457).
pub(super) fn problem(status: StatusCode, kind: &str, title: &str, detail: &str) -> Response {
    problem_with(status, kind, title, detail, ("", Value::Null))
}

/// Problem details with one more member, where its name is not empty.
pub(super) fn problem_with(
    status: StatusCode,
    kind: &str,
    title: &str,
    detail: &str,
    more: (&str, Value),
) -> Response {
    let mut body = json!({
        "type": format!("urn:fusewire:problem:{kind}"),
        "title": title,
        "status": status.as_u16(),
        "detail": detail,
    });
    if let (Some(members), (name, value)) = (body.as_object_mut(), more)
        && !name.is_empty()
    {
        members.insert(name.into(), value);
    }
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/problem+json"),
    );
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_rounded_up_to_whole_seconds_and_is_at_least_one() {
        assert_eq!([0, 1, 1_000, 1_001, 29_999].map(seconds), [1, 1, 1, 2, 30]);
    }
}
