//! One request: asking, forwarding, telling.

use std::cell::OnceCell;

use crate::bindings::fusewire::policy::breaker::{self, Context, Decision, Ending, Permit};
use crate::bindings::fusewire::policy::classifier::{
    self, Field, Media, Observation, Response, Target, TransportFailure,
};
use crate::bindings::fusewire::policy::lifecycle;
use crate::bindings::wasi::clocks::{monotonic_clock, wall_clock};
use crate::bindings::wasi::http::types::{
    Fields, IncomingBody, IncomingRequest, IncomingResponse, Method, OutgoingBody,
    OutgoingResponse, ResponseOutparam,
};
use crate::bindings::wasi::random::random::get_random_u64;
use crate::failure::Failure;
use crate::patience::Patience;
use crate::relay::Beginning;
use crate::settings::Settings;
use crate::{fields, relay, reply, upstream};

/// Answers one request.
pub(crate) fn handle(request: IncomingRequest, out: ResponseOutparam) {
    let settings = match Settings::read() {
        Ok(settings) => settings,
        Err(why) => return reply::misconfigured(out, &why),
    };
    let problems = lifecycle::configure(&settings.policy);
    if !problems.is_empty() {
        return reply::not_accepted(out, &problems);
    }
    let mut call = Call {
        target: Target {
            provider: settings.provider.clone(),
            account: None,
            operation: None,
        },
        permit: None,
        method: request.method(),
        instance: settings.instance.clone().unwrap_or_else(own_name),
        began_ns: monotonic_clock::now(),
        settings,
    };
    match breaker::admit(&call.target, &call.context()).map(|admission| admission.decision) {
        Ok(Decision::Refused(refusal)) => reply::refused(out, &call.settings.provider, &refusal),
        Ok(Decision::Allowed(permit)) => {
            call.permit = Some(permit);
            call.make(&request, out);
        }
        // The store under this policy answers at once. If it did not, nobody would know: the call
        // goes through, and is not counted.
        Err(_) => call.make(&request, out),
    }
}

/// This instance's own name: the same for all requests that it serves, be it one or many.
fn own_name() -> String {
    thread_local! {
        static NAME: OnceCell<String> = const { OnceCell::new() };
    }
    let name = || format!("{:016x}", get_random_u64());
    NAME.with(|held| held.get_or_init(name).clone())
}

/// A call that is under way.
struct Call {
    settings: Settings,
    target: Target,
    /// None: it was let through without one.
    permit: Option<Permit>,
    method: Method,
    /// Who asks, in the fleet.
    instance: String,
    began_ns: u64,
}

/// What was seen of an answer.
struct Seen {
    status: u16,
    headers: Vec<Field>,
    /// The beginning of the body; none: nobody looked.
    body: Option<Vec<u8>>,
    trailers: Vec<Field>,
}

impl Call {
    fn context(&self) -> Context {
        Context {
            now_ms: now_ms(),
            entropy: get_random_u64(),
            instance: self.instance.clone(),
            call_limit_ms: Some(self.settings.limits.total_ms),
            fingerprint: None,
        }
    }

    fn make(&mut self, request: &IncomingRequest, out: ResponseOutparam) {
        self.began_ns = monotonic_clock::now();
        let is_probe = self.permit.as_ref().is_some_and(|permit| permit.probe);
        let limits = &self.settings.limits;
        let ms = if is_probe {
            limits.probe_ms
        } else {
            limits.total_ms
        };
        let mut patience = Patience::of_ms(ms);
        match upstream::ask(request, &self.settings, &mut patience) {
            Ok(answer) => self.pass_on(&answer.response, out, &mut patience),
            Err(failure) => {
                self.judge(None, Some(&failure));
                reply::failed(out, &self.settings.provider, &failure);
            }
        }
    }

