//! A call of the core as the search has it, and as the core has it.

use fusewire_core::{
    Blame, Effect, Ending, EventKind, Outcome, OverrideMode, OverrideOrder, Verdict,
};

use crate::store::{Answer, Op};
use crate::text::{Ms, Text};

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum End {
    Passed,
    Failed,
    /// Failed by a fault of the operation: the provider has done its part.
    OperationFailed,
    Dropped,
}

/// What an operator orders, and from now until when (zero: until it is cleared).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Order {
    pub(crate) mode: Mode,
    pub(crate) for_ms: Ms,
}

/// The modes of an operator's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// Refuse every call.
    Open,
    /// Admit every call and never trip.
    Closed,
    /// Admit every call and count nothing.
    Off,
    /// Decide as usual, and admit every call.
    Observe,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Request {
    /// With the number of its random bits.
    Admit(u8),
    Settle(Text, End),
    /// `None`: clears it.
    Order(Option<Order>),
}

/// A call of the core, as far as it has come.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Call {
    pub(crate) request: Request,
    /// Whose; the operator is an instance of his own, after the others.
    pub(crate) instance: u8,
    /// The present time by the clock of that instance, at the beginning.
    pub(crate) now: Ms,
    pub(crate) answers: Vec<Answer>,
}

/// What a call wants next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    Ask(Op),
    Done(Done),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) outcome: Told,
    /// What became of it, in a word each.
    pub(crate) events: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    Allowed { permit: Text, probe: bool },
    Refused,
    Nothing,
}

pub(crate) fn word(kind: &EventKind) -> String {
    match kind {
        EventKind::Transition(t) => format!("{} to {}", t.before, t.after),
        EventKind::Probe(outcome) => format!("probe {outcome}"),
        EventKind::Ignored(reason) => format!("ignored: {reason}"),
        EventKind::Ordered(Some(mode)) => format!("ordered: {mode}"),
        EventKind::Ordered(None) => "ordered: cleared".into(),
        EventKind::Store(why) => format!("store: {why}"),
        EventKind::Alone(t) => format!("alone: {} to {}", t.before, t.after),
        EventKind::Held(_) => "held".into(),
        EventKind::Reshaped => "reshaped".into(),
    }
}

pub(crate) fn ending(end: End) -> Ending {
    let (effect, blame) = match end {
        End::Passed => (Effect::Success, Blame::Nobody),
        End::Failed => (Effect::Failure, Blame::Provider),
        End::OperationFailed => (Effect::Failure, Blame::Operation),
        End::Dropped => return Ending::Dropped,
    };
    let outcome = match effect {
        Effect::Failure => Outcome::ProviderDown,
        _ => Outcome::Success,
    };
    Ending::Judged(Verdict {
        outcome,
        effect,
        blame,
        retry_same: true,
        next_provider: true,
        min_delay_ms: 0,
        retry_after_ms: None,
        slow: false,
        rule: String::new(),
        reason: String::new(),
    })
}

impl Order {
    pub(crate) fn to_core(self, now_ms: u64) -> OverrideOrder {
        OverrideOrder {
            enforce_percent: 0,
            mode: match self.mode {
                Mode::Open => OverrideMode::Open,
                Mode::Closed => OverrideMode::Closed,
                Mode::Off => OverrideMode::Off,
                Mode::Observe => OverrideMode::Observe,
            },
            who: "on-call".into(),
            why: "a model".into(),
            until_ms: match self.for_ms {
                0 => 0,
                span => now_ms.saturating_add_signed(span.into()),
            },
        }
    }
}
