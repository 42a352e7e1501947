//! The one place where the core is called.
//!
//! A call is played against the answers that its store has given so far and stops at the first
//! operation that has none, as `wit/package.wit` says under "Suspension": so each operation is a
//! step of its own, between which anything may happen. The core depends on nothing but its arguments
//! and the answers, so what was played once is remembered.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

use fusewire_core::{Context, Decision, OverrideError, Permit, Policy, Target, Timing};

use crate::call::{Call, Done, Next, Request, Told, ending, word};
use crate::learn::LONG_OPEN;
use crate::quick::Quick;
use crate::replay::Replay;
use crate::store::Answer;
use crate::text::{Forms, instance_name, to_core};

/// The core with a configuration, and what is known of it by now.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) policy: Policy,
    pub(crate) target: Target,
    pub(crate) domains: usize,
    pub(crate) forms: Forms,
    pub(crate) random_bits: Vec<u64>,
    pub(crate) lanes: Vec<String>,
    /// The lane in which each instance says that it has seen a failure, where that is counted.
    pub(crate) witnesses: Vec<u8>,
    pub(crate) played: HashMap<Call, Rc<Next>, BuildHasherDefault<Quick>>,
}

impl Core {
    /// # Panics
    /// Where the configuration is not valid.
    pub(crate) fn new(config: &str, domains: usize, instances: usize) -> Self {
        let mut policy = Policy::default();
        let problems = policy.configure(config);
        assert!(problems.is_empty(), "{problems:?}");
        let operation = (domains > 1).then(|| "o".to_owned());
        let mut core = Self {
            policy,
            target: Target {
                operation,
                ..Target::provider("p")
            },
            domains,
            forms: Forms::default(),
            random_bits: Vec::new(),
            lanes: Vec::new(),
            witnesses: Vec::new(),
            played: HashMap::default(),
        };
        core.draw();
        core.learn_tokens();
        core.learn_witnesses(instances);
        core
    }

    pub(crate) fn context(&self, now_ms: u64, entropy: u64, instance: u8) -> Context {
        Context {
            instance: instance_name(instance.into()),
            ..Context::at(now_ms, entropy)
        }
    }

    /// How often the core itself was called.
    pub(crate) fn plays(&self) -> usize {
        self.played.len()
    }

    pub(crate) fn lane(&self, lane: u8) -> &str {
        &self.lanes[usize::from(lane)]
    }

    /// The domain's name.
    pub(crate) fn domain(&self, domain: usize) -> String {
        self.target.domains().expect("a valid target")[domain].name()
    }

    /// What the call wants next.
    pub(crate) fn next(&mut self, call: &Call) -> Rc<Next> {
        if let Some(next) = self.played.get(call) {
            return Rc::clone(next);
        }
        let next = self
            .play(call)
            .unwrap_or_else(|why| panic!("{why}: {call:?}"));
        let next = Rc::new(next);
        self.played.insert(call.clone(), Rc::clone(&next));
        next
    }

    /// Forgets what a call saw before it lost a race, once it has read again: from then on the core
    /// goes by what it has read last and by the number of races. The call is given the plainest
    /// record instead with which it loses the same race, and that the core goes on in the same way
    /// is checked each time.
    pub(crate) fn forget_lost_race(&mut self, call: &mut Call) {
        let [
            ..,
            Answer::Got(before),
            Answer::Swapped(false),
            Answer::Got(_),
        ] = &call.answers[..]
        else {
            return;
        };
        let (keys, at) = (before.len(), call.answers.len() - 3);
        let next = self.next(call);
        let open = self.forms.record(LONG_OPEN);
        for choice in 0..1_u32 << keys {
            let mut plain = call.clone();
            if let Answer::Got(texts) = &mut plain.answers[at] {
                for (key, (_, text)) in texts.iter_mut().enumerate() {
                    *text = Some(open).filter(|_| choice >> key & 1 == 1);
                }
            }
            let is_alike = match self.played.get(&plain) {
                Some(known) => *known == next,
                None => self.play(&plain).is_ok_and(|n| n == *next),
            };
            if is_alike {
                *call = plain;
                return;
            }
        }
    }

    fn play(&mut self, call: &Call) -> Result<Next, &'static str> {
        let entropy = match call.request {
            Request::Admit(number) => self.random_bits[usize::from(number)],
            _ => 0,
        };
        let context = self.context(to_core(call.now), entropy, call.instance);
        let mut store = Replay {
            forms: &mut self.forms,
            lanes: &mut self.lanes,
            answers: call.answers.iter(),
            asked: None,
            is_another: false,
        };
        let done = match &call.request {
            Request::Admit(_) => {
                let admission = self.policy.admit(&mut store, &self.target, &context);
                admission.ok().map(|a| (admitted(a.decision), a.events))
            }
            Request::Settle(permit, end) => {
                let permit = Permit {
                    target: self.target.clone(),
                    probe: false,
                    token: store.forms.fill(permit),
                };
                let events = self.policy.settle(
                    &mut store,
                    &permit,
                    &ending(*end),
                    &Timing::default(),
                    &context,
                );
                events.ok().map(|events| (None, events))
            }
            Request::Order(order) => {
                let domain = self.target.domains().expect("a valid target")[0].name();
                let order = order.map(|o| o.to_core(context.now_ms));
                match self
                    .policy
                    .order(&mut store, &domain, order.as_ref(), &context)
                {
                    Ok(events) => Some((None, events)),
                    Err(OverrideError::Suspended(_)) => None,
                    Err(OverrideError::Invalid(why)) => panic!("an order of ours: {why}"),
                    Err(_) => Some((None, vec![])),
                }
            }
        };
        let asked = store.asked.take();
        if store.is_another || store.answers.next().is_some() {
            return Err("with the same answers it asks for something else than before");
        }
        match (done, asked) {
            (None, Some(op)) => Ok(Next::Ask(op)),
            (Some((decision, events)), None) => Ok(Next::Done(Done {
                outcome: match decision {
                    Some(Ok(permit)) => Told::Allowed {
                        probe: permit.probe,
                        permit: self.forms.permit(&permit.token),
                    },
                    Some(Err(())) => Told::Refused,
                    None => Told::Nothing,
                },
                events: events.iter().map(|e| word(&e.kind)).collect(),
            })),
            _ => Err("it must return when it is suspended, and not before"),
        }
    }
}

fn admitted(decision: Decision) -> Option<Result<Permit, ()>> {
    Some(match decision {
        Decision::Allowed(permit) => Ok(permit),
        Decision::Refused(_) => Err(()),
    })
}
