//! The labelled cases of this repository, and the configuration by which they are judged.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fusewire::cases::{Assigned, Case, Reading, Setup};
use fusewire_core::Target;
use serde_json::json;

/// The files: the cases that the rules were made from, others of the same services, and answers as
/// these services give them when all is well.
pub const FILES: [&str; 3] = ["labelled.jsonl", "unseen.jsonl", "ordinary.jsonl"];

/// When the cases are, unless they say: the beginning of 2026, in ms.
const NOW_MS: u64 = 1_767_225_600_000;

/// Cases, and whom each is a call to.
pub struct Cases {
    /// The cases.
    pub cases: Vec<Case>,
    assigned: Assigned,
}

impl Cases {
    /// All of them.
    ///
    /// # Panics
    /// One cannot be read; the message has every mistake.
    #[must_use]
    pub fn all() -> Self {
        Self::of(FILES.iter().flat_map(|file| read(file)).collect())
    }

    /// All of them, in batches whose configurations have no more than this many providers: about
    /// what a gateway has. Each is read anew by each instance of a policy, within the limits of one
    /// call.
    ///
    /// # Panics
    /// As [`Cases::all`].
    #[must_use]
    pub fn batches(providers: usize) -> Vec<Self> {
        let mut by_setup: BTreeMap<Setup, Vec<Case>> = BTreeMap::new();
        for case in Self::all().cases {
            let setup = case.input.setup.clone();
            by_setup.entry(setup).or_default().push(case);
        }
        let groups: Vec<Vec<Case>> = by_setup.into_values().collect();
        let batches = groups.chunks(providers);
        batches.map(|batch| Self::of(batch.concat())).collect()
    }

    fn of(cases: Vec<Case>) -> Self {
        let assigned = Assigned::new(&json!({}), cases.iter().map(|case| &case.input.setup));
        Self { cases, assigned }
    }

    /// The policy's configuration: a provider for each profile.
    #[must_use]
    pub fn configuration(&self) -> String {
        self.assigned.configuration.to_string()
    }

    /// Whom a case is a call to.
    #[must_use]
    pub fn target(&self, case: &Case) -> Target {
        self.assigned.target(&case.input.setup)
    }
}

fn read(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("cases")
        .join(file);
    let text = fs::read_to_string(path).expect("the cases");
    let reading = Reading {
        now_ms: NOW_MS,
        ..Reading::default()
    };
    reading.cases(&text).unwrap_or_else(|mistakes| {
        let lines = mistakes.iter().map(|mistake| format!("\n{file}:{mistake}"));
        panic!("{}", lines.collect::<String>())
    })
}
