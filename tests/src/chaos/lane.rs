//! One caller: asks, calls, tells, and writes each of it down first.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fusewire::engine::Engine;
use fusewire::guard::{Admitted, CallFacts, Guard, Notice};
use fusewire_core::{Effect as Judged, Observation, Refusal, Response, Target};
use tokio::task::yield_now;
use tokio::time::sleep;

use super::caller::Caller;
use super::journal::{Effect, What};
use super::noted::{Noted, Notes};
use super::orders::{CALL_LIMIT, DAWDLE_MAX, STORE_LIMIT};
use super::random::Random;

/// The pause between two calls, in ms.
const PAUSE_MS: std::ops::Range<u64> = 40..120;
/// How many callers in a hundred go away before they are told whether they may call.
const GIVE_UP: u64 = 3;
/// How many callers in a hundred go away during their call.
const DROP: u64 = 4;
/// How many of a hundred that are refused come back at the very moment that they are told.
const PUNCTUAL: u64 = 50;

/// A caller. It makes one call at a time, and waits until everything about it has been told, so
/// that whatever happens meanwhile belongs to this call.
pub struct Lane {
    guard: Guard,
    notes: Arc<Notes>,
    target: Target,
    caller: Caller,
    instance: String,
    random: Random,
    /// Whether it keeps what it has seen to itself for a while.
    dawdles: bool,
}

impl Lane {
    /// A caller of one provider.
    #[must_use]
    pub fn new(
        engine: &Arc<dyn Engine>,
        notes: &Arc<Notes>,
        provider: SocketAddr,
        instance: &str,
        random: Random,
        dawdles: bool,
    ) -> Self {
        let observed = Arc::clone(notes);
        let observer = move |notice: &Notice<'_>| {
            let call = observed.call();
            match notice {
                Notice::Event(event) => observed.write(What::Event {
                    call,
                    event: (*event).clone(),
                }),
                Notice::Fault { fault, .. } => observed.write(What::Fault {
                    call,
                    kind: fault.kind().to_owned(),
                }),
                _ => {}
            }
        };
        let guard = Guard::builder(Arc::clone(engine), Arc::new(Noted::new(notes)))
            .instance(instance)
            .patience(STORE_LIMIT)
            .observer(Arc::new(observer))
            .build();
        Self {
            guard,
            notes: Arc::clone(notes),
            target: Target::provider(notes.domain()),
            caller: Caller::new(provider),
            instance: instance.to_owned(),
            random,
            dawdles,
        }
    }

    /// Calls until it is told to stop.
    pub async fn run(mut self, stop: Arc<AtomicBool>) {
        while !stop.load(Ordering::Relaxed) {
            let pause = self.call().await;
            sleep(pause).await;
        }
    }

    /// Makes one call, or is refused. How long to wait before the next.
    async fn call(&mut self) -> Duration {
        let call = self.notes.begin();
        let domain = self.notes.domain();
        let facts = CallFacts::default();
        let asking = self.guard.admit(&self.target, &facts);
        let answer = if self.random.percent(GIVE_UP) {
            let turns = self.random.within(1..20);
            let patience = async {
                for _ in 0..turns {
                    yield_now().await;
                }
            };
            tokio::select! {
                biased;
                answer = asking => answer,
                () = patience => {
                    self.notes.write(What::GivenUp { call, domain });
                    self.told(call).await;
                    return self.pause();
                }
            }
        } else {
            asking.await
        };
        let saw = self.notes.saw();
        match answer {
            Ok(admitted) => {
                self.notes.write(What::Admitted {
                    call,
                    domain,
                    probe: admitted.is_probe(),
                    saw,
                });
                self.attempt(call, admitted).await;
                self.pause()
            }
            Err(refusal) => {
                self.notes.write(What::Refused {
                    call,
                    domain,
                    reason: refusal.reason,
                    saw,
                });
                self.come_back(&refusal)
            }
        }
    }

    async fn attempt(&mut self, call: u64, admitted: Admitted) {
        let domain = self.notes.domain();
        let kind = if admitted.is_probe() { "probe" } else { "call" };
        let path = format!("/{}/{call}/{kind}", self.instance);
        if self.random.percent(DROP) {
            let limit = Duration::from_millis(self.random.within(0..20));
            // Whatever it was, nobody waits for it any more.
            let _ = self.caller.get(&path, limit).await;
            self.notes.write(What::Outcome {
                call,
                domain,
                effect: Effect::Dropped,
                seen: "nothing".to_owned(),
            });
            drop(admitted);
            self.told(call).await;
            return;
        }
        let answer = self.caller.get(&path, CALL_LIMIT).await;
        if self.dawdles {
            let longest = u64::try_from(DAWDLE_MAX.as_millis()).unwrap_or(u64::MAX);
            sleep(Duration::from_millis(self.random.within(0..longest))).await;
        }
        let now_ms = self.guard.now_ms();
        let (seen, observation) = match answer {
            Ok(status) => {
                let observation = Observation::response(Response::status(status), now_ms);
                (status.to_string(), observation)
            }
            Err(failure) => {
                let observation = Observation::failure(failure, now_ms);
                (failure.name().to_owned(), observation)
            }
        };
        let verdict = admitted.classify(&self.target, &observation);
        let effect = match verdict.effect {
            Judged::Success | Judged::SlowSuccess => Effect::Success,
            Judged::Failure => Effect::Failure,
            Judged::Neutral => Effect::Neutral,
        };
        self.notes.write(What::Outcome {
            call,
            domain,
            effect,
            seen,
        });
        admitted.settle(verdict);
        self.told(call).await;
    }

    async fn told(&self, call: u64) {
        self.guard.settled().await;
        self.notes.write(What::Told { call });
    }

    fn pause(&mut self) -> Duration {
        Duration::from_millis(self.random.within(PAUSE_MS))
    }

    /// Those who come back when they are told to come all at once: that is when the lease is to be
    /// had.
    fn come_back(&mut self, refusal: &Refusal) -> Duration {
        let pause = self.pause();
        if self.random.percent(PUNCTUAL) {
            Duration::from_millis(refusal.retry_after_ms.clamp(1, 2_000))
        } else {
            pause
        }
    }
}
