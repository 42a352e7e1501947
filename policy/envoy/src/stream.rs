//! One request, from admission to settlement.
//!
//! A stream that was admitted is settled exactly once: when it is logged, or, should it never be,
//! when it is deleted. One that was refused, or that had no target, is never.

use std::rc::Rc;

use fusewire_core::{Decision, Effect, Ending, Permit, Refusal, RefusalReason, Target};

use crate::facts::{Good, Noted, observation};
use crate::holding::Moment;
use crate::host::{Action, Buffer, Host, Map};
use crate::metrics::Metric;
use crate::reply;
use crate::root::{Desk, Root, millis};
use crate::target;

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
            Ok(permit) => {
                desk.metrics.count(desk.host, Metric::Admitted);
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
                };
                self.state = State::Admitted { permit, noted };
                Action::Continue
            }
            Err(Some(refusal)) => self.refuse(desk, refusal),
            Err(None) => Action::Continue,
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
        match observation(desk.host, noted, now_ns, root.fleet_ms(now_ns)) {
            Some(seen) => {
                let verdict = root.settings.policy.classify(&permit.target, &seen);
                let digest = match verdict.effect {
                    Effect::Failure => fingerprint(desk.host),
                    _ => None,
                };
                root.settle(desk, &permit, &Ending::Judged(verdict), now_ns, digest);
            }
            None => root.settle(desk, &permit, &Ending::Dropped, now_ns, None),
        }
    }

    /// Settles a request that was not logged: nothing is known of its end.
    pub fn delete<H: Host>(mut self, desk: &mut Desk<'_, H>) {
        if let Some((permit, noted)) = self.take() {
            let now_ns = desk.host.now_ns().unwrap_or(noted.came_ns);
            self.root
                .settle(desk, &permit, &Ending::Dropped, now_ns, None);
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
) -> Result<Permit, Option<Refusal>> {
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
                root.holding.keep(&permit, moment, admission.holds_until_ms);
            }
            Ok(permit)
        }
        Decision::Refused(refusal) => Err(Some(refusal)),
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
