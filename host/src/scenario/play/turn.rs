//! One repetition of one step: what is noted of it.

use fusewire_core::{Context, Event};

use super::{Failure, Played};
use crate::scenario::check::{self, Difference};
use crate::scenario::log::{Line, entropy};
use crate::scenario::script::{START_MS, Scenario, Step};
use crate::scenario::words;

pub(super) struct Turn<'a> {
    pub(super) step: &'a Step,
    pub(super) context: Context,
    pub(super) line: Line,
    /// What it is to the reader of the story.
    pub(super) doing: String,
    /// The domain whose events need not name it.
    pub(super) home: String,
    /// What became of it, for the story.
    pub(super) said: Vec<String>,
    /// Random bits for a second call of the policy within the turn.
    pub(super) more_entropy: u64,
    /// When, in ms since the beginning, on the fleet's clock.
    at_ms: u64,
    /// What happened, in the words of the format.
    events: Vec<String>,
    /// Each with the key of the step that asked for something else.
    differences: Vec<(&'static str, Difference)>,
}

impl<'a> Turn<'a> {
    /// The `turn`-th repetition of the step of this number.
    pub(super) fn begin(scenario: &Scenario, number: usize, step: &'a Step, turn: u64) -> Self {
        let at_ms = step
            .at_ms
            .saturating_add(step.every_ms.saturating_mul(turn));
        let who = usize::try_from(turn).unwrap_or(0) % step.by.len().max(1);
        let by = step.by.get(who).cloned().unwrap_or_default();
        let clock = scenario.clocks.iter().find(|(name, _)| *name == by);
        let offset_ms = clock.map_or(0, |(_, ms)| *ms);
        let bits = |part| step.entropy.unwrap_or_else(|| entropy(number, turn, part));
        let context = Context {
            now_ms: START_MS
                .saturating_add(at_ms)
                .saturating_add_signed(offset_ms),
            entropy: bits(0),
            instance: by,
            call_limit_ms: None,
            fingerprint: None,
        };
        Turn {
            step,
            line: Line::new(number, turn, context.now_ms, &context.instance),
            context,
            doing: String::new(),
            home: String::new(),
            said: Vec::new(),
            more_entropy: bits(1),
            at_ms,
            events: Vec::new(),
            differences: Vec::new(),
        }
    }

    /// Notes an expectation of this key that did not hold, where one did not.
    pub(super) fn differ(&mut self, key: &'static str, difference: Option<Difference>) {
        self.differences
            .extend(difference.map(|difference| (key, difference)));
    }

    /// Notes what happened.
    pub(super) fn happened(&mut self, events: &[Event]) {
        for event in events {
            let words = words::event(event, &self.home);
            self.said.push(format!("{words}{}", words::more_of(event)));
            self.events.push(words);
        }
    }

    /// Compares what is left to compare, and writes all of it down.
    pub(super) fn end(mut self, scenario: &Scenario, operations: u64, played: &mut Played) {
        if let Some(expected) = &self.step.events {
            let difference = check::events(expected, &self.events);
            self.differ("events", difference);
        }
        if let Some(expected) = self.step.operations {
            self.differ("operations", check::operations(expected, operations));
        }
        self.line.operations = operations;
        self.line.write(&mut played.log);
        let at = words::moment(START_MS.saturating_add(self.at_ms));
        for (key, (expected, found)) in self.differences {
            let pointer = format!("{}/{key}", self.step.pointer);
            played.failures.push(Failure {
                place: scenario.document.place(&pointer),
                at: at.clone(),
                doing: self.doing.clone(),
                expected,
                found,
                after: played.story.len(),
            });
        }
        let said = match self.said.as_slice() {
            [] => String::new(),
            said => format!(": {}", said.join("; ")),
        };
        played.story.push(format!("{at:>8}  {}{said}", self.doing));
    }
}
