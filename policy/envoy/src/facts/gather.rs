//! Reading the facts, and the observation made of them.

use fusewire_core::{Field, Media, Observation, Response};

use super::ended::{Ended, Said, ended};
use super::flags::Flags;
use crate::host::{Host, Map};
use crate::target::{header, property};

/// What was noted of a request while it was under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    /// When it came, in ns on this host's own clock.
    pub came_ns: u64,
    /// Whether it had no body, so that all of it was there when it came.
    pub whole: bool,
    /// When the end of the answer came, where it did.
    pub answered_ns: Option<u64>,
    /// Whether the answer had trailers.
    pub trailers: bool,
    /// The beginning of the answer's body; `None`: it is not looked at.
    pub body: Option<Vec<u8>>,
}

/// What was seen of a stream that has ended; `None`: nobody was asked. `host_ns` is the present
/// time on this host's own clock, `now_ms` on the fleet's.
///
/// Each fact that Envoy hands over costs half a microsecond, so those that a good answer has no
/// use for are not asked for.
pub fn observation<H: Host>(
    host: &H,
    noted: Noted,
    host_ns: u64,
    now_ms: u64,
) -> Option<Observation> {
    let answer = response(host, noted.trailers);
    let details = match noted.answered_ns {
        Some(_) if answer.as_ref().is_some_and(is_routed) => "via_upstream".to_owned(),
        _ => property(host, "response\0code_details").unwrap_or_default(),
    };
    let status = answer.as_ref().map_or(0, |answer| answer.status);
    // Where the provider answered nothing else has a say.
    let (flags, transport) = if details == "via_upstream" {
        (Flags::default(), None)
    } else {
        let flags = number(host, "response\0flags").unwrap_or_default();
        let transport = property(host, "upstream\0transport_failure_reason");
        (Flags(flags), transport)
    };
    let said = Said {
        details: &details,
        flags,
        transport: transport.as_deref().unwrap_or_default(),
        status,
        sent_whole: noted.whole,
    };
    let (failure, begun) = match ended(said) {
        Ended::Answered => (None, true),
        Ended::Failed { failure, begun } => (Some(failure), begun),
        Ended::NotSent => return None,
    };
    let latency_ns = latency_ns(host, &noted, host_ns);
    let body = noted.body;
    Some(Observation {
        response: answer
            .filter(|_| begun)
            .map(|answer| Response { body, ..answer }),
        failure,
        cause: failure.map(|_| match transport {
            Some(transport) => [&details, ": ", &transport].concat(),
            None => details.clone(),
        }),
        latency_ms: latency_ns.checked_div(1_000_000).unwrap_or_default(),
        now_ms,
        // Nobody would send again what was answered well.
        idempotent: (failure.is_none() && (200..400).contains(&status)) || is_idempotent(host),
        delivered_partial: begun,
        expect: Media::Any,
        minimum_budget_ms: None,
    })
}

/// Whether an answer bears the mark that Envoy's router sets on those of a provider, and on no other
/// unless it is told to leave it away. Where its end was seen as well it is one, and whole.
fn is_routed(answer: &Response) -> bool {
    answer.header("x-envoy-upstream-service-time").is_some()
}

/// From sending the request to the end of the answer, or to the failure, in ns.
///
/// A request without a body is sent when it comes. Of another one its caller decides when it is
/// sent, and only Envoy knows.
fn latency_ns<H: Host>(host: &H, noted: &Noted, host_ns: u64) -> u64 {
    let until_ns = noted.answered_ns.unwrap_or(host_ns);
    let since_it_came = until_ns.saturating_sub(noted.came_ns);
    if noted.whole {
        return since_it_came;
    }
    number(host, "response\0backend_latency").unwrap_or(since_it_came)
}

/// Whether the request may be sent twice without harm (RFC 9110, section 9.2.2).
fn is_idempotent<H: Host>(host: &H) -> bool {
    let method = header(host, ":method").unwrap_or_default();
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(&method.as_str())
}

/// A property that is a whole number, which has eight bytes, the lowest first.
fn number<H: Host>(host: &H, path: &str) -> Option<u64> {
    let bytes = host.property(path).ok().flatten()?;
    Some(u64::from_le_bytes(bytes.as_slice().try_into().ok()?))
}

/// The answer that the caller was given, but for its body.
fn response<H: Host>(host: &H, has_trailers: bool) -> Option<Response> {
    let mut status = None;
    let mut headers = Vec::new();
    for (name, value) in host.headers(Map::ResponseHeaders).ok()? {
        if name == b":status" {
            status = std::str::from_utf8(&value)
                .ok()
                .and_then(|text| text.parse().ok());
        } else {
            headers.push(field(name, value));
        }
    }
    let trailers = match has_trailers {
        true => host.headers(Map::ResponseTrailers).unwrap_or_default(),
        false => Vec::new(),
    };
    Some(Response {
        status: status?,
        headers,
        trailers: trailers
            .into_iter()
            .map(|(name, value)| field(name, value))
            .collect(),
        body: None,
    })
}

fn field(name: Vec<u8>, value: Vec<u8>) -> Field {
    let text = |bytes: Vec<u8>| match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    Field {
        name: text(name),
        value: text(value),
    }
}
