//! What is counted, in the Prometheus text format.
//!
//! | module | subject |
//! |---|---|
//! | `domains` | which domains have series, within the limit |
//! | `series` | what is counted of one domain |
//! | `written` | the series of domains, as they are written |
//! | `look` | looking at phases as the store has them |
//! | `state` | the state of the store, its clock and the policies |
//!
//! A [`Metrics`] is an [`Observer`]: it counts what a guard tells it. What has a state rather
//! than a count (a domain's phase, the store's mode) is kept as that state and written as one
//! gauge for each value, 0 or 1, so that no gauge can be left at 1 for a state long gone.
//!
//! | name | labels |
//! |---|---|
//! | `fusewire_domain_phase` | domain, phase |
//! | `fusewire_transitions_total` | domain, before, after, rule |
//! | `fusewire_own_transitions_total` | as above, of this host's own breaker |
//! | `fusewire_holds_total` | domain |
//! | `fusewire_probes_total` | domain, outcome |
//! | `fusewire_refusals_total` | domain, reason |
//! | `fusewire_ignored_outcomes_total` | domain, reason |
//! | `fusewire_attempts_total` | provider, outcome, effect |
//! | `fusewire_timeouts_total` | provider, limit |
//! | `fusewire_without_store_total` | domain |
//! | `fusewire_domains_live`, `fusewire_domains_limit` | |
//! | `fusewire_domains_evicted_total`, `fusewire_domains_left_out_total` | |
//! | `fusewire_policy_faults_total` | during |
//! | `fusewire_policy_info` | digest, name, version: 1 for the one that serves |
//! | `fusewire_policy_generation`, `fusewire_policy_on_probation`, `fusewire_policies_lingering` | |
//! | `fusewire_policy_candidate` | stage: 1 where a candidate is at it |
//! | `fusewire_policy_activations_total`, `fusewire_policy_refused_total`, `fusewire_policy_rollbacks_total` | |
//! | `fusewire_policy_compared_total`, `fusewire_policy_differences_total` | of the candidate in the shadow; from 0 for each |
//! | `fusewire_store_mode` | mode |
//! | `fusewire_store_errors_total`, `fusewire_store_spared_total`, `fusewire_store_mode_changes_total` | |
//! | `fusewire_clock_offset_seconds` | |
//! | `fusewire_answers_total` | route, provider (`none`: the gateway's 503) |
//! | `fusewire_exchanges_total` | outcome |
//! | `fusewire_fallbacks_total` | route, provider that was passed over, reason |
//!
//! # Domains without end
//!
//! Series with a `domain` or a `provider` are those of at most [`Metrics::live_domains`] domains.
//! Past that the closed, idle domain that was called least recently goes for one that comes, and
//! *all* its series with it: its phases and its counters. A domain stays that is open or half-open,
//! held, under an order, or configured. For whoever reads the series:
//!
//! - A domain that is gone has no `fusewire_domain_phase`, and is closed. Write
//!   `fusewire_domain_phase{phase="open"} == 1`, never `... == 0` or `absent(...)`.
//! - When it is called again its counters begin at zero again, as after a restart, which `rate()`
//!   and `increase()` take into account; a counter that is looked at by its value is too small.
//! - Where `fusewire_domains_evicted_total` grows all the time, more domains are in use than the
//!   limit has room for, and the counters of each tell little: raise the limit, or sum by
//!   `provider` over targets that are calls of one.
//! - Where `fusewire_domains_left_out_total` grows, every domain there is must stay, and what came
//!   is guarded like any other and has no series. The log has its transitions.
//!
//! Configured domains have their probes and refusals at zero from the start; others have a count
//! from the first time on that there is something to count.

mod domains;
mod look;
mod series;
mod state;
mod written;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError};

