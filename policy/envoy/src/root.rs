//! One configuration at work: what its streams share.

use std::cell::Cell;
use std::rc::Rc;

use fusewire_core::{
    Context, Effect, Ending, Event, EventKind, Permit, Phase, Target, Timing, Wanted,
};

use crate::config::Settings;
use crate::deferred::Deferred;
use crate::entropy::Entropy;
use crate::evidence::Evidence;
use crate::facts::Good;
use crate::holding::Holding;
use crate::host::{Host, Level};
use crate::metrics::{Metric, Metrics};
use crate::store::{Company, Notes, Scope, SharedStore};

/// One configuration at work.
#[derive(Debug)]
pub struct Root {
    /// What it says.
    pub settings: Settings,
    /// Its keys in the store.
    pub scope: Scope,
    /// This Envoy's id in the fleet.
    pub instance: String,
    /// What went on in the store since it was last counted.
    pub notes: Notes,
    /// Counts that wait for company.
    pub company: Company,
    /// Admissions that hold.
    pub holding: Holding,
    /// What is looked at in answers.
    evidence: Evidence,
    /// Good answers that are not judged yet.
    deferred: Deferred,
    /// Whether its end has come, so that nothing may wait any more.
    retired: Cell<bool>,
    /// How far the fleet's clock is ahead of this host's, in ms.
    pub ahead_ms: Cell<i64>,
    /// When the first of the requests under way is overdue, in ns on this host's own clock, as far as
    /// is known; the largest number: none is.
    pub due_ns: Cell<u64>,
}

/// What a worker has one of.
#[derive(Debug)]
pub struct Desk<'a, H> {
    /// Envoy.
    pub host: &'a H,
    /// The metrics.
    pub metrics: &'a Metrics,
    /// The source of random bits.
    pub entropy: &'a mut Entropy,
}

impl Root {
    /// A configuration at work.
    #[must_use]
    pub fn new(settings: Settings, instance: String) -> Self {
        let prefix = &settings.policy.config().prefix;
        let scope = Scope::new(prefix, settings.keys, settings.fleet.is_some());
        Self {
            scope,
            instance,
            notes: Notes::default(),
            company: Company::default(),
            holding: Holding::default(),
            evidence: Evidence::default(),
            deferred: Deferred::default(),
            retired: Cell::new(false),
            ahead_ms: Cell::new(0),
            due_ns: Cell::new(u64::MAX),
            settings,
        }
    }

    /// The present time on the fleet's clock, in ms.
    #[must_use]
    pub fn fleet_ms(&self, host_ns: u64) -> u64 {
        millis(host_ns).saturating_add_signed(self.ahead_ms.get())
    }

    /// What is looked at in the answers of this target.
    #[must_use]
    pub fn wanted(&self, target: &Target) -> Rc<Wanted> {
        let settings = &self.settings;
        self.evidence
            .wanted(&settings.policy, target, settings.body_limit)
    }

    /// What the policy is told of this moment.
    pub fn context<H>(
        &self,
        desk: &mut Desk<'_, H>,
        host_ns: u64,
        fingerprint: Option<u64>,
    ) -> Context {
        Context {
            now_ms: self.fleet_ms(host_ns),
            entropy: desk.entropy.draw(host_ns),
            instance: self.instance.clone(),
            call_limit_ms: Some(self.settings.call_limit_ms),
            fingerprint,
        }
    }

