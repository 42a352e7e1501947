//! Reading the facts, and the observation made of them.

use std::rc::Rc;

use fusewire_core::{Media, Observation, Response, Wanted};

use super::ended::{Ended, Said, ended};
use super::flags::Flags;
use crate::host::{Host, Map};
use crate::pairs;
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
    /// Whether the answer had trailers, where somebody wants to see them.
    pub trailers: bool,
    /// Whether the body of the answer is to be looked at, where it has one.
    pub looks: bool,
    /// The beginning of the answer's body; `None`: it is not looked at.
    pub body: Option<Vec<u8>>,
    /// What is looked at.
    pub wanted: Rc<Wanted>,
    /// When the policy is to be told that it is still under way, in ns on this host's own clock;
    /// `None`: it need not, or has been.
    pub due_ns: Option<u64>,
    /// Whether it has been.
    pub overdue: bool,
    /// A digest of the request, where it may come to be one of a provider's slow ones.
    pub fingerprint: Option<u64>,
}

/// A good answer, as far as anybody can say who does not know the policy: the provider gave it, it
/// came whole, and its status is one of success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Good {
    /// When its end came, in ns on this host's own clock.
    pub came_ns: u64,
    /// How long it took, in ms.
    latency_ms: u64,
    /// Its header fields, as [`pairs`] reads them.
    fields: Vec<u8>,
    /// Which of them are looked at.
    wanted: Rc<Wanted>,
    /// Whether the policy was told that it was overdue.
    pub overdue: bool,
    /// As in [`Noted`].
    pub fingerprint: Option<u64>,
}

impl Good {
    /// A good answer, where the stream has one whose body and trailers nobody wants to see.
    ///
    /// The mark is Envoy's router's, which sets it on the answers of providers and on no other,
    /// unless it is told to leave it away.
    pub fn of<H: Host>(host: &H, noted: &Noted) -> Option<Self> {
        /// Header fields that are worth keeping for a while.
        const FIELDS_MAX_BYTES: usize = 8 * 1024;
        let came_ns = noted.answered_ns?;
        if noted.trailers || noted.body.is_some() {
            return None;
        }
        let fields = host.header_pairs(Map::ResponseHeaders).ok()?;
        pairs::find(&fields, b"x-envoy-upstream-service-time")?;
        let status = pairs::find(&fields, b":status")?;
        if !matches!(status, [b'2' | b'3', _, _]) || fields.len() > FIELDS_MAX_BYTES {
            return None;
        }
        // An error of gRPC that nothing follows is in the head, and its HTTP status is 200.
        if !matches!(pairs::find(&fields, b"grpc-status"), None | Some(b"0")) {
            return None;
        }
        let latency_ns = latency_ns(host, noted, came_ns);
        Some(Self {
            came_ns,
            latency_ms: latency_ns.checked_div(1_000_000)?,
            fields,
            wanted: Rc::clone(&noted.wanted),
            overdue: noted.overdue,
            fingerprint: noted.fingerprint,
        })
    }

    /// What was seen. `now_ms`: when it ended, on the fleet's clock.
    #[must_use]
    pub fn observation(&self, now_ms: u64) -> Observation {
        Observation {
            response: response(&self.fields, &self.wanted),
            failure: None,
            cause: None,
            latency_ms: self.latency_ms,
            now_ms,
            // Nobody would send again what was answered well.
            idempotent: true,
            delivered_partial: true,
            expect: Media::Any,
            minimum_budget_ms: None,
        }
    }
}

