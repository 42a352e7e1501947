//! May this call be made now.

use super::permit::{self, Stamp};
use super::types::{
    Admission, Context, Decision, Event, EventKind, Lease, OverrideMode, Permit, Phase,
    ProbeOutcome, Refusal, RefusalReason, Transition,
};
use crate::config::{Config, Settings};
use crate::entropy;
use crate::record::{LEASE_MAX_MS, Reading, Record, Seen, Standing};
use crate::store::{KeyValue, Session, Stop, Suspended};
use crate::target::{Domain, Target};

/// How long an admission under a closed breaker holds where its keys do not change, in ms. It is
/// the change that ends it; this only bounds what a lost message can do.
const CLOSED_HOLDS_MS: u64 = 60_000;

/// How long a forced opening without an end is refused on before it is worth asking again, in ms.
const ORDER_RETRY_MS: u64 = 60_000;

/// What one domain says to a call.
enum Word {
    Pass {
        stamp: Stamp,
        holds_until: u64,
    },
    /// Its cool-down is over and nobody holds the lease. `observed`: by an operator's order the
    /// call is to be made even if another takes it first.
    Probe {
        observed: bool,
    },
    Refuse {
        refusal: Refusal,
        holds_until: u64,
    },
}

/// Asks whether a call to this target may be made now. See `wit/breaker.wit`.
///
/// # Errors
/// [`Suspended`] where the store has not answered yet.
pub fn admit(
    config: &Config,
    store: &mut dyn KeyValue,
    target: &Target,
    context: &Context,
) -> Result<Admission, Suspended> {
    let domains = match target.domains() {
        Ok(domains) => domains,
        Err(detail) => {
            let refusal = Refusal {
                domain: String::new(),
                reason: RefusalReason::InvalidTarget,
                retry_after_ms: 0,
                detail,
            };
            return Ok(Admission {
                decision: Decision::Refused(refusal),
                holds_until_ms: u64::MAX,
                events: vec![],
            });
        }
    };
    let call = Call {
        config,
        settings: config.settings(&target.provider),
        target,
        context,
    };
    match call.ask(&mut Session::new(store), &domains) {
        Ok(admission) => Ok(admission),
        Err(Stop::Suspended(suspended)) => Err(suspended),
        Err(Stop::Store(why)) => Ok(call.without_store(&domains, why)),
    }
}

struct Call<'a> {
    config: &'a Config,
    settings: &'a Settings,
    target: &'a Target,
    context: &'a Context,
}

