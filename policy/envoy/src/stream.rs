//! One request, from admission to settlement.
//!
//! A stream that was admitted is settled exactly once: when it is logged, or, should it never be,
//! when it is deleted. One that was refused, or that had no target, is never.

use std::rc::Rc;

use fusewire_core::{
    Decision, Effect, Ending, Limits, Permit, Refusal, RefusalReason, Target, Timing,
};

use crate::facts::{Good, Noted, observation};
use crate::holding::Moment;
use crate::host::{Action, Buffer, Host, Map};
use crate::metrics::Metric;
use crate::reply;
use crate::root::{Desk, Root, millis};
use crate::target;

const NS_PER_MS: u64 = 1_000_000;

/// One request.
#[derive(Debug)]
pub struct Stream {
    root: Rc<Root>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// It has not come yet.
    Fresh,
    /// Not admitted: not any more, or never to be.
    Free,
    Admitted {
        permit: Permit,
        noted: Noted,
    },
    /// Let through against the policy's word, which the answer is to say.
    Observed(Refusal),
}

impl Stream {
    /// A request that has not come yet.
    #[must_use]
    pub fn new(root: Rc<Root>) -> Self {
        Self {
            root,
            state: State::Fresh,
        }
    }

    /// Asks the policy. `whole`: the request has no body.
    pub fn admit<H: Host>(&mut self, desk: &mut Desk<'_, H>, whole: bool) -> Action {
        if !matches!(self.state, State::Fresh) {
            return Action::Continue;
        }
        self.state = State::Free;
        let root = &self.root;
        let Some(target) = target::of(desk.host, &root.settings.target) else {
            desk.metrics.count(desk.host, Metric::InvalidTarget);
            return Action::Continue;
        };
        let Ok(now_ns) = desk.host.now_ns() else {
            desk.metrics.count(desk.host, Metric::HostError);
            return Action::Continue;
        };
        // Read before any record is, so that a change in between is told by it.
        let moment = root.scope.turn(desk.host).map(|turn| Moment {
            turn,
            host_ms: millis(now_ns),
            fleet_ms: root.fleet_ms(now_ns),
        });
        let held = moment.and_then(|moment| root.holding.permit(&target, moment));
        let decision = match held {
            Some(permit) => Ok(permit),
            None => ask(root, desk, &target, now_ns, moment),
        };
        match decision {
            Ok((permit, limits)) => {
                desk.metrics.count(desk.host, Metric::Admitted);
                if permit.probe {
                    try_once(desk.host);
                }
                if let Some(total_ms) = limits.total_ms {
                    limit(desk.host, total_ms);
                }
                let due_ns = limits
                    .overdue_ms
                    .map(|ms| now_ns.saturating_add(ms.saturating_mul(NS_PER_MS)));
                if let Some(due_ns) = due_ns {
                    root.due_ns.set(root.due_ns.get().min(due_ns));
                }
                let wanted = root.wanted(&permit.target);
                // Envoy shows the request's fields now and at the end, and not while it answers.
                let looks = wanted.body_bytes > 0
                    && target::header(desk.host, ":method").as_deref() != Some("HEAD");
                let noted = Noted {
                    came_ns: now_ns,
                    whole,
                    answered_ns: None,
                    trailers: false,
                    looks,
                    body: None,
                    wanted,
                    due_ns,
                    overdue: false,
                    // One that hangs is told of when its fields are out of reach.
                    fingerprint: due_ns.and_then(|_| fingerprint(desk.host)),
                };
                self.state = State::Admitted { permit, noted };
                Action::Continue
            }
            Err(Some(refusal)) => self.refuse(desk, refusal),
            Err(None) => Action::Continue,
        }
    }

    /// Tells the policy where the request has been under way for too long. Answers when it is to be
    /// looked at again, in ns on this host's own clock.
    pub fn tick<H: Host>(&mut self, root: &Root, desk: &mut Desk<'_, H>, now_ns: u64) -> u64 {
        let State::Admitted { permit, noted } = &mut self.state else {
            return u64::MAX;
        };
        match noted.due_ns {
            Some(due_ns) if std::ptr::eq(root, &raw const *self.root) => {
                if now_ns < due_ns {
                    return due_ns;
                }
                noted.due_ns = None;
                noted.overdue = true;
                root.overdue(desk, permit, now_ns, noted.fingerprint);
                u64::MAX
            }
            _ => u64::MAX,
        }
    }

