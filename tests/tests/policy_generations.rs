//! Whatever is put in place meanwhile: a call is decided by one policy, and none fails for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fusewire::engine::{Answer, Call, Compiled, Engine, Fault, Limits, NativeEngine, Tape};
use fusewire::guard::chain::{Attempt, Candidate};
use fusewire::guard::generation::{Canary, Lineup};
use fusewire::guard::{CallFacts, Guard};
use fusewire::policy::shadow::{Role, Shadow};
use fusewire::store::{MemoryStore, Store};
use fusewire_core::{
    Decision, Description, Ending, Observation, Response, Suspended, Target, Verdict,
};
use fusewire_tests::fleet::until;
use fusewire_tests::memory::resident_kib;
use fusewire_tests::spy::Spy;

/// A policy that writes its number on everything it hands out, and notices what another has written
/// on.
struct Stamped {
    number: u64,
    inner: Arc<NativeEngine>,
    foreign: Arc<AtomicU64>,
}

impl Stamped {
    fn check(&self, text: &str) -> String {
        match text.rsplit_once('#') {
            Some((rest, number)) if number == self.number.to_string() => rest.to_owned(),
            _ => {
                self.foreign.fetch_add(1, Ordering::Relaxed);
                text.to_owned()
            }
        }
    }

    fn checked(&self, verdict: &Verdict) -> Verdict {
        Verdict {
            rule: self.check(&verdict.rule),
            ..verdict.clone()
        }
    }
}

impl Engine for Stamped {
    fn describe(&self) -> &Description {
        self.inner.describe()
    }

    fn classify(&self, target: &Target, observation: &Observation) -> Result<Verdict, Fault> {
        let mut verdict = self.inner.classify(target, observation)?;
        verdict.rule = format!("{}#{}", verdict.rule, self.number);
        Ok(verdict)
    }

    fn run(&self, call: &Call, tape: &mut Tape) -> Result<Result<Answer, Suspended>, Fault> {
        let call = match call.clone() {
            Call::Settle(mut permit, ending, timing, context) => {
                permit.token = self.check(&permit.token);
                let ending = match ending {
                    Ending::Judged(verdict) => Ending::Judged(self.checked(&verdict)),
                    Ending::Dropped => Ending::Dropped,
                };
                Call::Settle(permit, ending, timing, context)
            }
            Call::Overdue(mut permit, context) => {
                permit.token = self.check(&permit.token);
                Call::Overdue(permit, context)
            }
            Call::Next(progress, verdict, context) => {
                Call::Next(progress, self.checked(&verdict), context)
            }
            other => other,
        };
        let mut answer = self.inner.run(&call, tape)?;
        if let Ok(Answer::Admission(admission)) = &mut answer
            && let Decision::Allowed(permit) = &mut admission.decision
        {
            permit.token = format!("{}#{}", permit.token, self.number);
        }
        Ok(answer)
    }
}