    /// Passes an answer on, and tells the policy of it before its end.
    fn pass_on(&self, answer: &IncomingResponse, out: ResponseOutparam, patience: &mut Patience) {
        let mut seen = Seen {
            status: answer.status(),
            headers: fields::told(&answer.headers()),
            body: None,
            trailers: Vec::new(),
        };
        let passing = fields::to_caller(&answer.headers());
        // A provider's name that cannot be in a field is not there.
        let _ = passing.append("fusewire-provider", self.settings.provider.as_bytes());
        let response = OutgoingResponse::new(passing);
        let _ = response.set_status_code(seen.status);
        let mut beginning = self.beginning(seen.status, answer);
        if self.has_no_body(seen.status, answer) {
            seen.body = beginning.map(Beginning::into_bytes);
            self.judge(Some(seen), None);
            return ResponseOutparam::set(out, Ok(response));
        }
        let (Ok(from), Ok(to)) = (answer.consume(), response.body()) else {
            return self.judge(Some(seen), None);
        };
        ResponseOutparam::set(out, Ok(response));
        let end = relay_body(&from, &to, beginning.as_mut(), patience);
        seen.body = beginning.map(Beginning::into_bytes);
        match end {
            Ok(relay::End::Whole) => {
                let trailers = trailers(from, patience);
                seen.trailers = trailers.as_ref().map(fields::told).unwrap_or_default();
                self.judge(Some(seen), None);
                let _ = OutgoingBody::finish(to, trailers);
            }
            // The body to the caller is dropped unfinished, which is how it learns of it.
            Ok(relay::End::Broken(failure)) | Err(failure) => {
                self.judge(Some(seen), Some(&failure));
            }
            Ok(relay::End::Refused | relay::End::Interrupted) => self.settle(Ending::Dropped),
        }
    }

    /// Whether nothing comes after the head (RFC 9110, section 6.4.1).
    fn has_no_body(&self, status: u16, answer: &IncomingResponse) -> bool {
        let length = fields::value(&answer.headers(), "content-length");
        self.never_has_body(status) || length.is_some_and(|length| length.trim() == "0")
    }

    /// Whether an answer is one of those that have no body whatever their fields say.
    fn never_has_body(&self, status: u16) -> bool {
        matches!(self.method, Method::Head) || matches!(status, 100..=199 | 204 | 304)
    }

    /// Where the beginning of the body is kept. None: there is nothing in it to be looked at, or
    /// nothing that can be read, as it is compressed.
    fn beginning(&self, status: u16, answer: &IncomingResponse) -> Option<Beginning> {
        let coding = fields::value(&answer.headers(), "content-encoding");
        let plain = coding.is_none_or(|coding| coding.trim().eq_ignore_ascii_case("identity"));
        let looks = plain && self.settings.body_bytes > 0 && !self.never_has_body(status);
        looks.then(|| Beginning::of(self.settings.body_bytes))
    }

    fn judge(&self, seen: Option<Seen>, failure: Option<&Failure>) {
        let ns = monotonic_clock::now().saturating_sub(self.began_ns);
        let observation = Observation {
            delivered_partial: seen.is_some(),
            response: seen.map(|seen| Response {
                status: seen.status,
                headers: seen.headers,
                trailers: seen.trailers,
                body: seen.body,
            }),
            failure: failure.map(|failure| failure.kind),
            cause: failure.map(|failure| failure.cause.clone()),
            latency_ms: ns / 1_000_000,
            now_ms: now_ms(),
            // RFC 9110, section 9.2.2.
            idempotent: !matches!(
                self.method,
                Method::Post | Method::Patch | Method::Connect | Method::Other(_)
            ),
            expect: Media::Any,
            minimum_budget_ms: None,
        };
        if failure.is_some_and(|failure| failure.kind == TransportFailure::Cancelled) {
            return self.settle(Ending::Dropped);
        }
        self.settle(Ending::Judged(classifier::classify(
            &self.target,
            &observation,
        )));
    }

    /// Tells the policy how the call ended. What comes of that is the policy's affair: a store that
    /// is out of reach is in its events, and nobody here reads them.
    fn settle(&self, ending: Ending) {
        if let Some(permit) = &self.permit {
            let _ = breaker::settle(permit, &ending, &self.context());
        }
    }
}

fn relay_body(
    from: &IncomingBody,
    to: &OutgoingBody,
    beginning: Option<&mut Beginning>,
    patience: &mut Patience,
) -> Result<relay::End, Failure> {
    match (from.stream(), to.write()) {
        (Ok(from), Ok(to)) => relay::pump(&from, &to, None, beginning, patience),
        _ => Ok(relay::End::Refused),
    }
}

/// The fields after a body, where there are any.
fn trailers(body: IncomingBody, patience: &mut Patience) -> Option<Fields> {
    let future = IncomingBody::finish(body);
    let ready = future.subscribe();
    loop {
        match future.get() {
            Some(Ok(Ok(trailers))) => return trailers.map(|all| fields::to_caller(&all)),
            Some(_) => return None,
            None => patience.wait(&[&ready]).ok()?,
        }
    }
}

/// The present time, in ms since the Unix epoch.
fn now_ms() -> u64 {
    let now = wall_clock::now();
    let ms = u64::from(now.nanoseconds / 1_000_000);
    now.seconds.saturating_mul(1_000).saturating_add(ms)
}
