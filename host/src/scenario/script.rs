//! A scenario as it is played: what is done when, and what is expected of it.

use fusewire_core::{Observation, OverrideMode, Permit, RefusalReason, Target};
use serde_json::Value;

use crate::toml_places::{Document, Place};

/// When every scenario begins, in ms since the Unix epoch: the first midnight of 2026. Window
/// buckets and minutes are then as round in the story as they are on the clock.
pub const START_MS: u64 = 1_767_225_600_000;

/// A scenario: a configuration, and a story under it.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// What it promises, in a sentence.
    pub title: String,
    /// Why that matters.
    pub about: String,
    /// Which traps of published breakers it guards against; the numbers are those of the design.
    pub traps: Vec<u64>,
    pub(super) config: Value,
    /// How far the clocks of some instances are off the fleet's, in ms.
    pub(super) clocks: Vec<(String, i64)>,
    pub(super) steps: Vec<Step>,
    pub(super) document: Document,
}

impl Scenario {
    /// How many steps it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether it has no step. Never: such a scenario is not read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The configuration as a JSON text, with this prefix for all keys.
    #[must_use]
    pub fn configuration(&self, prefix: &str) -> String {
        let mut config = self.config.clone();
        if let Some(object) = config.as_object_mut() {
            object.insert("prefix".into(), prefix.into());
        }
        config.to_string()
    }

    /// Where a part of the configuration was written, by its JSON Pointer.
    #[must_use]
    pub fn place_in_config(&self, pointer: &str) -> Place {
        self.document.place(&format!("/config{pointer}"))
    }

    /// Every event that some step expects, in the words of the format.
    pub fn expected_events(&self) -> impl Iterator<Item = &str> {
        self.steps
            .iter()
            .flat_map(|step| step.events.iter().flatten())
            .map(String::as_str)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Step {
    /// Its JSON Pointer in the document.
    pub(super) pointer: String,
    /// When, in ms since the beginning.
    pub(super) at_ms: u64,
    pub(super) times: u64,
    pub(super) every_ms: u64,
    /// The instances that do it, in turns; never empty.
    pub(super) by: Vec<String>,
    pub(super) entropy: Option<u64>,
    pub(super) action: Action,
    pub(super) events: Option<Vec<String>>,
    pub(super) operations: Option<u64>,
}

impl Step {
    /// When it is over, in ms since the beginning.
    pub(super) fn ends_ms(&self) -> u64 {
        let turns = self.times.saturating_sub(1);
        self.at_ms
            .saturating_add(self.every_ms.saturating_mul(turns))
    }
}

#[derive(Debug, Clone)]
pub(super) enum Action {
    Admit(Asking),
    /// Admit and settle. No ending: it is expected to be refused.
    Call(Asking, Option<Ended>),
    Settle {
        name: String,
        ended: Ended,
    },
    /// A call is still under way that has become slow.
    Overdue {
        name: String,
    },
    /// Settle under a permit that the policy never gave.
    Forge(Permit, Ended),
    Record {
        domain: String,
        expect: Wanted,
    },
    Inspect {
        target: Target,
        domain: String,
        expect: Wanted,
    },
    Order {
        domain: String,
        order: Option<Order>,
        expect: OrderEnd,
    },
    Explain {
        domain: String,
        expect: Facts,
    },
    Lose {
        domain: String,
        what: Lost,
    },
    Put {
        domain: String,
        text: String,
    },
    Store {
        up: bool,
    },
    Next(Planned),
}

/// A call that asks to be admitted.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    pub(super) target: Target,
    /// The name that a later step settles it by.
    pub(super) name: Option<String>,
    pub(super) call_limit_ms: Option<u64>,
    pub(super) fingerprint: Option<u64>,
    pub(super) expect: Option<Expected>,
    /// In ms since the beginning.
    pub(super) holds_until_ms: Option<u64>,
    /// What is expected of the limits.
    pub(super) limits: Vec<Field>,
}

/// What is expected of what a policy says of a domain.
#[derive(Debug, Clone)]
pub(super) enum Facts {
    /// That it says nothing, since the domain's name is not valid or the store did not answer.
    Failed(OrderEnd),
    /// Subjects with their values; `None`: that there is no such subject.
    Are(Vec<(String, Option<String>)>),
}

/// What is expected of an admission.
#[derive(Debug, Clone)]
pub(super) enum Expected {
    /// Admitted, as a probe or not.
    Admitted,
    Allowed,
    Probe,
    Refused {
        reason: Option<RefusalReason>,
        retry_after_ms: Option<u64>,
        domain: Option<String>,
        /// What is in its sentence.
        says: Option<String>,
    },
}

/// How a call ended, and what is expected of the verdict.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    /// `None`: it was dropped. The time in it is put in when it is played.
    pub(super) observation: Option<Observation>,
    pub(super) verdict: Vec<Field>,
}

#[derive(Debug, Clone)]
pub(super) struct Order {
    pub(super) mode: OverrideMode,
    pub(super) enforce_percent: u32,
    pub(super) who: String,
    pub(super) why: String,
    pub(super) for_ms: Option<u64>,
}

/// What became of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OrderEnd {
    Done,
    Invalid,
    Store,
    Contended,
}

impl OrderEnd {
    pub(super) const WORDS: [(&'static str, Self); 4] = [
        ("done", Self::Done),
        ("invalid", Self::Invalid),
        ("store", Self::Store),
        ("contended", Self::Contended),
    ];

    pub(super) fn word(self) -> &'static str {
        Self::WORDS
            .iter()
            .find(|(_, end)| *end == self)
            .map_or("", |(word, _)| word)
    }
}

/// What the store forgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    Record,
    Counter,
    All,
}

#[derive(Debug, Clone)]
pub(super) struct Planned {
    /// The call whose next step is asked for.
    pub(super) name: String,
    pub(super) attempts: u64,
    pub(super) attempts_in_all: Option<u64>,
    pub(super) providers_left: u64,
    /// In ms since the beginning.
    pub(super) deadline_ms: Option<u64>,
    pub(super) expect: Option<NextStep>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextStep {
    Done,
    /// After this long, in ms; `None`: whenever.
    Retry(Option<u64>),
    NextProvider,
    GiveUp,
}

/// What is expected of a record, or of a domain's state.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    /// That there is none.
    Absent,
    Fields(Vec<Field>),
}

/// What is expected of one field of an answer.
#[derive(Debug, Clone)]
pub(super) struct Field {
    /// As the scenario calls it.
    pub(super) name: String,
    /// Where it is in the answer: a JSON Pointer.
    pub(super) pointer: &'static str,
    pub(super) want: Want,
}

#[derive(Debug, Clone)]
pub(super) enum Want {
    /// Nothing: zero, empty, or not there.
    Nothing,
    Is(Value),
    /// A time, in ms since the beginning.
    Time(u64),
    /// A span, in ms.
    Span(u64),
}