impl Call<'_> {
    fn ask(&self, session: &mut Session<'_>, domains: &[Domain<'_>]) -> Result<Admission, Stop> {
        let keys: Vec<String> = domains
            .iter()
            .map(|d| d.record_key(&self.config.prefix))
            .collect();
        let mut made_anyway = false;
        for _ in 0..super::ROUNDS {
            let seen: Vec<Seen> = session
                .get(&keys)?
                .into_iter()
                .map(|bytes| Seen::read(bytes, self.settings, self.context.now_ms))
                .collect();
            let mut stamps = Vec::with_capacity(domains.len());
            let mut to_lease = Vec::new();
            let mut refused: Option<(Refusal, u64)> = None;
            let mut holds_until_ms = self.context.now_ms.saturating_add(CLOSED_HOLDS_MS);
            for (at, (domain, seen)) in domains.iter().zip(&seen).enumerate() {
                match self.word(domain, seen) {
                    Word::Pass { stamp, holds_until } => {
                        holds_until_ms = holds_until_ms.min(holds_until);
                        stamps.push(stamp);
                    }
                    Word::Probe { observed } => {
                        // Stands until the lease is taken.
                        stamps.push(Stamp::Uncounted);
                        to_lease.push(at);
                        made_anyway = observed;
                    }
                    Word::Refuse {
                        refusal,
                        holds_until,
                    } => {
                        let longest = refused
                            .as_ref()
                            .is_none_or(|(r, _)| refusal.retry_after_ms > r.retry_after_ms);
                        if longest {
                            refused = Some((refusal, holds_until));
                        }
                    }
                }
            }
            if let Some((refusal, holds_until_ms)) = refused {
                return Ok(Admission {
                    decision: Decision::Refused(refusal),
                    holds_until_ms,
                    events: vec![],
                });
            }
            if to_lease.is_empty() {
                return Ok(self.allowed(stamps, false, holds_until_ms, vec![]));
            }
            if let Some(events) =
                self.take_leases(session, domains, &keys, &seen, &to_lease, &mut stamps)?
            {
                return Ok(self.allowed(stamps, true, self.context.now_ms, events));
            }
        }
        // Others took every lease that was free: they are probing.
        if made_anyway {
            return Ok(self.allowed(
                vec![Stamp::Uncounted; domains.len()],
                false,
                self.context.now_ms,
                vec![],
            ));
        }
        Ok(self.contended(domains))
    }

    /// What a domain with this record says, before any lease is taken.
    fn word(&self, domain: &Domain<'_>, seen: &Seen) -> Word {
        let now = self.context.now_ms;
        let record = match &seen.reading {
            Reading::Absent | Reading::Newer { closed: true, .. } => {
                return Word::Pass {
                    stamp: Stamp::Epoch(0),
                    holds_until: u64::MAX,
                };
            }
            Reading::Newer { until, .. } => {
                let detail = "the breaker is not closed, by the word of a newer policy".into();
                return self.refuse(domain, RefusalReason::Open, *until, detail);
            }
            Reading::Known(record) => record,
        };
        let order = record.order(now);
        let order_ends = order.map_or(u64::MAX, |o| {
            if o.until_ms == 0 {
                u64::MAX
            } else {
                o.until_ms
            }
        });
        let pass = |stamp| Word::Pass {
            stamp,
            holds_until: order_ends,
        };
        let mut observed = false;
        match order.map(|o| o.mode) {
            Some(OverrideMode::Open) => {
                let why = order.map_or(String::new(), |o| {
                    format!("forced open by {}: {}", o.who, o.why)
                });
                let until = order_ends.min(now.saturating_add(ORDER_RETRY_MS));
                return self.refuse(domain, RefusalReason::Override, until, why);
            }
            Some(OverrideMode::Off) => return pass(Stamp::Uncounted),
            Some(OverrideMode::Closed) => return pass(Stamp::Epoch(record.epoch)),
            Some(OverrideMode::Observe) => observed = true,
            None => {}
        }
        match record.standing(now) {
            Standing::Closed => pass(Stamp::Epoch(record.epoch)),
            Standing::Ready(_) => Word::Probe { observed },
            Standing::Open(until) if observed => Word::Pass {
                stamp: Stamp::Uncounted,
                holds_until: order_ends.min(until),
            },
            Standing::Probing(lease) if observed => Word::Pass {
                stamp: Stamp::Uncounted,
                holds_until: order_ends.min(lease.expires_ms),
            },
            Standing::Open(until) => {
                let detail = format!(
                    "the breaker is open after {} ({} in a row)",
                    record.rule, record.openings
                );
                self.refuse(domain, RefusalReason::Open, until, detail)
            }
            Standing::Probing(lease) => {
                let detail = format!("a call of {} is testing the recovery", lease.owner);
                self.refuse(
                    domain,
                    RefusalReason::ProbeInFlight,
                    lease.expires_ms,
                    detail,
                )
            }
        }
    }

    fn refuse(
        &self,
        domain: &Domain<'_>,
        reason: RefusalReason,
        until: u64,
        detail: String,
    ) -> Word {
        let refusal = Refusal {
            domain: domain.name(),
            reason,
            retry_after_ms: until.saturating_sub(self.context.now_ms).max(1),
            detail,
        };
        Word::Refuse {
            refusal,
            holds_until: until,
        }
    }

    /// Takes all the leases or none. `None`: another call was first somewhere, so read again.
    fn take_leases(
        &self,
        session: &mut Session<'_>,
        domains: &[Domain<'_>],
        keys: &[String],
        seen: &[Seen],
        to_lease: &[usize],
        stamps: &mut [Stamp],
    ) -> Result<Option<Vec<Event>>, Stop> {
        let now = self.context.now_ms;
        let mut events = Vec::new();
        let mut taken: Vec<(&String, Record)> = Vec::new();
        for &at in to_lease {
            let (Some(domain), Some(key), Some(seen)) =
                (domains.get(at), keys.get(at), seen.get(at))
            else {
                continue;
            };
            let Some(before) = seen.record() else {
                continue;
            };
            let use_for = entropy::LEASE.wrapping_add((at as u64) << 8);
            let token = permit::lease_token(entropy::mix(self.context.entropy, use_for));
            let lease = Lease {
                token: token.clone(),
                owner: self.context.instance.clone(),
                expires_ms: now.saturating_add(self.lease_ms()),
            };
            let (after, ttl) = before.leased(lease).written(self.settings, now);
            if !session.swap(key, seen.bytes.as_deref(), &after.to_bytes(), ttl)? {
                for (key, record) in &taken {
                    let (freed, ttl) = record.freed().written(self.settings, now);
                    session.swap(key, Some(&record.to_bytes()), &freed.to_bytes(), ttl)?;
                }
                return Ok(None);
            }
            events.extend(self.lease_events(domain, before));
            taken.push((key, after));
            if let Some(stamp) = stamps.get_mut(at) {
                *stamp = Stamp::Lease(token);
            }
        }
        Ok(Some(events))
    }

    /// As long as the call may last, and at least what is configured.
    fn lease_ms(&self) -> u64 {
        self.settings
            .breaker
            .probes
            .lease_ms
            .max(self.context.call_limit_ms.unwrap_or(0))
            .min(LEASE_MAX_MS)
    }

    fn lease_events(&self, domain: &Domain<'_>, before: &Record) -> Option<Event> {
        let (kind, detail) = match (before.phase, &before.lease) {
            (Phase::Open, _) => {
                let transition = Transition {
                    before: Phase::Open,
                    after: Phase::HalfOpen,
                    rule: "cool-down-over".into(),
                    until_ms: 0,
                    openings: before.openings,
                };
                (
                    EventKind::Transition(transition),
                    "the cool-down is over, and this call is the probe".into(),
                )
            }
            (_, Some(lost)) => (
                EventKind::Probe(ProbeOutcome::Expired),
                format!(
                    "the probe of {} did not come back, and this call takes its place",
                    lost.owner
                ),
            ),
            _ => return None,
        };
        Some(Event {
            domain: domain.name(),
            at_ms: self.context.now_ms,
            kind,
            detail,
        })
    }

    fn allowed(
        &self,
        stamps: Vec<Stamp>,
        probe: bool,
        holds_until_ms: u64,
        events: Vec<Event>,
    ) -> Admission {
        let permit = Permit {
            target: self.target.clone(),
            probe,
            token: permit::write(&stamps),
        };
        Admission {
            decision: Decision::Allowed(permit),
            holds_until_ms,
            events,
        }
    }

    fn contended(&self, domains: &[Domain<'_>]) -> Admission {
        let refusal = Refusal {
            domain: domains.first().map(Domain::name).unwrap_or_default(),
            reason: RefusalReason::ProbeInFlight,
            retry_after_ms: self.settings.breaker.probes.lease_ms.max(1),
            detail: "other calls are testing the recovery".into(),
        };
        Admission {
            decision: Decision::Refused(refusal),
            holds_until_ms: self.context.now_ms,
            events: vec![],
        }
    }

    fn without_store(&self, domains: &[Domain<'_>], why: String) -> Admission {
        let events = vec![Event {
            domain: domains.first().map(Domain::name).unwrap_or_default(),
            at_ms: self.context.now_ms,
            kind: EventKind::Store(why),
            detail: "allowed, since the store did not answer".into(),
        }];
        let stamps = vec![Stamp::Unshared; domains.len()];
        self.allowed(stamps, false, self.context.now_ms, events)
    }
}