    fn refuse<H: Host>(&mut self, desk: &Desk<'_, H>, refusal: Refusal) -> Action {
        if refusal.reason == RefusalReason::InvalidTarget {
            // Nothing can be known of what cannot be named, so nothing speaks against it.
            desk.metrics.count(desk.host, Metric::InvalidTarget);
            return Action::Continue;
        }
        if self.root.settings.observe {
            desk.metrics.count(desk.host, Metric::WouldRefuse);
            self.state = State::Observed(refusal);
            return Action::Continue;
        }
        match desk
            .host
            .respond(&reply::refused(self.root.settings.status, &refusal))
        {
            Ok(()) => {
                desk.metrics.refused(desk.host, refusal.reason);
                Action::Pause
            }
            Err(_) => {
                desk.metrics.count(desk.host, Metric::HostError);
                Action::Continue
            }
        }
    }

    /// Says in the answer what would have been refused.
    pub fn mark<H: Host>(&self, host: &H) {
        if let State::Observed(refusal) = &self.state {
            for (name, value) in [
                ("fusewire-would-refuse", refusal.reason.name()),
                ("fusewire-domain", &reply::field(&refusal.domain)),
            ] {
                let _ = host.add_header(Map::ResponseHeaders, name, value);
            }
        }
    }

    /// Begins to look at the answer's body, where there is one that somebody wants to see and that
    /// can be read. Answers whether it does.
    pub fn begin<H: Host>(&mut self, host: &H) -> bool {
        match &mut self.state {
            State::Admitted { noted, .. } if noted.looks => {
                if noted.body.is_none() && has_readable_body(host) {
                    noted.body = Some(Vec::new());
                }
                noted.body.is_some()
            }
            _ => false,
        }
    }

    /// Keeps the beginning of the answer's body, where it is looked at. `size`: of what has come.
    pub fn look<H: Host>(&mut self, host: &H, size: u32) {
        let State::Admitted { noted, .. } = &mut self.state else {
            return;
        };
        let Some(body) = &mut noted.body else {
            return;
        };
        let have = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let wanted = noted.wanted.body_bytes.saturating_sub(have).min(size);
        if wanted > 0
            && let Ok(bytes) = host.buffer(Buffer::ResponseBody, 0, wanted)
        {
            body.extend(bytes);
        }
    }

    /// What is kept of the answer's body.
    #[cfg(test)]
    pub(crate) fn body(&self) -> Option<&[u8]> {
        match &self.state {
            State::Admitted { noted, .. } => noted.body.as_deref(),
            _ => None,
        }
    }

    /// Notes that the end of the answer has come.
    pub fn answered<H: Host>(&mut self, host: &H, trailers: bool) {
        if let State::Admitted { noted, .. } = &mut self.state {
            noted.answered_ns = host.now_ns().ok();
            noted.trailers |= trailers && noted.wanted.trailers;
        }
    }

    /// Settles the request with what Envoy knows of its end.
    pub fn log<H: Host>(&mut self, desk: &mut Desk<'_, H>) {
        let Some((permit, noted)) = self.take() else {
            return;
        };
        let root = &self.root;
        if !permit.probe
            && let Some(good) = Good::of(desk.host, &noted)
        {
            root.defer(desk, permit, good);
            return;
        }
        root.settle_deferred(desk);
        let now_ns = desk.host.now_ns().unwrap_or(noted.came_ns);
        let (overdue, noted_print) = (noted.overdue, noted.fingerprint);
        let untimed = Timing {
            latency_ms: None,
            overdue,
        };
        match observation(desk.host, noted, now_ns, root.fleet_ms(now_ns)) {
            Some(seen) => {
                let latency_ms = seen.latency_ms;
                let verdict = root.settings.policy.classify(&permit.target, &seen);
                let digest = match verdict.effect {
                    Effect::Failure => noted_print.or_else(|| fingerprint(desk.host)),
                    _ => noted_print,
                };
                let timing = Timing {
                    latency_ms: Some(latency_ms),
                    overdue,
                };
                let ending = Ending::Judged(verdict);
                root.settle(desk, &permit, &ending, &timing, now_ns, digest);
            }
            None => root.settle(desk, &permit, &Ending::Dropped, &untimed, now_ns, None),
        }
    }

