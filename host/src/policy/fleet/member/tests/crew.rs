//! Hosts that do as the test says, in one fleet.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::*;
use crate::policy::fleet::access::get;
use crate::policy::fleet::{Canary, Operator, Order, Overview};
use crate::policy::rollout::{Candidate, Served, Turned};
use crate::policy::shadow::Comparison;
use crate::store::MemoryStore;

/// A host that does as the test says.
#[derive(Clone)]
pub(super) struct Puppet(Arc<Mutex<Inner>>);

pub(super) struct Inner {
    pub(super) status: Status,
    offers: Vec<(Digest, How)>,
    withdrawn: Vec<String>,
    leaving: Option<String>,
}

impl Puppet {
    pub(super) fn new() -> Self {
        let serving = Served {
            digest: Digest::of(b"built in"),
            configuration: Digest::of(b"{}"),
            name: "fusewire".into(),
            version: "0".into(),
            record_schema: 1,
            generation: 1,
            since_ms: 0,
            on_probation: false,
            origin: "built in".into(),
            evidence: Vec::new(),
        };
        let status = Status {
            serving,
            previous: None,
            candidate: None,
            refused: None,
            paused: false,
            activations: 1,
            refusals: 0,
            rollbacks: 0,
            lingering: 0,
        };
        Self(Arc::new(Mutex::new(Inner {
            status,
            offers: Vec::new(),
            withdrawn: Vec::new(),
            leaving: None,
        })))
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Inner)) {
        change(&mut self.0.lock().expect("nobody panicked"));
    }

    pub(super) fn withdrawn(&self) -> Vec<String> {
        self.0.lock().expect("nobody panicked").withdrawn.clone()
    }

    pub(super) fn offers(&self) -> Vec<(Digest, How)> {
        self.0.lock().expect("nobody panicked").offers.clone()
    }

    /// The candidate is at this stage.
    pub(super) fn is_at(&self, stage: Stage) {
        self.change(|inner| {
            let candidate = inner.status.candidate.as_mut().expect("one is under way");
            candidate.stage = stage;
        });
    }

    /// The candidate serves.
    pub(super) fn serves(&self) {
        self.change(|inner| {
            let candidate = inner.status.candidate.take().expect("one is under way");
            inner.status.previous = Some(inner.status.serving.clone());
            inner.status.serving.digest = candidate.digest;
            inner.status.serving.generation += 1;
        });
    }

    /// The candidate was stopped at its stage, or what serves was rolled back.
    pub(super) fn is_turned(&self, why: &str, at_ms: u64) {
        self.change(|inner| {
            let status = &mut inner.status;
            let (digest, stage, rolled_back) = match status.candidate.take() {
                Some(candidate) => (candidate.digest, candidate.stage, false),
                None => {
                    let before = status.previous.take().expect("one to go back to");
                    let served = std::mem::replace(&mut status.serving, before);
                    (served.digest, Stage::Active, true)
                }
            };
            status.refused = Some(Turned {
                digest,
                name: String::new(),
                version: String::new(),
                stage,
                why: why.into(),
                at_ms,
                evidence: Vec::new(),
                rolled_back,
                comparison: Comparison::default(),
            });
        });
    }
}

impl Host for Puppet {
    /// What was withdrawn is seen once more.
    fn status(&self) -> Status {
        let mut inner = self.0.lock().expect("nobody panicked");
        let (status, leaving) = (inner.status.clone(), inner.leaving.take());
        drop(inner);
        if let Some(why) = leaving {
            self.is_turned(&why, 77);
        }
        status
    }

    fn offer(&self, artefact: Artefact, how: How) {
        self.change(|inner| {
            inner.offers.push((artefact.digest(), how));
            inner.leaving = None;
            inner.status.candidate = Some(Candidate {
                digest: artefact.digest(),
                name: String::new(),
                version: String::new(),
                stage: Stage::Digest,
                since_ms: 0,
                origin: artefact.origin().into(),
                evidence: Vec::new(),
                comparison: Comparison::default(),
            });
        });
    }

    fn pause(&self, paused: bool) {
        self.change(|inner| inner.status.paused = paused);
    }

    fn withdraw(&self, why: &str) {
        self.change(|inner| {
            inner.withdrawn.push(why.to_owned());
            inner.leaving = Some(why.to_owned());
        });
    }
}

/// A fleet of puppets on one store, whose clock the test moves.
pub(super) struct Crew {
    pub(super) store: Arc<dyn Store>,
    hand: Arc<AtomicU64>,
    pub(super) operator: Operator,
    pub(super) hosts: Vec<Puppet>,
    pub(super) members: Vec<Member<Puppet>>,
}

impl Crew {
    pub(super) async fn of(hosts: usize) -> Self {
        let hand = Arc::new(AtomicU64::new(1_000_000));
        let clock = Arc::clone(&hand);
        let store = MemoryStore::with_clock(Arc::new(move || clock.load(Ordering::Relaxed)));
        let store: Arc<dyn Store> = Arc::new(store);
        let mut fleet = Self {
            operator: Operator::new(Arc::clone(&store), "fusewire"),
            store,
            hand,
            hosts: Vec::new(),
            members: Vec::new(),
        };
        for _ in 0..hosts {
            fleet.joins();
        }
        fleet.look().await;
        fleet
    }

    pub(super) fn joins(&mut self) {
        let host = Puppet::new();
        let instance = format!("host-{}", self.hosts.len() + 1);
        self.members.push(self.member(&host, &instance));
        self.hosts.push(host);
    }

    pub(super) fn member(&self, host: &Puppet, instance: &str) -> Member<Puppet> {
        let store = Arc::clone(&self.store);
        Member::new(
            host.clone(),
            store,
            "fusewire",
            instance.into(),
            Options::default(),
        )
    }

    /// Every host looks once, and then once more: what one has written the others have seen.
    pub(super) async fn look(&mut self) {
        for _ in 0..2 {
            for member in &mut self.members {
                member.look().await;
            }
        }
    }

    pub(super) async fn push(&self, bytes: &[u8], canary: Option<Canary>) -> Digest {
        let artefact = Artefact::new(bytes, None, "a test");
        let order = Order {
            by: "ann@desk".into(),
            note: None,
            canary,
        };
        let pushed = self.operator.push(&artefact, ("n", "2"), &order, |_| {});
        pushed.await.expect("memory").wanted.policy.digest
    }

    /// So much time goes by on the fleet's clock.
    pub(super) fn goes_by(&self, ms: u64) {
        self.hand.fetch_add(ms, Ordering::Relaxed);
    }

    /// Puts this under a key of the fleet's policies, in the place of whatever is there.
    pub(super) async fn put(&self, rest: &str, value: Option<&[u8]>) {
        let key = format!("fusewire-policies:{rest}");
        let before = get(&self.store, key.clone()).await.expect("memory");
        let value = value.map(<[u8]>::to_vec);
        let swap = self.store.swap(key, before, value, 0);
        assert!(swap.wait().await.expect("memory"));
    }

    pub(super) async fn stages(&self) -> Vec<String> {
        let overview = self.overview().await;
        let hosts = overview.hosts.iter();
        hosts.map(|host| overview.stage(host).to_owned()).collect()
    }

    pub(super) async fn overview(&self) -> Overview {
        self.operator.overview().await.expect("memory")
    }

    pub(super) async fn why(&self, at: usize) -> String {
        self.overview().await.hosts[at].why.clone()
    }
}