    /// The policy's store at this moment; `patient`: for a call whose counts may wait for company.
    pub fn store<'a, H: Host>(
        &'a self,
        host: &'a H,
        host_ns: u64,
        patient: bool,
    ) -> SharedStore<'a, H> {
        SharedStore::new(host, &self.notes, &self.scope, millis(host_ns))
            .with_company(&self.company, patient)
    }

    /// Has a good answer judged with others; at once, where nothing may wait any more.
    pub fn defer<H: Host>(&self, desk: &mut Desk<'_, H>, permit: Permit, good: Good) {
        if self.deferred.push(permit, good) || self.retired.get() {
            self.settle_deferred(desk);
        }
    }

    /// Judges the good answers that wait.
    pub fn settle_deferred<H: Host>(&self, desk: &mut Desk<'_, H>) {
        for (permit, good) in self.deferred.take() {
            let seen = good.observation(self.fleet_ms(good.came_ns));
            let verdict = self.settings.policy.classify(&permit.target, &seen);
            let timing = Timing {
                latency_ms: Some(seen.latency_ms),
                overdue: good.overdue,
            };
            let ending = Ending::Judged(verdict);
            let digest = good.fingerprint;
            self.settle(desk, &permit, &ending, &timing, good.came_ns, digest);
        }
    }

    /// Tells the policy how a call ended.
    pub fn settle<H: Host>(
        &self,
        desk: &mut Desk<'_, H>,
        permit: &Permit,
        ending: &Ending,
        timing: &Timing,
        now_ns: u64,
        fingerprint: Option<u64>,
    ) {
        // Nobody waits for a success to be known.
        let patient = match ending {
            Ending::Judged(verdict) => {
                desk.metrics.outcome(desk.host, verdict);
                verdict.effect == Effect::Success && !self.retired.get()
            }
            Ending::Dropped => {
                desk.metrics.count(desk.host, Metric::Dropped);
                false
            }
        };
        #[cfg(feature = "drive")]
        crate::drive::judged(desk.host, ending);
        let context = self.context(desk, now_ns, fingerprint);
        let mut store = self.store(desk.host, now_ns, patient);
        match self
            .settings
            .policy
            .settle(&mut store, permit, ending, timing, &context)
        {
            Ok(events) => self.tell(desk, &events),
            // Only a store that answers later suspends a call.
            Err(_) => desk.metrics.count(desk.host, Metric::HostError),
        }
    }

    /// Tells the policy that a call is still under way.
    pub fn overdue<H: Host>(
        &self,
        desk: &mut Desk<'_, H>,
        permit: &Permit,
        now_ns: u64,
        fingerprint: Option<u64>,
    ) {
        let context = self.context(desk, now_ns, fingerprint);
        let mut store = self.store(desk.host, now_ns, false);
        match self.settings.policy.overdue(&mut store, permit, &context) {
            Ok(events) => self.tell(desk, &events),
            Err(_) => desk.metrics.count(desk.host, Metric::HostError),
        }
    }

    /// Settles whatever waits, as the end of this configuration has come.
    pub fn retire<H: Host>(&self, desk: &mut Desk<'_, H>) {
        self.settle_deferred(desk);
        self.retired.set(true);
        if let Ok(now_ns) = desk.host.now_ns() {
            self.store(desk.host, now_ns, true).flush_all();
        }
        desk.metrics.notes(desk.host, &self.notes);
    }

    /// Counts and logs what happened in a call of the policy.
    pub fn tell<H: Host>(&self, desk: &Desk<'_, H>, events: &[Event]) {
        desk.metrics.notes(desk.host, &self.notes);
        for event in events {
            desk.metrics.event(desk.host, event);
            if let Some((level, line)) = line(event) {
                desk.host.log(level, &line);
            }
        }
    }
}

/// Whole milliseconds.
#[must_use]
pub fn millis(ns: u64) -> u64 {
    ns.checked_div(1_000_000).unwrap_or_default()
}

/// A span for people, in seconds and tenths of them.
fn seconds(ms: u64) -> String {
    let tenths = ms.saturating_add(50) / 100;
    format!("{}.{} s", tenths / 10, tenths % 10)
}

/// What an event says in the log. What may come with every call is in the metrics alone.
fn line(event: &Event) -> Option<(Level, String)> {
    let domain = &event.domain;
    let detail = &event.detail;
    match &event.kind {
        EventKind::Transition(change) | EventKind::Alone(change) => {
            let (before, after) = (change.before, change.after);
            let line = format!("fusewire: {domain}: {before} -> {after}");
            if change.after != Phase::Open {
                return Some((Level::Info, format!("{line}: {detail}")));
            }
            let span = seconds(change.until_ms.saturating_sub(event.at_ms));
            let openings = change.openings;
            let line = format!("{line} for {span}: {detail} ({openings} in a row)");
            Some((Level::Warn, line))
        }
        EventKind::Probe(outcome) => {
            let why = detail.strip_prefix("the probe: ").unwrap_or(detail);
            let line = format!("fusewire: {domain}: probe {outcome}: {why}");
            Some((Level::Info, line))
        }
        EventKind::Ordered(_) | EventKind::Held(_) | EventKind::Reshaped => {
            Some((Level::Info, format!("fusewire: {domain}: {detail}")))
        }
        EventKind::Ignored(_) | EventKind::Store(_) => None,
    }
}
