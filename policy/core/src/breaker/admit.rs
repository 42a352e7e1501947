//! May this call be made now.

use super::permit::{self, Stamp};
use super::types::{
    Admission, Context, Decision, Event, EventKind, Lease, OverrideMode, Permit, Phase,
    ProbeOutcome, Refusal, RefusalReason, Transition,
};
use crate::config::{Config, Settings};
use crate::entropy;
use crate::record::{LEASE_MAX_MS, Record, Seen, Standing};
use crate::store::{KeyValue, Session, Stop, Suspended};
use crate::target::{Domain, Target};

/// How long an admission under a closed breaker holds where its keys do not change, in ms. It is
/// the change that ends it; this only bounds what a lost message can do.
const CLOSED_HOLDS_MS: u64 = 60_000;

/// How long a forced opening without an end is refused on before it is worth asking again, in ms.
const ORDER_RETRY_MS: u64 = 60_000;

/// How much longer than its call a lease lasts, in ms. A call that runs out of time ends at its
/// limit and is told of just after; without this, whoever waits for the lease would have it by
/// then, and a provider that hangs would never be judged.
const TELLING_MS: u64 = 1_000;

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
    let mut events = Vec::new();
    match call.ask(&mut Session::new(store), &domains, &mut events) {
        Ok((decision, holds_until_ms)) => Ok(Admission {
            decision,
            holds_until_ms,
            events,
        }),
        Err(Stop::Suspended(suspended)) => Err(suspended),
        Err(Stop::Store(why)) => Ok(call.without_store(&domains, why, events)),
    }
}

struct Call<'a> {
    config: &'a Config,
    settings: &'a Settings,
    target: &'a Target,
    context: &'a Context,
}

