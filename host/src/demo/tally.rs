//! What is counted, and the lines of events.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fusewire_core::{EventKind, ProbeOutcome, RefusalReason};
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
    fn event(&self, event: &fusewire_core::Event) {
        let domain = &event.domain;
        match &event.kind {
            EventKind::Transition(t) => {
                let arrow = format!("{domain}: {} -> {}", t.before, t.after);
                match t.after {
                    fusewire_core::Phase::Open => {
                        self.trips.fetch_add(1, Ordering::Relaxed);
                        let left = tenths(t.until_ms.saturating_sub(event.at_ms));
                        self.line(
                            Kind::Opened,
                            format!("{arrow} for {left}: {}", event.detail),
                        );
                    }
                    fusewire_core::Phase::HalfOpen => {
                        self.line(Kind::Testing, format!("{arrow}: {}", event.detail));
                    }
                    fusewire_core::Phase::Closed => {
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
            EventKind::Ignored(_) | EventKind::Ordered(_) => {}
        }
    }
}

/// A time left, to a tenth of a second.
pub(super) fn tenths(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}
