//! The request to the service, and its answer.

use crate::bindings::fusewire::policy::classifier::TransportFailure;
use crate::bindings::wasi::http::outgoing_handler;
use crate::bindings::wasi::http::types::{
    FutureIncomingResponse, IncomingRequest, IncomingResponse, Method, OutgoingBody,
    OutgoingRequest, RequestOptions,
};
use crate::failure::Failure;
use crate::fields;
use crate::patience::Patience;
use crate::relay;
use crate::settings::Settings;

/// An answer of the service.
pub(crate) struct Answer {
    pub(crate) response: IncomingResponse,
    /// The rest of a request that was answered before its end: to break it off would break off the
    /// answer too.
    _unsent: Option<OutgoingBody>,
}

/// Sends a caller's request on, and waits for the head of the answer.
///
/// # Errors
/// There was no answer.
pub(crate) fn ask(
    request: &IncomingRequest,
    settings: &Settings,
    patience: &mut Patience,
) -> Result<Answer, Failure> {
    let outgoing = outgoing(request, settings)?;
    let body = has_body(request).then(|| outgoing.body().ok()).flatten();
    let options = options(settings);
    let answer = outgoing_handler::handle(outgoing, options)
        .map_err(|error| Failure::before_answer(&error))?;
    let mut unsent = None;
    if let Some(body) = body {
        unsent = send_body(request, body, &answer, patience)?;
    }
    let ready = answer.subscribe();
    loop {
        match answer.get() {
            Some(Ok(Ok(response))) => {
                return Ok(Answer {
                    response,
                    _unsent: unsent,
                });
            }
            Some(Ok(Err(error))) => return Err(Failure::before_answer(&error)),
            Some(Err(())) => {
                let kind = TransportFailure::Other;
                return Err(Failure::new(kind, "the host has given the answer away"));
            }
            None => patience.wait(&[&ready])?,
        }
    }
}

fn outgoing(request: &IncomingRequest, settings: &Settings) -> Result<OutgoingRequest, Failure> {
    let upstream = &settings.upstream;
    let outgoing = OutgoingRequest::new(fields::to_service(&request.headers()));
    let path = request.path_with_query().unwrap_or_default();
    let path = format!("{}{path}", upstream.base);
    let set = outgoing
        .set_method(&request.method())
        .and_then(|()| outgoing.set_scheme(Some(&upstream.scheme)))
        .and_then(|()| outgoing.set_authority(Some(&upstream.authority)))
        .and_then(|()| outgoing.set_path_with_query(Some(&path)));
    match set {
        Ok(()) => Ok(outgoing),
        Err(()) => {
            let kind = TransportFailure::InvalidRequest;
            Err(Failure::new(kind, "the host does not take such a request"))
        }
    }
}

/// A host need not support any of these; the total is kept here in any case.
fn options(settings: &Settings) -> Option<RequestOptions> {
    let ns = |ms: u64| Some(ms.saturating_mul(1_000_000));
    let options = RequestOptions::new();
    let _ = options.set_connect_timeout(ns(settings.limits.connect_ms));
    let _ = options.set_first_byte_timeout(ns(settings.limits.read_ms));
    let _ = options.set_between_bytes_timeout(ns(settings.limits.read_ms));
    Some(options)
}

/// Whether a request comes with a body: it says so, or its method is one that does.
fn has_body(request: &IncomingRequest) -> bool {
    let headers = request.headers();
    match fields::value(&headers, "content-length") {
        Some(length) => length.trim() != "0",
        None => {
            !headers.get("transfer-encoding").is_empty()
                || !matches!(
                    request.method(),
                    Method::Get | Method::Head | Method::Delete | Method::Options | Method::Trace
                )
        }
    }
}

/// Sends the body on, unless the answer comes first: then nobody waits for the rest of it, and it is
/// handed back.
fn send_body(
    request: &IncomingRequest,
    body: OutgoingBody,
    answer: &FutureIncomingResponse,
    patience: &mut Patience,
) -> Result<Option<OutgoingBody>, Failure> {
    let gone = |cause: &str| Failure::new(TransportFailure::Cancelled, cause);
    let incoming = request
        .consume()
        .map_err(|()| gone("the request has no body to read"))?;
    let (Ok(from), Ok(to)) = (incoming.stream(), body.write()) else {
        return Err(gone("the request has no body to read"));
    };
    let answered = answer.subscribe();
    match relay::pump(&from, &to, Some(&answered), None, patience)? {
        relay::End::Whole => {
            drop(to);
            match OutgoingBody::finish(body, None) {
                Ok(()) => Ok(None),
                Err(error) => Err(Failure::before_answer(&error)),
            }
        }
        relay::End::Interrupted | relay::End::Refused => {
            drop(to);
            Ok(Some(body))
        }
        relay::End::Broken(_) => Err(gone("the caller broke off its request")),
    }
}