use fusewire_core::{Event, EventKind, Phase, Refusal, RefusalReason, Target, Verdict};
use prometheus_client::encoding::prometheus_text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use self::domains::Domains;
use self::series::{Series, raise};
use self::state::{ClockState, Followed, PolicyState, StoreState};
use self::written::Written;
use crate::guard::{Notice, Observer};
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
    domains: Arc<Domains>,
    store: Arc<dyn Store>,
    rollout: Followed,
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
        let domains = Arc::new(Domains::default());
        for target in targets {
            for domain in target.domains().unwrap_or_default() {
                domains.configure(&domain.name());
            }
        }
        registry.register_collector(Box::new(Written(Arc::clone(&domains))));
        registry.register_collector(Box::new(ClockState(Arc::clone(&store))));
        registry.register_collector(Box::new(StoreState {
            store: Arc::clone(&store),
            watched,
        }));
        let rollout = Arc::default();
        registry.register_collector(Box::new(PolicyState(Arc::clone(&rollout))));
        let mut counts = Declare(&mut registry);
        Self {
            domains,
            store,
            rollout,
            faults: counts.family("policy_faults", "Failures of the policy itself, each of which let a call through."),
            answers: counts.family("answers", "Answers to callers, by the provider that gave them."),
            fallbacks: counts.family("fallbacks", "Providers of a chain that were passed over, by the reason."),
            exchanges: counts.family("exchanges", "Exchanges with runtimes that have no access to the store themselves, by how they ended."),
            registry,
        }
    }

    /// How many domains may have series of their own, those aside that must not be forgotten: see
    /// the [module](self). By default [`LIVE_DOMAINS`](crate::live::LIVE_DOMAINS).
    #[must_use]
    pub fn live_domains(self, limit: usize) -> Self {
        self.domains.set_limit(limit);
        self
    }

    /// Tells of the policies as well that serve, and are on their way to.
    pub fn follow(&self, rollout: tokio::sync::watch::Receiver<Status>) {
        let mut followed = self.rollout.lock().unwrap_or_else(PoisonError::into_inner);
        *followed = Some(rollout);
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

    /// Something has happened to a domain.
    fn told(&self, domain: &str, change: impl FnOnce(&mut Series)) {
        self.domains.told(domain, || self.store.now_ms(), change);
    }

    fn event(&self, event: &Event) {
        self.told(&event.domain, |series| match &event.kind {
            EventKind::Transition(transition) => {
                series.transition(transition.before, transition.after, &transition.rule);
            }
            EventKind::Probe(outcome) => series.seldom().probe(*outcome),
            EventKind::Ignored(reason) => series.seldom().ignored(*reason),
            EventKind::Store(_) => raise(&mut series.seldom().without_store),
            // Until when is seen at the next look.
            EventKind::Ordered(Some(_)) => series.kept_until = u64::MAX,
            EventKind::Ordered(None) => series.kept_until = 0,
            EventKind::Alone(own) => {
                series.alone(own.before, own.after, &own.rule, own.until_ms);
            }
            EventKind::Held(until_ms) => {
                raise(&mut series.seldom().holds);
                series.keep_until(*until_ms);
            }
            EventKind::Reshaped => {}
        });
    }

    /// A refusal tells of the domain as well, whoever has opened it.
    fn refused(&self, refusal: &Refusal) {
        self.told(&refusal.domain, |series| {
            series.seldom().refusal(refusal.reason);
            match refusal.reason {
                RefusalReason::Open => series.phase = Phase::Open,
                RefusalReason::ProbeInFlight => series.phase = Phase::HalfOpen,
                RefusalReason::Hold => {
                    let until = self.store.now_ms().saturating_add(refusal.retry_after_ms);
                    series.keep_until(until);
                }
                RefusalReason::Override => series.kept_until = u64::MAX,
                RefusalReason::Ramp | RefusalReason::Store | RefusalReason::InvalidTarget => {}
            }
        });
    }

    fn judged(&self, target: &Target, verdict: &Verdict) {
        let limit = match verdict.rule.as_str() {
            "transport/connect-timeout" => Some("connect"),
            "transport/read-timeout" => Some("read"),
            "transport/total-timeout" => Some("total"),
            "transport/caller-deadline" => Some("deadline"),
            _ => None,
        };
        for domain in target.domains().unwrap_or_default() {
            let name = domain.name();
            let is_provider = name == target.provider;
            // The others are in use by this.
            self.told(&name, |series| {
                if is_provider {
                    series.attempt(verdict.outcome, verdict.effect);
                    if let Some(limit) = limit {
                        series.seldom().timeout(limit);
                    }
                }
            });
        }
    }
}

impl Observer for Metrics {
    fn notice(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Event(event) => self.event(event),
            Notice::Refused { refusal, .. } => self.refused(refusal),
            Notice::Judged { target, verdict } => self.judged(target, verdict),
            Notice::Fault { during, .. } => {
                let labels = [("during", (*during).into())];
                self.faults.get_or_create(&labels).inc();
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
