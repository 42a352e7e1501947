//! One configuration at work: what its streams share.

use std::cell::Cell;

use fusewire_core::config::duration::format_ms;
use fusewire_core::{Context, Event, EventKind, Phase};

use crate::config::Settings;
use crate::entropy::Entropy;
use crate::host::{Host, Level};
use crate::metrics::Metrics;
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
    /// How far the fleet's clock is ahead of this host's, in ms.
    pub ahead_ms: Cell<i64>,
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
            ahead_ms: Cell::new(0),
            settings,
        }
    }

    /// The present time on the fleet's clock, in ms.
    #[must_use]
    pub fn fleet_ms(&self, host_ns: u64) -> u64 {
        millis(host_ns).saturating_add_signed(self.ahead_ms.get())
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

/// What an event says in the log. What may come with every call is in the metrics alone.
fn line(event: &Event) -> Option<(Level, String)> {
    let domain = &event.domain;
    let detail = &event.detail;
    match &event.kind {
        EventKind::Transition(change) => {
            let (before, after) = (change.before, change.after);
            let (level, until) = if change.after == Phase::Open {
                let span = format_ms(change.until_ms.saturating_sub(event.at_ms));
                (Level::Warn, format!(" for {span}"))
            } else {
                (Level::Info, String::new())
            };
            let openings = change.openings;
            let line = format!(
                "fusewire: {domain}: {before} -> {after}{until}: {detail} ({openings} in a row)"
            );
            Some((level, line))
        }
        EventKind::Probe(outcome) => Some((
            Level::Info,
            format!("fusewire: {domain}: probe {outcome}: {detail}"),
        )),
        EventKind::Ordered(_) => Some((Level::Info, format!("fusewire: {domain}: {detail}"))),
        EventKind::Ignored(_) | EventKind::Store(_) => None,
    }
}
