//! What an outcome does.
//!
//! Under a closed breaker it is counted; where the counts then trip a rule, the record is
//! replaced. A probe's outcome is judged by itself, never by the old window: that has aged out
//! during the cool-down.
//!
//! | module | subject |
//! |---|---|
//! | `count` | an outcome under a closed breaker: the counter, the rules, the trip |
//! | `probe` | a probe's outcome |
//! | `hold` | an account that is to wait |
//! | `pace` | what is learnt of latencies |

mod count;
mod hold;
mod pace;
mod probe;

use super::permit::{self, Read, Stamp, Stamps};
use super::rules::Share;
use super::types::{
    Context, Ending, Event, EventKind, IgnoredReason, Permit, Phase, Timing, Transition,
};
use super::{Side, event_of};
use crate::config::{Config, Settings, StoreFailure};
use crate::observation::{Blame, Effect, Verdict};
use crate::record::{Record, Seen};
use crate::store::{KeyValue, Session, Stop, Suspended};
use crate::target::{Domain, Scope};

use self::count::Counted;

/// Tells how a call ended that was admitted under this permit. See `wit/attempts.wit`.
///
/// # Errors
/// [`Suspended`] where the store has not answered yet.
pub fn settle(
    config: &Config,
    store: &mut dyn KeyValue,
    permit: &Permit,
    ending: &Ending,
    timing: &Timing,
    context: &Context,
) -> Result<Vec<Event>, Suspended> {
    let told = match ending {
        Ending::Judged(verdict) => Told::Judged(verdict, *timing),
        Ending::Dropped => Told::Dropped,
    };
    tell(config, store, permit, told, context)
}

/// Tells that a call is still under way that has become slow. See `wit/attempts.wit`.
///
/// # Errors
/// [`Suspended`] where the store has not answered yet.
pub fn overdue(
    config: &Config,
    store: &mut dyn KeyValue,
    permit: &Permit,
    context: &Context,
) -> Result<Vec<Event>, Suspended> {
    tell(config, store, permit, Told::Overdue, context)
}

fn tell(
    config: &Config,
    store: &mut dyn KeyValue,
    permit: &Permit,
    told: Told<'_>,
    context: &Context,
) -> Result<Vec<Event>, Suspended> {
    let mut call = Call {
        config,
        settings: config.settings(&permit.target.provider),
        told,
        context,
        events: Vec::new(),
    };
    let read = match permit::read(permit, context.now_ms) {
        Ok(read) => read,
        Err(detail) => {
            call.events.push(Event {
                domain: String::new(),
                at_ms: context.now_ms,
                kind: EventKind::Ignored(IgnoredReason::InvalidPermit),
                detail,
            });
            return Ok(call.events);
        }
    };
    match call.run(&mut Session::new(store), &read) {
        Ok(()) | Err(Stop::Store(_)) => Ok(call.events),
        Err(Stop::Suspended(suspended)) => Err(suspended),
    }
}

/// What is told of a call.
#[derive(Debug, Clone, Copy)]
enum Told<'a> {
    Judged(&'a Verdict, Timing),
    Dropped,
    /// It is still under way.
    Overdue,
}

struct Call<'a> {
    config: &'a Config,
    settings: &'a Settings,
    told: Told<'a>,
    context: &'a Context,
    events: Vec<Event>,
}

/// One breaker of one domain.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    domain: &'a Domain<'a>,
    side: Side,
}

