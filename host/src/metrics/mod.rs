//! What is counted, in the Prometheus text format.
//!
//! A [`Metrics`] is an [`Observer`]: it counts what a guard tells it. What has a state rather
//! than a count (a domain's phase, the store's mode) is kept as that state and written as one
//! gauge for each value, 0 or 1, so that no gauge can be left at 1 for a state long gone.
//!
//! | name | labels |
//! |---|---|
//! | `fusewire_domain_phase` | domain, phase |
//! | `fusewire_transitions_total` | domain, before, after, rule |
//! | `fusewire_probes_total` | domain, outcome |
//! | `fusewire_refusals_total` | domain, reason |
//! | `fusewire_ignored_outcomes_total` | domain, reason |
//! | `fusewire_attempts_total` | provider, outcome, effect |
//! | `fusewire_timeouts_total` | provider, limit |
//! | `fusewire_without_store_total` | domain |
//! | `fusewire_policy_faults_total` | during |
//! | `fusewire_policy_info` | digest, name, version: 1 for the one that serves |
//! | `fusewire_policy_generation`, `fusewire_policy_on_probation`, `fusewire_policies_lingering` | |
//! | `fusewire_policy_candidate` | stage: 1 where a candidate is at it |
//! | `fusewire_policy_activations_total`, `fusewire_policy_refused_total`, `fusewire_policy_rollbacks_total` | |
//! | `fusewire_policy_compared_total`, `fusewire_policy_differences_total` | of the candidate in the shadow; from 0 for each |
//! | `fusewire_store_mode` | mode |
//! | `fusewire_store_errors_total`, `fusewire_store_spared_total`, `fusewire_store_mode_changes_total` | |
//! | `fusewire_answers_total` | route, provider (`none`: the gateway's 503) |
//! | `fusewire_exchanges_total` | outcome |
//! | `fusewire_fallbacks_total` | route, provider that was passed over, reason |

mod state;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use fusewire_core::{Event, EventKind, Phase, ProbeOutcome, RefusalReason, Target};
use futures_util::future::join_all;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use self::state::{Followed, PolicyState, StoreState};
use crate::guard::{Guard, Notice, Observer};
use crate::policy::Status;
use crate::store::{Store, WatchedStore};

/// The media type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Labels: a name and a value each.
type Labels<const N: usize> = [(&'static str, Cow<'static, str>); N];
type Counts<const N: usize> = Family<Labels<N>, Counter>;

/// What is counted.
pub struct Metrics {
    registry: Registry,
    phases: Arc<Phases>,
    rollout: Followed,
    transitions: Counts<4>,
    probes: Counts<2>,
    refusals: Counts<2>,
    ignored: Counts<2>,
    attempts: Counts<3>,
    timeouts: Counts<2>,
    without_store: Counts<1>,
    faults: Counts<1>,
    answers: Counts<2>,
    fallbacks: Counts<3>,
    exchanges: Counts<1>,
}

impl Metrics {
    /// Counts for calls to these targets, whose domains are there from the start: closed, until
    /// more is known. `watched` is the store again, where its errors are counted.
    #[must_use]
    pub fn new(
        targets: &[Target],
        store: Arc<dyn Store>,
        watched: Option<Arc<WatchedStore>>,
    ) -> Self {
        let mut registry = Registry::with_prefix("fusewire");
        let phases = Arc::new(Phases::default());
        registry.register_collector(Box::new(Arc::clone(&phases)));
        registry.register_collector(Box::new(StoreState { store, watched }));
        let rollout = Arc::default();
        registry.register_collector(Box::new(PolicyState(Arc::clone(&rollout))));
        let mut counts = Declare(&mut registry);
        let metrics = Self {
            phases,
            rollout,
            transitions: counts.family("transitions", "Changes of a breaker's phase that this host brought about, by the rule that asked for them."),
            probes: counts.family("probes", "Probes of half-open domains, by what became of them."),
            refusals: counts.family("refusals", "Calls that were refused without an attempt."),
            ignored: counts.family("ignored_outcomes", "Outcomes that changed nothing, since they came too late or belong to nobody."),
            attempts: counts.family("attempts", "Attempts at a provider, by what they mean."),
            timeouts: counts.family("timeouts", "Attempts that ran out of time, by the limit that fired."),
            without_store: counts.family("without_store", "Decisions that were made, or outcomes that were lost, because the store did not do its part."),
            faults: counts.family("policy_faults", "Failures of the policy itself, each of which let a call through."),
            answers: counts.family("answers", "Answers to callers, by the provider that gave them."),
            fallbacks: counts.family("fallbacks", "Providers of a chain that were passed over, by the reason."),
            exchanges: counts.family("exchanges", "Exchanges with runtimes that have no access to the store themselves, by how they ended."),
            registry,
        };
        for domain in targets.iter().flat_map(domains) {
            metrics.phases.set(&domain, Phase::Closed);
            for outcome in ProbeOutcome::ALL {
                let _ = metrics.probes.get_or_create(&probe(&domain, *outcome));
            }
            for reason in RefusalReason::ALL {
                let _ = metrics.refusals.get_or_create(&refusal(&domain, *reason));
            }
        }
        metrics
    }

    /// Tells of the policies as well that serve, and are on their way to.
    pub fn follow(&self, rollout: tokio::sync::watch::Receiver<Status>) {
        let mut followed = self.rollout.lock().unwrap_or_else(PoisonError::into_inner);
        *followed = Some(rollout);
    }