impl Call<'_> {
    /// The decision, and until when it holds. What happened on the way to it goes to `events`,
    /// whatever the decision is: a lease that was taken and given back has happened too.
    fn ask(
        &self,
        session: &mut Session<'_>,
        domains: &[Domain<'_>],
        events: &mut Vec<Event>,
    ) -> Result<(Decision, u64), Stop> {
        let keys: Vec<String> = domains
            .iter()
            .map(|d| d.record_key(&self.config.prefix))
            .collect();
        let mut made_anyway = false;
        for _ in 0..super::ROUNDS {
            made_anyway = true;
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
                        made_anyway &= observed;
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
                return Ok((Decision::Refused(refusal), holds_until_ms));
            }
            if to_lease.is_empty() {
                return Ok((self.allowed(&stamps, false), holds_until_ms));
            }
            let to_lease = to_lease
                .iter()
                .filter_map(|at| Some((*at, domains.get(*at)?, keys.get(*at)?, seen.get(*at)?)));
            if self.take_leases(session, to_lease, &mut stamps, events)? {
                return Ok((self.allowed(&stamps, true), self.context.now_ms));
            }
        }
        // Others took every lease that was free: they are probing.
        let decision = if made_anyway {
            self.allowed(&vec![Stamp::Uncounted; domains.len()], false)
        } else {
            self.contended(domains)
        };
        Ok((decision, self.context.now_ms))
    }

    /// What a domain with this record says, before any lease is taken.
    fn word(&self, domain: &Domain<'_>, seen: &Seen) -> Word {
        let now = self.context.now_ms;
        let order = seen.order(now);
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
            Some(OverrideMode::Closed) => return pass(Stamp::Epoch(seen.epoch())),
            Some(OverrideMode::Observe) => observed = true,
            None => {}
        }
        match seen.standing(now) {
            Standing::Closed => pass(Stamp::Epoch(seen.epoch())),
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
                let detail = match seen.record() {
                    Some(record) => format!(
                        "the breaker is open by the rule `{}` ({} in a row)",
                        record.rule, record.openings
                    ),
                    None => "the breaker is not closed, by the word of a newer policy".into(),
                };
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

    /// Takes all the leases or none. `false`: another call was first somewhere, so read again.
    fn take_leases<'t>(
        &self,
        session: &mut Session<'_>,
        to_lease: impl Iterator<Item = (usize, &'t Domain<'t>, &'t String, &'t Seen)>,
        stamps: &mut [Stamp],
        events: &mut Vec<Event>,
    ) -> Result<bool, Stop> {
        let now = self.context.now_ms;
        let mut taken: Vec<(&String, Record)> = Vec::new();
        for (at, domain, key, seen) in to_lease {
            let Some(before) = seen.replaceable() else {
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
                return Ok(false);
            }
            events.extend(self.lease_events(domain, before));
            taken.push((key, after));
            if let Some(stamp) = stamps.get_mut(at) {
                *stamp = Stamp::Lease(token);
            }
        }
        Ok(true)
    }

    /// As long as the call may last and its outcome takes to be told, and at least what is
    /// configured.
    fn lease_ms(&self) -> u64 {
        let call_ms = self
            .context
            .call_limit_ms
            .map_or(0, |limit| limit.saturating_add(TELLING_MS));
        self.settings
            .breaker
            .probes
            .lease_ms
            .max(call_ms)
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

    fn allowed(&self, stamps: &[Stamp], probe: bool) -> Decision {
        Decision::Allowed(Permit {
            target: self.target.clone(),
            probe,
            token: permit::write(stamps),
        })
    }

    fn contended(&self, domains: &[Domain<'_>]) -> Decision {
        Decision::Refused(Refusal {
            domain: domains.first().map(Domain::name).unwrap_or_default(),
            reason: RefusalReason::ProbeInFlight,
            retry_after_ms: self.settings.breaker.probes.lease_ms.max(1),
            detail: "other calls are testing the recovery".into(),
        })
    }

    fn without_store(
        &self,
        domains: &[Domain<'_>],
        why: String,
        mut events: Vec<Event>,
    ) -> Admission {
        events.push(Event {
            domain: domains.first().map(Domain::name).unwrap_or_default(),
            at_ms: self.context.now_ms,
            kind: EventKind::Store(why),
            detail: "allowed, since the store did not answer".into(),
        });
        Admission {
            decision: self.allowed(&vec![Stamp::Unshared; domains.len()], false),
            holds_until_ms: self.context.now_ms,
            events,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::store::{StoreError, Tally, Window};

    /// A store in which somebody else takes the operation's lease just before this call does.
    #[derive(Default)]
    struct Raced(HashMap<String, Vec<u8>>, Option<Vec<u8>>);

    impl KeyValue for Raced {
        fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
            Ok(keys.iter().map(|key| self.0.get(key).cloned()).collect())
        }

        fn swap(
            &mut self,
            key: &str,
            expected: Option<&[u8]>,
            replacement: Option<&[u8]>,
            _: u64,
        ) -> Result<bool, StoreError> {
            if key.contains('/')
                && let Some(theirs) = self.1.take()
            {
                self.0.insert(key.into(), theirs);
            }
            let is_as_expected = self.0.get(key).map(Vec::as_slice) == expected;
            if is_as_expected {
                self.0.insert(key.into(), replacement.unwrap().into());
            }
            Ok(is_as_expected)
        }

        fn count(&mut self, _: Vec<Window>) -> Result<Vec<Tally>, StoreError> {
            Err(StoreError::Unavailable)
        }
    }

    #[test]
    fn a_lease_that_was_given_back_is_told_of_with_the_refusal() {
        let open = br#"{"schema":1,"revision":1,"phase":"open","until":1000,"openings":1}"#;
        let taken = br#"{"schema":1,"revision":2,"phase":"half-open","openings":1,
            "lease":{"token":"00000000000000ff","owner":"b","expires":9000}}"#;
        let mut store = Raced::default();
        store.0.insert("fusewire:s:{p}".into(), open.to_vec());
        store.0.insert("fusewire:s:{p}/o".into(), open.to_vec());
        store.1 = Some(taken.to_vec());
        let target = Target {
            operation: Some("o".into()),
            ..Target::provider("p")
        };
        let config = Config::default();
        let admission = admit(&config, &mut store, &target, &Context::at(2_000, 7)).unwrap();
        let Decision::Refused(refusal) = admission.decision else {
            panic!("{admission:?}");
        };
        assert_eq!(refusal.domain, "p/o");
        let told: Vec<&str> = admission.events.iter().map(|e| e.domain.as_str()).collect();
        assert_eq!(told, ["p"], "open to half-open happened to it alone");
        let left = String::from_utf8(store.0["fusewire:s:{p}"].clone()).unwrap();
        assert!(
            left.contains("half-open") && !left.contains("lease"),
            "{left}"
        );
    }
}