/// Fails once and then succeeds, so that a call goes through the planner and is tried again; twice at
/// the first provider, and then at the second.
async fn logical_call(guard: &Guard, n: u64) -> bool {
    let candidate = |name: &str| Candidate {
        target: Target::provider(format!("{name}{}", n % 40)),
        limit: Duration::from_secs(1),
    };
    let chain = [candidate("a"), candidate("b")];
    let called = guard
        .call(&chain, &CallFacts::default(), async |attempt| {
            tokio::task::yield_now().await;
            let status = if attempt.candidate == 0 { 503 } else { 200 };
            Attempt {
                observation: Observation {
                    idempotent: true,
                    ..Observation::response(Response::status(status), 1)
                },
                value: (status == 200).then_some(()),
                still_coming: false,
            }
        })
        .await;
    called.given.is_some()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_call_is_decided_by_two_policies_and_none_fails_while_they_are_replaced_each_millisecond()
 {
    const CONFIGURATION: &str = r#"{
        "breaker": {"failures": false, "failure-ratio": false},
        "retry": {"attempts": 2, "base": "1ms", "max": "2ms"}
    }"#;
    const REPLACEMENTS: u64 = 1_500;
    let inner = Arc::new(NativeEngine::new(CONFIGURATION).expect("a configuration"));
    let foreign = Arc::new(AtomicU64::new(0));
    let stamped = |number| {
        Arc::new(Stamped {
            number,
            inner: Arc::clone(&inner),
            foreign: Arc::clone(&foreign),
        }) as Arc<dyn Engine>
    };
    let guard = Guard::builder(stamped(0), Arc::new(MemoryStore::new())).build();
    let over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..32)
        .map(|caller| {
            let (guard, over) = (guard.clone(), Arc::clone(&over));
            tokio::spawn(async move {
                let (mut calls, mut failed) = (0_u64, 0_u64);
                while !over.load(Ordering::Relaxed) {
                    failed += u64::from(!logical_call(&guard, caller + calls * 32).await);
                    calls += 1;
                }
                (calls, failed)
            })
        })
        .collect();
    let generations = guard.generations();
    for number in 1..=REPLACEMENTS {
        let next = generations.make(stamped(number));
        // As in a rollout: it decides for some first.
        generations.set(Lineup {
            active: generations.active(),
            canary: Some(Canary {
                generation: Arc::clone(&next),
                share: 0.3,
            }),
            watchers: Vec::new(),
        });
        tokio::time::sleep(Duration::from_micros(500)).await;
        generations.set(Lineup {
            active: next,
            canary: None,
            watchers: Vec::new(),
        });
        tokio::time::sleep(Duration::from_micros(500)).await;
    }
    over.store(true, Ordering::Relaxed);
    let (mut calls, mut failed) = (0, 0);
    for caller in callers {
        let (made, in_vain) = caller.await.expect("the task ends");
        calls += made;
        failed += in_vain;
    }
    guard.settled().await;
    assert!(calls > REPLACEMENTS, "{calls} calls");
    assert_eq!(failed, 0, "of {calls} calls");
    assert_eq!(foreign.load(Ordering::Relaxed), 0, "of {calls} calls");
}

#[tokio::test]
async fn what_is_gathered_is_what_those_look_at_who_judge_it() {
    let target = Target::provider("p");
    let [serving, candidate] = [(10, "a"), (20, "b")].map(|(bytes, field)| {
        let spy = Spy::looking_at(bytes, &[field]);
        spy as Arc<dyn Engine>
    });
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let guard = Guard::builder(serving, Arc::clone(&store)).build();
    let wanted = |guard: &Guard| {
        let wanted = guard.wanted(&target);
        (
            wanted.body_bytes,
            wanted.headers.clone().unwrap_or_default(),
        )
    };
    let fields = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let (its_own, candidates) = ((10, fields(&["a"])), (20, fields(&["b"])));
    assert_eq!(wanted(&guard), its_own);

    let (generations, active) = (guard.generations(), guard.generations().active());
    let role = Role::Successor { share: 1.0 };
    let shadow = Shadow::begin(&active, Arc::clone(&candidate), store, "fusewire", role);
    generations.set(Lineup {
        active: Arc::clone(&active),
        canary: None,
        watchers: vec![shadow.expect("a thread")],
    });
    until("the candidate has said what it looks at", async || {
        wanted(&guard) == (20, fields(&["a", "b"]))
    })
    .await;

    let begun = guard.pinned("p");
    generations.set(Lineup {
        active,
        canary: Some(Canary {
            generation: generations.make(candidate),
            share: 1.0,
        }),
        watchers: Vec::new(),
    });
    assert_eq!(wanted(&guard), candidates, "it decides for this provider");
    assert_eq!(wanted(&begun), its_own, "a call ends with its own policy");
}

#[test]
fn a_policy_that_is_replaced_gives_its_memory_back() {
    // Compiled once: what is loaded and dropped below is the machine code of a policy, mapped anew.
    let compiled = Compiled::new(fusewire::engine::BUILT_IN).expect("it compiles");
    let code = compiled.code().expect("its code");
    let serve_one = || {
        // SAFETY: these are the bytes that `code` gave above.
        let compiled = unsafe { Compiled::from_code(&code) }.expect("it loads");
        let engine = compiled
            .start(Limits::default())
            .and_then(|s| s.configured("{}"));
        let engine = engine.expect("it starts");
        let seen = Observation::response(Response::status(200), 1);
        let verdict = engine.classify(&Target::provider("p"), &seen);
        assert!(verdict.is_ok());
        engine.replaced();
    };
    let many = |n| (0..n).for_each(|_| serve_one());
    many(200);
    let before = resident_kib();
    many(1_000);
    let after = resident_kib();
    // Each has some hundred KiB of code alone: a hundredth of what a thousand would leave.
    assert!(
        after < before + 4_096,
        "{before} KiB before, {after} KiB after"
    );
}