    /// Settles a request that was not logged: nothing is known of its end.
    pub fn delete<H: Host>(mut self, desk: &mut Desk<'_, H>) {
        if let Some((permit, noted)) = self.take() {
            let now_ns = desk.host.now_ns().unwrap_or(noted.came_ns);
            let timing = Timing {
                latency_ms: None,
                overdue: noted.overdue,
            };
            self.root
                .settle(desk, &permit, &Ending::Dropped, &timing, now_ns, None);
        }
    }

    /// What is to be settled, once.
    fn take(&mut self) -> Option<(Permit, Noted)> {
        match std::mem::replace(&mut self.state, State::Free) {
            State::Admitted { permit, noted } => Some((permit, noted)),
            State::Fresh | State::Free | State::Observed(_) => None,
        }
    }
}

/// Asks the policy. `Err(None)`: it could not be asked.
fn ask<H: Host>(
    root: &Root,
    desk: &mut Desk<'_, H>,
    target: &Target,
    now_ns: u64,
    moment: Option<Moment>,
) -> Result<(Permit, Limits), Option<Refusal>> {
    let context = root.context(desk, now_ns, None);
    let mut store = root.store(desk.host, now_ns, false);
    let Ok(admission) = root.settings.policy.admit(&mut store, target, &context) else {
        // Only a store that answers later suspends a call.
        desk.metrics.count(desk.host, Metric::HostError);
        return Err(None);
    };
    let of_values_alone = store.read_values_alone();
    root.tell(desk, &admission.events);
    match admission.decision {
        Decision::Allowed(permit) => {
            if let Some(moment) = moment.filter(|_| of_values_alone) {
                let until_ms = admission.holds_until_ms;
                root.holding
                    .keep(&permit, admission.limits, moment, until_ms);
            }
            Ok((permit, admission.limits))
        }
        Decision::Refused(refusal) => Err(Some(refusal)),
    }
}

/// Has Envoy try a request once, whatever its route says of retries: a probe is one attempt. Envoy's
/// router takes that from this field, and takes the field away.
fn try_once<H: Host>(host: &H) {
    let _ = host.set_header(Map::RequestHeaders, "x-envoy-max-retries", "0");
}

/// Gives a request less time than its route does. Envoy's router takes it from this field, and takes
/// the field away. Of the two fields for a limit it is the one of which the router leaves the route's
/// own in force, where that is shorter: a filter cannot ask for it.
fn limit<H: Host>(host: &H, total_ms: u64) {
    const FIELD: &str = "x-envoy-upstream-rq-per-try-timeout-ms";
    let given = target::header(host, FIELD).and_then(|text| text.parse::<u64>().ok());
    let is_shorter = given.is_some_and(|given| given > 0 && given <= total_ms);
    if !is_shorter {
        let _ = host.set_header(Map::RequestHeaders, FIELD, &total_ms.to_string());
    }
}

/// Whether an answer with this head can have a body (RFC 9110, section 6.4.1), and one that can be
/// read: the filter cannot decompress.
fn has_readable_body<H: Host>(host: &H) -> bool {
    let field = |name| host.header(Map::ResponseHeaders, name).ok().flatten();
    if matches!(field(":status").as_deref(), None | Some("204" | "304")) {
        return false;
    }
    let coding = field("content-encoding");
    coding.is_none_or(|coding| coding.trim().eq_ignore_ascii_case("identity"))
}

/// A digest of the request, the same for equal requests, so that one poisonous request is not
/// taken for many failures. What is no failure needs none.
fn fingerprint<H: Host>(host: &H) -> Option<u64> {
    let parts = [":method", ":authority", ":path"].map(|name| target::header(host, name));
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part?.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    Some(hash)
}
