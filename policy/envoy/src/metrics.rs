//! The metrics: a fixed set of names, whatever domains there are. Envoy writes `wasmcustom.`
//! before each.

use fusewire_core::{Effect, Event, EventKind, Phase, ProbeOutcome, RefusalReason, Verdict};

use crate::host::{Host, MetricKind};
use crate::store::Notes;

/// A metric that is not one of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is what its name in `NAMES` says")]
pub enum Metric {
    Admitted,
    WouldRefuse,
    InvalidTarget,
    HostError,
    Success,
    Failure,
    Neutral,
    Slow,
    Dropped,
    ToOpen,
    ToHalfOpen,
    ToClosed,
    AloneToOpen,
    AloneToHalfOpen,
    AloneToClosed,
    Held,
    Ignored,
    StoreContended,
    StoreFull,
    StoreError,
    ExchangeOk,
    ExchangeFailed,
    ExchangeRefused,
    ExchangeMode,
    Keys,
}

/// Their names, in order.
const NAMES: [(Metric, MetricKind, &str); 25] = {
    use MetricKind::{Counter, Gauge};
    [
        (Metric::Admitted, Counter, "admitted"),
        (Metric::WouldRefuse, Counter, "would_refuse"),
        (Metric::InvalidTarget, Counter, "invalid_target"),
        (Metric::HostError, Counter, "host_error"),
        (Metric::Success, Counter, "outcome.success"),
        (Metric::Failure, Counter, "outcome.failure"),
        (Metric::Neutral, Counter, "outcome.neutral"),
        (Metric::Slow, Counter, "outcome.slow"),
        (Metric::Dropped, Counter, "outcome.dropped"),
        (Metric::ToOpen, Counter, "transition.to_open"),
        (Metric::ToHalfOpen, Counter, "transition.to_half_open"),
        (Metric::ToClosed, Counter, "transition.to_closed"),
        (Metric::AloneToOpen, Counter, "alone.to_open"),
        (Metric::AloneToHalfOpen, Counter, "alone.to_half_open"),
        (Metric::AloneToClosed, Counter, "alone.to_closed"),
        (Metric::Held, Counter, "held"),
        (Metric::Ignored, Counter, "ignored"),
        (Metric::StoreContended, Counter, "store.contended"),
        (Metric::StoreFull, Counter, "store.full"),
        (Metric::StoreError, Counter, "store.error"),
        (Metric::ExchangeOk, Counter, "exchange.ok"),
        (Metric::ExchangeFailed, Counter, "exchange.failed"),
        (Metric::ExchangeRefused, Counter, "exchange.refused"),
        (Metric::ExchangeMode, Gauge, "exchange.mode"),
        (Metric::Keys, Gauge, "keys"),
    ]
};

/// The ids that Envoy gave. One that it refused is missing, and counts nothing.
#[derive(Debug, Default)]
pub struct Metrics {
    single: Vec<Option<u32>>,
    refused: Vec<Option<u32>>,
    probe: Vec<Option<u32>>,
}

impl Metrics {
    /// Defines all metrics, the first time that it is called.
    pub fn define<H: Host>(&mut self, host: &H) {
        if !self.single.is_empty() {
            return;
        }
        let define =
            |kind, name: &str| host.define_metric(kind, &["fusewire.", name].concat()).ok();
        let family = |name: &str, member: &str| {
            define(
                MetricKind::Counter,
                &[name, &member.replace('-', "_")].concat(),
            )
        };
        self.single = NAMES
            .iter()
            .map(|(_, kind, name)| define(*kind, name))
            .collect();
        self.refused = RefusalReason::ALL
            .iter()
            .map(|r| family("refused.", r.name()))
            .collect();
        self.probe = ProbeOutcome::ALL
            .iter()
            .map(|o| family("probe.", o.name()))
            .collect();
    }

    /// Counts one.
    pub fn count<H: Host>(&self, host: &H, metric: Metric) {
        self.add(host, metric, 1);
    }

    /// Counts some.
    pub fn add<H: Host>(&self, host: &H, metric: Metric, by: u64) {
        if by > 0 {
            raise(host, self.single.get(metric as usize), by);
        }
    }

    /// Sets a gauge.
    pub fn set<H: Host>(&self, host: &H, metric: Metric, to: u64) {
        if let Some(Some(id)) = self.single.get(metric as usize) {
            let _ = host.set_metric(*id, to);
        }
    }

    /// Counts a refusal.
    pub fn refused<H: Host>(&self, host: &H, reason: RefusalReason) {
        raise(host, self.refused.get(reason as usize), 1);
    }

    /// Counts an outcome.
    pub fn outcome<H: Host>(&self, host: &H, verdict: &Verdict) {
        let metric = match verdict.effect {
            Effect::Success | Effect::SlowSuccess => Metric::Success,
            Effect::Failure => Metric::Failure,
            Effect::Neutral => Metric::Neutral,
        };
        self.count(host, metric);
        if verdict.slow {
            self.count(host, Metric::Slow);
        }
    }

    /// Counts an event.
    pub fn event<H: Host>(&self, host: &H, event: &Event) {
        match &event.kind {
            EventKind::Transition(change) => self.count(
                host,
                match change.after {
                    Phase::Open => Metric::ToOpen,
                    Phase::HalfOpen => Metric::ToHalfOpen,
                    Phase::Closed => Metric::ToClosed,
                },
            ),
            EventKind::Alone(change) => self.count(
                host,
                match change.after {
                    Phase::Open => Metric::AloneToOpen,
                    Phase::HalfOpen => Metric::AloneToHalfOpen,
                    Phase::Closed => Metric::AloneToClosed,
                },
            ),
            EventKind::Held(_) => self.count(host, Metric::Held),
            EventKind::Probe(outcome) => raise(host, self.probe.get(*outcome as usize), 1),
            EventKind::Ignored(_) => self.count(host, Metric::Ignored),
            EventKind::Ordered(_) | EventKind::Store(_) | EventKind::Reshaped => {}
        }
    }

    /// Counts what went on in the store.
    pub fn notes<H: Host>(&self, host: &H, notes: &Notes) {
        self.add(host, Metric::StoreContended, notes.contended.take());
        self.add(host, Metric::StoreFull, notes.full.take());
        self.add(host, Metric::StoreError, notes.errors.take());
    }
}

fn raise<H: Host>(host: &H, id: Option<&Option<u32>>, by: u64) {
    if let Some(Some(id)) = id {
        let _ = host.add_to_metric(*id, i64::try_from(by).unwrap_or(i64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_has_the_name_at_its_place() {
        for (at, (metric, _, name)) in NAMES.iter().enumerate() {
            assert_eq!(*metric as usize, at, "{name}");
        }
    }

    #[test]
    fn members_of_a_family_are_at_their_place() {
        for (at, reason) in RefusalReason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, at);
        }
        for (at, outcome) in ProbeOutcome::ALL.iter().enumerate() {
            assert_eq!(*outcome as usize, at);
        }
    }
}
