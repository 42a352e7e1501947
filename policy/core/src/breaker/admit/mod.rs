//! May this call be made now.
//!
//! | module | subject |
//! |---|---|
//! | `word` | what one breaker says to a call, before any lease is taken |
//! | `lease` | taking the probe lease of each breaker that has one to give |
//! | `fallback` | what is done while the store is out of reach |

mod fallback;
mod lease;
mod word;

use self::word::{Enforced, Word};
use super::permit::{self, Stamp, Stamps};
use super::types::{Admission, Context, Decision, Event, Limits, Permit, Refusal, RefusalReason};
use super::{Side, slow};
use crate::config::{Config, Settings};
use crate::record::Seen;
use crate::store::{KeyValue, Session, Stop, Suspended};
use crate::target::{Domain, Target};

/// How long an admission under a closed breaker holds where its keys do not change, in ms. It is
/// the change that ends it; this only bounds what a lost message can do.
const CLOSED_HOLDS_MS: u64 = 60_000;

/// When it is worth asking again after the store was out of reach, or the ramp let others through,
/// in ms.
const SOON_MS: u64 = 1_000;

/// How many openings in a row are probed with less time than other calls have. A provider that is
/// healthy and slow would never get through such a probe, so later ones have all of it.
const HURRIED_OPENINGS: u32 = 2;

/// One breaker that has a word in it.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// Which of the target's domains.
    at: usize,
    domain: &'a Domain<'a>,
    side: Side,
}

/// A breaker whose lease is to be had, the key of its record, and what was found there.
type ToLease<'a> = (&'a Place<'a>, &'a String, &'a Seen);

/// What was decided, and what goes with it.
struct Decided {
    decision: Decision,
    holds_until_ms: u64,
    limits: Limits,
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
                limits: Limits::default(),
                events: vec![],
            });
        }
    };
    let call = Call {
        config,
        settings: config.settings(&target.provider),
        target,
        domains: &domains,
        context,
    };
    let mut events = Vec::new();
    let session = &mut Session::new(store);
    let decided = match call.ask(session, call.places(false), &mut events) {
        Err(Stop::Store(why)) => call.without_store(session, why, &mut events),
        answer => answer,
    };
    match decided {
        Ok(decided) => Ok(Admission {
            decision: decided.decision,
            holds_until_ms: decided.holds_until_ms,
            limits: decided.limits,
            events,
        }),
        Err(Stop::Suspended(suspended)) => Err(suspended),
        // Not even what is its own: then there is nothing to go by.
        Err(Stop::Store(_)) => Ok(Admission {
            decision: call.unshared(),
            holds_until_ms: context.now_ms,
            limits: Limits::default(),
            events,
        }),
    }
}

struct Call<'a> {
    config: &'a Config,
    settings: &'a Settings,
    target: &'a Target,
    domains: &'a [Domain<'a>],
    context: &'a Context,
}

