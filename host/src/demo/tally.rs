//! What is counted, and the lines of events.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fusewire_core::{DomainState, EventKind, Phase, ProbeOutcome, RefusalReason};
use tokio::sync::mpsc;

use super::providers::FIRST;
use crate::guard::{Notice, Observer};

/// Longer than anything in the demo waits.
pub(super) const LONGEST: Duration = Duration::from_secs(60);

/// A line of what happened, at a time since the start.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) at: Duration,
    pub(super) kind: Kind,
    pub(super) text: String,
}

/// What a line is about, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// What the provider does.
    Outage,
    Opened,
    Testing,
    Closed,
}

/// What this process has seen so far.
pub(super) struct Tally {
    pub(super) started: Instant,
    pub(super) lookups: AtomicU64,
    pub(super) by_first: AtomicU64,
    pub(super) by_second: AtomicU64,
    pub(super) unanswered: AtomicU64,
    /// Calls to the first provider that its breaker refused.
    pub(super) saved: AtomicU64,
    pub(super) probes: AtomicU64,
    pub(super) trips: AtomicU64,
    /// The phase of each domain as it was last told.
    told: Mutex<HashMap<String, Phase>>,
    lines: mpsc::UnboundedSender<Line>,
}

impl Tally {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Line>) {
        let (lines, receiver) = mpsc::unbounded_channel();
        let zero = AtomicU64::default;
        let tally = Self {
            started: Instant::now(),
            lookups: zero(),
            by_first: zero(),
            by_second: zero(),
            unanswered: zero(),
            saved: zero(),
            probes: zero(),
            trips: zero(),
            told: Mutex::default(),
            lines,
        };
        (tally, receiver)
    }

    pub(super) fn line(&self, kind: Kind, text: impl Into<String>) {
        // Nobody listens any more when the demo is about to end.
        let _ = self.lines.send(Line {
            at: self.started.elapsed(),
            kind,
            text: text.into(),
        });
    }
}

impl Observer for Tally {
    fn notice(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Refused { target, refusal } if target.provider == FIRST => {
                if matches!(
                    refusal.reason,
                    RefusalReason::Open | RefusalReason::ProbeInFlight
                ) {
                    self.saved.fetch_add(1, Ordering::Relaxed);
                }
            }
            Notice::Event(event) => self.event(event),
            Notice::Refused { .. } | Notice::Judged { .. } | Notice::Fault { .. } => {}
        }
    }
}

impl Tally {
    /// Tells what other processes found out. That a cool-down is over is no finding.
    pub(super) fn look(&self, states: &[DomainState]) {
        for state in states.iter().filter(|state| state.phase != Phase::HalfOpen) {
            if self.tell(&state.domain, state.phase) != Some(state.phase) {
                let kind = match state.phase {
                    Phase::Closed => Kind::Closed,
                    Phase::Open | Phase::HalfOpen => Kind::Opened,
                };
                let text = format!(
                    "{}: {}, as another process found out",
                    state.domain, state.phase
                );
                self.line(kind, text);
            }
        }
    }

    /// Notes the phase that is told now, and answers the one told before: closed, at first.
    fn tell(&self, domain: &str, phase: Phase) -> Option<Phase> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(domain.to_owned(), phase)
            .or(Some(Phase::Closed))
    }

    fn event(&self, event: &fusewire_core::Event) {
        let domain = &event.domain;
        match &event.kind {
            EventKind::Transition(t) => {
                self.tell(domain, t.after);
                let arrow = format!("{domain}: {} -> {}", t.before, t.after);
                match t.after {
                    Phase::Open => {
                        self.trips.fetch_add(1, Ordering::Relaxed);
                        let left = tenths(t.until_ms.saturating_sub(event.at_ms));
                        self.line(
                            Kind::Opened,
                            format!("{arrow} for {left}: {}", event.detail),
                        );
                    }
                    Phase::HalfOpen => {
                        self.line(Kind::Testing, format!("{arrow}: {}", event.detail));
                    }
                    Phase::Closed => {
                        self.line(
                            Kind::Closed,
                            format!("{arrow}: {}, so traffic returns", event.detail),
                        );
                    }
                }
            }
            EventKind::Probe(outcome) => {
                self.probes.fetch_add(1, Ordering::Relaxed);
                let kind = if *outcome == ProbeOutcome::Passed {
                    Kind::Closed
                } else {
                    Kind::Testing
                };
                self.line(kind, format!("{domain}: probe {outcome}"));
            }
            EventKind::Store(why) => self.line(Kind::Testing, format!("{why}: {}", event.detail)),
            EventKind::Held(_) => self.line(Kind::Testing, format!("{domain}: {}", event.detail)),
            EventKind::Ignored(_)
            | EventKind::Ordered(_)
            | EventKind::Alone(_)
            | EventKind::Reshaped => {}
        }
    }
}

/// A time left, to a tenth of a second.
pub(super) fn tenths(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}
