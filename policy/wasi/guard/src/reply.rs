//! What the guard says itself: problem details (RFC 9457), as Fusewire's gateway says them.

use crate::bindings::fusewire::policy::breaker::Refusal;
use crate::bindings::fusewire::policy::lifecycle::Problem;
use crate::bindings::wasi::http::types::{
    Fields, OutgoingBody, OutgoingResponse, ResponseOutparam,
};
use crate::failure::Failure;

/// 503: the policy refuses.
pub(crate) fn refused(out: ResponseOutparam, provider: &str, refusal: &Refusal) {
    // What `Retry-After` can say: whole seconds, never too few, and at least one.
    let seconds = refusal.retry_after_ms.div_ceil(1_000).max(1);
    let skipped = format!("{provider};reason=breaker-open;retry-after={seconds}");
    let providers = format!(
        "[{{\"provider\":{},\"reason\":\"breaker-open\",\"detail\":{},\"retry_after_ms\":{}}}]",
        quoted(provider),
        quoted(&refusal.detail),
        refusal.retry_after_ms
    );
    let fields = [
        ("retry-after", seconds.to_string()),
        ("fusewire-attempts", "0".to_owned()),
        ("fusewire-skipped", skipped),
    ];
    let said = Said {
        status: 503,
        kind: "no-provider",
        title: "No provider is left",
        detail: "The service is not asked for now.",
        more: Some(("providers", providers)),
    };
    said.send(out, &fields);
}

/// 502 or 504: the service gave no answer.
pub(crate) fn failed(out: ResponseOutparam, provider: &str, failure: &Failure) {
    let said = Said {
        status: failure.status(),
        kind: "no-answer",
        title: "The service gave no answer",
        detail: &failure.cause,
        more: None,
    };
    said.send(
        out,
        &[
            ("fusewire-attempts", "1".to_owned()),
            (
                "fusewire-skipped",
                format!("{provider};reason=provider-error"),
            ),
        ],
    );
}

/// 500: the guard is not set up as it should be.
pub(crate) fn misconfigured(out: ResponseOutparam, why: &str) {
    let said = Said {
        status: 500,
        kind: "configuration",
        title: "The guard is not set up",
        detail: why,
        more: None,
    };
    said.send(out, &[]);
}

/// 500: the policy does not accept its configuration.
pub(crate) fn not_accepted(out: ResponseOutparam, problems: &[Problem]) {
    let problems: Vec<String> = problems
        .iter()
        .map(|problem| {
            format!(
                "{{\"path\":{},\"wrong\":{},\"right\":{}}}",
                quoted(&problem.path),
                quoted(&problem.wrong),
                quoted(&problem.right)
            )
        })
        .collect();
    let said = Said {
        status: 500,
        kind: "configuration",
        title: "The guard is not set up",
        detail: "The policy does not accept FUSEWIRE_POLICY.",
        more: Some(("problems", format!("[{}]", problems.join(",")))),
    };
    said.send(out, &[]);
}

struct Said<'a> {
    status: u16,
    kind: &'a str,
    title: &'a str,
    detail: &'a str,
    /// One more member, and its JSON.
    more: Option<(&'a str, String)>,
}

impl Said<'_> {
    fn send(&self, out: ResponseOutparam, more: &[(&str, String)]) {
        let fields = Fields::new();
        let kind = ("content-type", "application/problem+json".to_owned());
        for (name, value) in [kind].iter().chain(more) {
            // A provider's name that cannot be in a field is in the body all the same.
            let _ = fields.append(name, value.as_bytes());
        }
        let response = OutgoingResponse::new(fields);
        let _ = response.set_status_code(self.status);
        let body = response.body();
        ResponseOutparam::set(out, Ok(response));
        let Ok(body) = body else {
            return;
        };
        if let Ok(stream) = body.write() {
            // 4 KiB at once is what a stream takes for certain; these are shorter, or cut off by
            // the caller who goes away.
            for part in self.json().as_bytes().chunks(4_096) {
                if stream.blocking_write_and_flush(part).is_err() {
                    return;
                }
            }
        }
        let _ = OutgoingBody::finish(body, None);
    }

    fn json(&self) -> String {
        let more = self.more.as_ref();
        let more = more.map(|(name, json)| format!(",{}:{json}", quoted(name)));
        format!(
            "{{\"type\":\"urn:fusewire:problem:{}\",\"title\":{},\"status\":{},\"detail\":{}{}}}",
            self.kind,
            quoted(self.title),
            self.status,
            quoted(self.detail),
            more.unwrap_or_default()
        )
    }
}

/// A text as a JSON string (RFC 8259, section 7).
fn quoted(text: &str) -> String {
    let mut json = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            c if c < ' ' => json.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => json.push(c),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_text_is_quoted_so_that_it_stays_one_json_string() {
        assert_eq!(quoted("a\"b\\c\nd\u{1}é"), r#""a\"b\\c\u000ad\u0001é""#);
    }
}