impl Call<'_> {
    fn run(&mut self, session: &mut Session<'_>, read: &Read<'_>) -> Result<(), Stop> {
        let is_out_of_reach = match self.tell_fleet(session, read) {
            Ok(()) => false,
            Err(Stop::Store(why)) => {
                let local = self.settings.breaker.store_failure == StoreFailure::Local;
                let detail = match local {
                    true => "the outcome was counted by this instance alone",
                    false => "the outcome was not counted",
                };
                if let Some((domain, _)) = read.domains.first() {
                    self.event(domain, EventKind::Store(why), detail.into());
                }
                local
            }
            Err(suspended) => return Err(suspended),
        };
        self.tell_own(session, read, is_out_of_reach)
    }

    fn tell_fleet(&mut self, session: &mut Session<'_>, read: &Read<'_>) -> Result<(), Stop> {
        // Probes first: whatever goes wrong with the counters, a lease is not left to its expiry.
        for (domain, stamps) in &read.domains {
            match &stamps.fleet {
                Some(Stamp::Lease(token)) => {
                    let share = self.share(domain, read);
                    self.settle_probe(session, Place::fleet(domain), token, share)?;
                }
                Some(Stamp::Unshared) if self.share(domain, read).is_some() => {
                    self.ignored(
                        domain,
                        IgnoredReason::Unshared,
                        "admitted while the store was out of reach",
                    );
                }
                _ => {}
            }
        }
        let mut counted = Vec::new();
        for (domain, stamps) in &read.domains {
            if let (Some(Stamp::Epoch(epoch)), Some(share)) =
                (&stamps.fleet, self.share(domain, read))
            {
                counted.push(Counted::new(Place::fleet(domain), *epoch, share));
            }
        }
        self.count(session, &counted, self.learning(read))?;
        self.hold(session, read, Side::Fleet)
    }

    /// `adopt`: what the fleet was not told of, this instance keeps in mind.
    fn tell_own(
        &mut self,
        session: &mut Session<'_>,
        read: &Read<'_>,
        adopt: bool,
    ) -> Result<(), Stop> {
        if !adopt && read.domains.iter().all(|(_, stamps)| stamps.own.is_none()) {
            return Ok(());
        }
        let mut counted = Vec::new();
        for (domain, Stamps { fleet, own }) in &read.domains {
            let share = self.share(domain, read);
            let place = Place::own(domain);
            match (own, fleet, share) {
                (Some(Stamp::Lease(token)), _, _) => {
                    self.settle_probe(session, place, token, share)?;
                }
                (Some(Stamp::Epoch(epoch)), _, Some(share)) => {
                    counted.push(Counted::new(place, *epoch, share));
                }
                (None, Some(Stamp::Epoch(_) | Stamp::Lease(_)), Some(share)) if adopt => {
                    let key = self.record_key(place);
                    let epoch = self.look(session, &key)?.epoch();
                    counted.push(Counted::new(place, epoch, share));
                }
                _ => {}
            }
        }
        self.count(session, &counted, None)?;
        let is_own_alone = |(_, stamps): &(Domain<'_>, Stamps)| stamps.fleet.is_none();
        if adopt || read.domains.iter().any(is_own_alone) {
            self.hold(session, read, Side::Own)?;
        }
        Ok(())
    }

    /// What the outcome is to this domain; `None`: nothing.
    ///
    /// A failure is laid to the domain that the verdict blames, or to the provider where the
    /// target does not tell that part apart. The others did their part where a narrower domain
    /// is to blame, and have shown nothing where the provider is.
    fn share(&self, domain: &Domain<'_>, read: &Read<'_>) -> Option<Share> {
        let (verdict, timing) = match self.told {
            Told::Judged(verdict, timing) => (verdict, timing),
            Told::Dropped => return None,
            Told::Overdue => {
                return Some(Share {
                    failed: None,
                    slow: true,
                });
            }
        };
        // One that was told of while it was under way has been counted as slow.
        let slow = !timing.overdue && self.is_slow(verdict, timing, read);
        let share = |failed| {
            Some(Share {
                failed: Some(failed),
                slow,
            })
        };
        match verdict.effect {
            Effect::Neutral => None,
            Effect::Success | Effect::SlowSuccess => share(false),
            Effect::Failure => {
                let blamed = match verdict.blame {
                    Blame::Account => Scope::Account,
                    Blame::Operation => Scope::Operation,
                    Blame::Provider | Blame::Caller | Blame::Nobody => Scope::Provider,
                };
                let told_apart = read.domains.iter().any(|(d, _)| d.scope == blamed);
                let culprit = if told_apart { blamed } else { Scope::Provider };
                if domain.scope == culprit {
                    share(true)
                } else if culprit == Scope::Provider {
                    None
                } else {
                    share(false)
                }
            }
        }
    }

    /// Whether it took longer than the limit that it was admitted under.
    fn is_slow(&self, verdict: &Verdict, timing: Timing, read: &Read<'_>) -> bool {
        let limit = read.slow_ms.unwrap_or(self.settings.slow.limit_ms);
        match timing.latency_ms {
            Some(latency) => timing.overdue || latency >= limit,
            None => timing.overdue || verdict.slow,
        }
    }

    fn record_key(&self, place: Place<'_>) -> String {
        place
            .side
            .record_key(place.domain, self.config, &self.context.instance)
    }

    /// Reads a record.
    fn look(&self, session: &mut Session<'_>, key: &str) -> Result<Seen, Stop> {
        let bytes = session.get(&[key.to_owned()])?.into_iter().next().flatten();
        Ok(Seen::read(bytes, self.settings, self.context.now_ms))
    }

    /// Puts `after` in the place of what was seen; `false` where that has changed meanwhile.
    fn put(
        &self,
        session: &mut Session<'_>,
        key: &str,
        seen: &Seen,
        after: Record,
    ) -> Result<bool, Stop> {
        let (after, ttl) = after.written(self.settings, self.context.now_ms);
        session.swap(key, seen.bytes.as_deref(), &after.to_bytes(), ttl)
    }

    fn opened(&self, before: &Record, rule: &str) -> Record {
        let hint = match self.told {
            Told::Judged(verdict, _) => verdict.retry_after_ms,
            _ => None,
        };
        before.opened(
            rule,
            hint,
            self.settings,
            self.context.now_ms,
            self.context.entropy,
        )
    }

    fn transition(
        &mut self,
        place: Place<'_>,
        before: Phase,
        after: &Record,
        rule: &str,
        detail: &str,
    ) {
        let transition = Transition {
            before,
            after: after.phase,
            rule: rule.into(),
            until_ms: after.until,
            openings: after.openings,
        };
        let detail = [detail, place.side.aside()].concat();
        self.event(place.domain, place.side.transition(transition), detail);
    }

    fn ignored(&mut self, domain: &Domain<'_>, reason: IgnoredReason, detail: &str) {
        self.event(domain, EventKind::Ignored(reason), detail.into());
    }

    fn gave_up(&mut self, domain: &Domain<'_>) {
        let why = "the record changed each time it was about to be written".to_owned();
        self.event(
            domain,
            EventKind::Store(why),
            "the outcome changed nothing".into(),
        );
    }

    fn event(&mut self, domain: &Domain<'_>, kind: EventKind, detail: String) {
        self.events
            .push(event_of(domain, self.context, kind, detail));
    }
}

impl<'a> Place<'a> {
    fn fleet(domain: &'a Domain<'a>) -> Self {
        Self {
            domain,
            side: Side::Fleet,
        }
    }

    fn own(domain: &'a Domain<'a>) -> Self {
        Self {
            domain,
            side: Side::Own,
        }
    }
}