/// What was seen of a stream that has ended; `None`: nobody was asked. `host_ns` is the present
/// time on this host's own clock, `now_ms` on the fleet's.
pub fn observation<H: Host>(
    host: &H,
    noted: Noted,
    host_ns: u64,
    now_ms: u64,
) -> Option<Observation> {
    let details = property(host, "response\0code_details").unwrap_or_default();
    let fields = host.header_pairs(Map::ResponseHeaders).unwrap_or_default();
    let answer = response(&fields, &noted.wanted);
    let status = answer.as_ref().map_or(0, |answer| answer.status);
    // Where the provider answered nothing else has a say.
    let (flags, transport) = if details == "via_upstream" {
        (Flags::default(), None)
    } else {
        let flags = host.number("response\0flags");
        let flags = flags.ok().flatten().unwrap_or_default();
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
    let trailers = match noted.trailers {
        true => host.header_pairs(Map::ResponseTrailers).unwrap_or_default(),
        false => Vec::new(),
    };
    let trailers = pairs::read(&trailers).unwrap_or_default();
    let body = noted.body;
    Some(Observation {
        response: answer.filter(|_| begun).map(|answer| Response {
            trailers,
            body,
            ..answer
        }),
        failure,
        cause: failure.map(|_| match transport {
            Some(transport) => [&details, ": ", &transport].concat(),
            None => details.to_string(),
        }),
        latency_ms: latency_ns.checked_div(1_000_000).unwrap_or_default(),
        now_ms,
        idempotent: is_idempotent(host),
        delivered_partial: begun,
        expect: Media::Any,
        minimum_budget_ms: None,
    })
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
    let told = host.number("response\0backend_latency");
    told.ok().flatten().unwrap_or(since_it_came)
}

/// Whether the request may be sent twice without harm (RFC 9110, section 9.2.2).
fn is_idempotent<H: Host>(host: &H) -> bool {
    let method = header(host, ":method").unwrap_or_default();
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(&method.as_str())
}

/// The answer with these fields, of which those are kept that are wanted.
fn response(fields: &[u8], wanted: &Wanted) -> Option<Response> {
    let status = pairs::find(fields, b":status")?;
    let status = std::str::from_utf8(status).ok()?.parse().ok()?;
    let headers = pairs::read_some(fields, |name| match &wanted.headers {
        Some(names) => names.iter().any(|wanted| wanted.as_bytes() == name),
        None => name != b":status",
    });
    Some(Response {
        status,
        headers: headers?,
        trailers: Vec::new(),
        body: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;
    use fusewire_core::TransportFailure;

    const MS: u64 = 1_000_000;

    /// A request that came at 1 s, whose answer was whole at 3 s, seen at 9 s.
    fn seen(host: &FakeHost, noted: Noted) -> Option<Observation> {
        observation(&host, noted, 9_000 * MS, 77)
    }

    fn noted() -> Noted {
        Noted {
            came_ns: 1_000 * MS,
            whole: true,
            answered_ns: Some(3_000 * MS),
            trailers: false,
            looks: false,
            body: None,
            wanted: wanted(&["retry-after"]),
            due_ns: None,
            overdue: false,
            fingerprint: None,
        }
    }

    fn wanted(headers: &[&str]) -> Rc<Wanted> {
        Rc::new(Wanted {
            body_bytes: 4_096,
            headers: Some(headers.iter().map(|name| (*name).to_owned()).collect()),
            trailers: true,
        })
    }

    fn answered(status: &str, details: &str) -> FakeHost {
        let host = FakeHost::default();
        FakeHost::set(&host.response, &[(":status", status), ("retry-after", "7")]);
        FakeHost::set(&host.request, &[(":method", "POST")]);
        host.property_is("response\0code_details", details);
        host.numbers
            .borrow_mut()
            .insert("response\0backend_latency".into(), 400 * MS);
        host
    }

    #[test]
    fn an_answer_is_told_with_its_status_and_fields() {
        let host = answered("503", "via_upstream");
        let seen = seen(
            &host,
            Noted {
                body: Some(b"x".to_vec()),
                ..noted()
            },
        )
        .unwrap();
        let answer = seen.response.unwrap();
        assert_eq!(
            (answer.status, answer.header("retry-after")),
            (503, Some("7"))
        );
        assert_eq!(
            (answer.header(":status"), answer.body.as_deref()),
            (None, Some(&b"x"[..]))
        );
        assert_eq!(
            (seen.failure, seen.now_ms, seen.idempotent),
            (None, 77, false)
        );
    }

    #[test]
    fn of_the_fields_those_are_told_that_are_looked_at() {
        let host = answered("503", "via_upstream");
        let told = |wanted: Rc<Wanted>| {
            let seen = seen(&host, Noted { wanted, ..noted() }).unwrap();
            let fields = seen.response.unwrap().headers;
            fields
                .into_iter()
                .map(|field| field.name)
                .collect::<Vec<_>>()
        };
        host.response
            .borrow_mut()
            .push(("server".into(), "x".into()));
        assert_eq!(told(wanted(&[])), [""; 0]);
        assert_eq!(told(wanted(&["server", "absent"])), ["server"]);
        let all = Wanted {
            headers: None,
            ..Wanted::clone(&wanted(&[]))
        };
        assert_eq!(told(Rc::new(all)), ["retry-after", "server"]);
    }

    #[test]
    fn a_good_answer_bears_the_routers_mark_and_came_whole() {
        let host = answered("200", "nobody asks");
        assert_eq!(Good::of(&&host, &noted()), None, "no mark");
        host.response
            .borrow_mut()
            .push(("x-envoy-upstream-service-time".into(), "4".into()));
        let seen = Good::of(&&host, &noted()).unwrap().observation(77);
        let answer = seen.response.unwrap();
        assert_eq!(
            (answer.status, answer.header("retry-after"), seen.latency_ms),
            (200, Some("7"), 2_000)
        );
        for other in [
            Noted {
                answered_ns: None,
                ..noted()
            },
            Noted {
                trailers: true,
                ..noted()
            },
            Noted {
                body: Some(Vec::new()),
                ..noted()
            },
        ] {
            assert_eq!(Good::of(&&host, &other), None, "{other:?}");
        }
        let status = |code: &str| ("grpc-status".to_owned(), code.to_owned());
        host.response.borrow_mut().push(status("0"));
        assert!(Good::of(&&host, &noted()).is_some());
        host.response.borrow_mut()[3] = status("14");
        assert_eq!(Good::of(&&host, &noted()), None, "an error of gRPC");
        host.response.borrow_mut().pop();
        host.response.borrow_mut()[0].1 = "503".into();
        assert_eq!(Good::of(&&host, &noted()), None, "a bad status");
    }

    #[test]
    fn the_time_that_a_caller_takes_to_send_or_receive_is_not_the_providers() {
        let host = answered("200", "via_upstream");
        assert_eq!(seen(&host, noted()).unwrap().latency_ms, 2_000);
        let with_body = Noted {
            whole: false,
            ..noted()
        };
        assert_eq!(seen(&host, with_body).unwrap().latency_ms, 400);
        let unfinished = Noted {
            answered_ns: None,
            ..noted()
        };
        assert_eq!(seen(&host, unfinished).unwrap().latency_ms, 8_000);
    }

    #[test]
    fn a_failure_is_told_without_envoys_own_answer_and_with_its_cause() {
        let host = answered(
            "503",
            "upstream_reset_before_response_started{remote_connection_failure}",
        );
        host.property_is(
            "upstream\0transport_failure_reason",
            "delayed_connect_error:_Connection_refused",
        );
        let seen = seen(&host, noted()).unwrap();
        assert_eq!(
            (seen.failure, seen.response),
            (Some(TransportFailure::ConnectRefused), None)
        );
        assert!(
            seen.cause
                .unwrap()
                .ends_with(": delayed_connect_error:_Connection_refused")
        );
    }
}