impl<'a> Call<'a> {
    /// The breakers that have a word in it: the fleet's, and where it takes a quorum this instance's
    /// own; or its own alone.
    fn places(&self, own_alone: bool) -> Vec<Place<'a>> {
        let own = own_alone || self.settings.breaker.quorum.is_needed();
        let mut places = Vec::new();
        for (side, asked) in [(Side::Fleet, !own_alone), (Side::Own, own)] {
            let domains = self.domains.iter().enumerate().filter(|_| asked);
            places.extend(domains.map(|(at, domain)| Place { at, domain, side }));
        }
        places
    }

    /// What is decided. What happened on the way to it goes to `events`, whatever the decision is: a
    /// lease that was taken and given back has happened too.
    fn ask(
        &self,
        session: &mut Session<'_>,
        places: Vec<Place<'_>>,
        events: &mut Vec<Event>,
    ) -> Result<Decided, Stop> {
        let instance = &self.context.instance;
        let keys: Vec<String> = places
            .iter()
            .map(|place| place.side.record_key(place.domain, self.config, instance))
            .collect();
        let now = self.context.now_ms;
        let mut made_anyway = false;
        for _ in 0..super::ROUNDS {
            made_anyway = true;
            let seen: Vec<Seen> = session
                .get(&keys)?
                .into_iter()
                .map(|bytes| Seen::read(bytes, self.settings, now))
                .collect();
            let mut stamps = vec![Stamps::default(); self.domains.len()];
            let mut to_lease = Vec::new();
            let mut refused: Option<(Refusal, u64)> = None;
            let mut holds_until_ms = now.saturating_add(CLOSED_HOLDS_MS);
            for (index, (place, found)) in places.iter().zip(&seen).enumerate() {
                // An operator's order is the fleet's, and stands above an instance's own finding.
                let order = seen.get(place.at).and_then(|fleet| fleet.order(now));
                match self.word(place, found, order) {
                    Word::Pass { stamp, holds_until } => {
                        holds_until_ms = holds_until_ms.min(holds_until);
                        put(&mut stamps, place, stamp);
                    }
                    Word::Probe { observed } => {
                        // Stands until the lease is taken.
                        put(&mut stamps, place, Stamp::Uncounted);
                        to_lease.push(index);
                        made_anyway &= observed;
                    }
                    Word::Refuse {
                        refusal,
                        holds_until,
                        otherwise,
                    } => match self.is_enforced(order) {
                        Enforced::Never => {
                            holds_until_ms = holds_until_ms.min(holds_until);
                            put(&mut stamps, place, otherwise);
                        }
                        // Another call draws another lot.
                        Enforced::NotThisOne => {
                            holds_until_ms = now;
                            put(&mut stamps, place, otherwise);
                        }
                        enforced => {
                            let until = match enforced {
                                Enforced::ThisOne => now,
                                _ => holds_until,
                            };
                            let longest = refused
                                .as_ref()
                                .is_none_or(|(r, _)| refusal.retry_after_ms > r.retry_after_ms);
                            if longest {
                                refused = Some((refusal, until));
                            }
                        }
                    },
                }
            }
            if let Some((refusal, holds_until_ms)) = refused {
                return Ok(Decided {
                    decision: Decision::Refused(refusal),
                    holds_until_ms,
                    limits: Limits::default(),
                });
            }
            let pace = seen.get(slow::learning_domain(self.domains));
            let slow_ms = pace.and_then(|seen| slow::learnt_limit(self.settings, seen, now));
            if to_lease.is_empty() {
                return Ok(self.allowed(&stamps, slow_ms, None, holds_until_ms));
            }
            let to_lease: Vec<ToLease<'_>> = to_lease
                .iter()
                .filter_map(|index| {
                    Some((places.get(*index)?, keys.get(*index)?, seen.get(*index)?))
                })
                .collect();
            if self.take_leases(session, &to_lease, &mut stamps, events)? {
                let openings = to_lease
                    .iter()
                    .filter_map(|(.., seen)| Some(seen.replaceable()?.openings))
                    .max();
                return Ok(self.allowed(&stamps, slow_ms, openings, now));
            }
        }
        // Others took every lease that was free: they are probing.
        if made_anyway {
            let stamps = vec![Stamps::fleet(Stamp::Uncounted); self.domains.len()];
            Ok(self.allowed(&stamps, None, None, now))
        } else {
            Ok(Decided {
                decision: self.contended(),
                holds_until_ms: now,
                limits: Limits::default(),
            })
        }
    }

    /// `openings`: of the breaker that is probed.
    fn allowed(
        &self,
        stamps: &[Stamps],
        slow_ms: Option<u64>,
        openings: Option<u32>,
        holds_until_ms: u64,
    ) -> Decided {
        let hurried = openings.is_some_and(|openings| openings <= HURRIED_OPENINGS);
        let share = self.settings.breaker.probes.time_share;
        let total_ms = self
            .context
            .call_limit_ms
            .filter(|_| hurried && share < 1.0)
            .map(|limit| ((limit as f64 * share) as u64).max(1));
        Decided {
            decision: Decision::Allowed(Permit {
                target: self.target.clone(),
                probe: openings.is_some(),
                token: permit::write(stamps, slow_ms),
            }),
            holds_until_ms,
            limits: Limits {
                total_ms,
                overdue_ms: slow::overdue_ms(self.settings, slow_ms),
            },
        }
    }

    fn contended(&self) -> Decision {
        Decision::Refused(Refusal {
            domain: self.domains.first().map(Domain::name).unwrap_or_default(),
            reason: RefusalReason::ProbeInFlight,
            retry_after_ms: self.settings.breaker.probes.lease_ms.max(1),
            detail: "other calls are testing the recovery".into(),
        })
    }

    fn unshared(&self) -> Decision {
        let stamps = vec![Stamps::fleet(Stamp::Unshared); self.domains.len()];
        Decision::Allowed(Permit {
            target: self.target.clone(),
            probe: false,
            token: permit::write(&stamps, None),
        })
    }
}

fn put(stamps: &mut [Stamps], place: &Place<'_>, stamp: Stamp) {
    if let Some(stamps) = stamps.get_mut(place.at) {
        match place.side {
            Side::Fleet => stamps.fleet = Some(stamp),
            Side::Own => stamps.own = Some(stamp),
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