    /// Looks at the phases as the store has them, so that those are seen which other hosts
    /// brought about, and openings whose time is over. Takes no longer than a question to the
    /// policy may; what the store does not answer for stays as it was known last.
    pub async fn look(&self, guard: &Guard, targets: &[Target]) {
        let states = join_all(targets.iter().map(|target| guard.inspect(target))).await;
        for state in states.iter().flatten() {
            self.phases.set(&state.domain, state.phase);
        }
    }

    /// Everything, in the Prometheus text format.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a `String` does not fail.
        let _ = prometheus_text::encode(&mut text, &self.registry);
        text
    }

    /// A caller was answered, by this provider or by nobody.
    pub fn answered(&self, route: &str, provider: Option<&str>) {
        let labels = [
            ("route", owned(route)),
            ("provider", owned(provider.unwrap_or("none"))),
        ];
        self.answers.get_or_create(&labels).inc();
    }

    /// A runtime without access to the store exchanged what it had, or tried to.
    pub fn exchanged(&self, outcome: &'static str) {
        let labels = [("outcome", outcome.into())];
        self.exchanges.get_or_create(&labels).inc();
    }

    /// A provider of a chain was passed over.
    pub fn passed_over(&self, route: &str, provider: &str, reason: &'static str) {
        let labels = [
            ("route", owned(route)),
            ("provider", owned(provider)),
            ("reason", reason.into()),
        ];
        self.fallbacks.get_or_create(&labels).inc();
    }

    fn event(&self, event: &Event) {
        let domain = || ("domain", owned(&event.domain));
        match &event.kind {
            EventKind::Transition(transition) => {
                self.phases.set(&event.domain, transition.after);
                let labels = [
                    domain(),
                    ("before", transition.before.name().into()),
                    ("after", transition.after.name().into()),
                    ("rule", owned(&transition.rule)),
                ];
                self.transitions.get_or_create(&labels).inc();
            }
            EventKind::Probe(outcome) => {
                self.probes
                    .get_or_create(&probe(&event.domain, *outcome))
                    .inc();
            }
            EventKind::Ignored(reason) => {
                let labels = [domain(), ("reason", reason.name().into())];
                self.ignored.get_or_create(&labels).inc();
            }
            EventKind::Store(_) => {
                self.without_store.get_or_create(&[domain()]).inc();
            }
            EventKind::Ordered(_) => {}
        }
    }
}

impl Observer for Metrics {
    fn notice(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Event(event) => self.event(event),
            Notice::Refused { refusal: r, .. } => {
                self.refusals
                    .get_or_create(&refusal(&r.domain, r.reason))
                    .inc();
            }
            Notice::Judged { target, verdict } => {
                let provider = || ("provider", owned(&target.provider));
                let labels = [
                    provider(),
                    ("outcome", verdict.outcome.name().into()),
                    ("effect", verdict.effect.name().into()),
                ];
                self.attempts.get_or_create(&labels).inc();
                let limit = match verdict.rule.as_str() {
                    "transport/connect-timeout" => "connect",
                    "transport/read-timeout" => "read",
                    "transport/total-timeout" => "total",
                    "transport/caller-deadline" => "deadline",
                    _ => return,
                };
                let labels = [provider(), ("limit", limit.into())];
                self.timeouts.get_or_create(&labels).inc();
            }
            Notice::Fault { during, .. } => {
                self.faults
                    .get_or_create(&[("during", (*during).into())])
                    .inc();
            }
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

struct Declare<'r>(&'r mut Registry);

impl Declare<'_> {
    /// The name is without `_total` and the text without its full stop: both are added.
    fn family<const N: usize>(&mut self, name: &str, help: &str) -> Counts<N> {
        let family = Counts::default();
        self.0
            .register(name, help.trim_end_matches('.'), family.clone());
        family
    }
}

fn owned(text: &str) -> Cow<'static, str> {
    Cow::Owned(text.to_owned())
}

fn probe(domain: &str, outcome: ProbeOutcome) -> Labels<2> {
    [
        ("domain", owned(domain)),
        ("outcome", outcome.name().into()),
    ]
}

fn refusal(domain: &str, reason: RefusalReason) -> Labels<2> {
    [("domain", owned(domain)), ("reason", reason.name().into())]
}

fn domains(target: &Target) -> Vec<String> {
    let domains = target.domains().unwrap_or_default();
    domains.iter().map(fusewire_core::Domain::name).collect()
}

/// Each domain's phase, as far as it is known.
#[derive(Debug, Default)]
struct Phases(Mutex<BTreeMap<String, Phase>>);

impl Phases {
    fn set(&self, domain: &str, phase: Phase) {
        let mut phases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match phases.get_mut(domain) {
            Some(known) => *known = phase,
            None => drop(phases.insert(domain.to_owned(), phase)),
        }
    }
}

impl Collector for Phases {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let mut family = encoder.encode_descriptor(
            "domain_phase",
            "The phase of a domain's breaker: 1 for the phase that it is in, 0 for the others.",
            None,
            MetricType::Gauge,
        )?;
        let phases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (domain, current) in phases.iter() {
            for phase in Phase::ALL {
                let labels = [("domain", domain.as_str()), ("phase", phase.name())];
                ConstGauge::new(u64::from(phase == current))
                    .encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
