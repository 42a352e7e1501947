//! Verdicts against what is expected of them.

use std::collections::BTreeMap;

use fusewire::cases::{Case, Difference};
use fusewire::core::Verdict;
use serde_json::json;

use crate::command::output::{Lines, Paint, columns, printable, width, wrapped};

/// How many of a group agree.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    cases: u64,
    agree: u64,
}

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Agreement {
    groups: BTreeMap<String, Tally>,
    differing: Vec<Differing>,
}

/// A case whose verdict is another one.
#[derive(Debug)]
struct Differing {
    id: String,
    at: String,
    rule: String,
    reason: String,
    why: String,
    differences: Vec<Difference>,
}

impl Agreement {
    /// Compares a verdict, and writes what was found as a line of JSON where that is wanted.
    pub(super) fn compare(
        &mut self,
        case: &Case,
        verdict: &Verdict,
        at: &str,
        out: Option<&mut Lines>,
    ) -> anyhow::Result<()> {
        let differences = case.expected.differences(verdict);
        let tally = self.groups.entry(case.group.clone()).or_default();
        tally.cases += 1;
        tally.agree += u64::from(differences.is_empty());
        if let Some(out) = out {
            let differences = differences.iter();
            let differences = differences.map(
                |Difference {
                     field,
                     expected,
                     found,
                 }| {
                    json!({"field": field, "expected": expected, "found": found})
                },
            );
            let line = json!({
                "at": at,
                "id": case.id,
                "group": case.group,
                "differences": differences.collect::<Vec<_>>(),
                "verdict": verdict,
            });
            out.line(&line.to_string())?;
        }
        if !differences.is_empty() {
            self.differing.push(Differing {
                id: case.id.clone(),
                at: at.to_owned(),
                rule: verdict.rule.clone(),
                reason: verdict.reason.clone(),
                why: case.why.clone(),
                differences,
            });
        }
        Ok(())
    }

    /// Whether there was no case at all.
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub(super) fn differs(&self) -> bool {
        !self.differing.is_empty()
    }

    /// The groups, each difference, and how many there are.
    pub(super) fn report(&self, out: &mut Lines, paint: Paint) -> anyhow::Result<()> {
        let head = ["GROUP", "CASES", "AGREE", "DIFFER"].map(str::to_owned);
        let rows = self.groups.iter().map(|(group, Tally { cases, agree })| {
            let differ = match cases - agree {
                0 => String::new(),
                differ => differ.to_string(),
            };
            [
                printable(group),
                cases.to_string(),
                agree.to_string(),
                differ,
            ]
        });
        let rows: Vec<[String; 4]> = std::iter::once(head).chain(rows).collect();
        for line in columns(&rows) {
            out.line(&line)?;
        }
        for differing in &self.differing {
            out.line("")?;
            for line in differing.lines(paint) {
                out.line(&line)?;
            }
        }
        out.line("")?;
        Ok(out.line(&self.last_line(paint))?)
    }

    fn last_line(&self, paint: Paint) -> String {
        let cases: u64 = self.groups.values().map(|tally| tally.cases).sum();
        let s = if cases == 1 { "" } else { "s" };
        match self.differing.len() {
            0 => paint.good(&format!("{cases} case{s}, all as expected")),
            differ => paint.bad(&format!("{cases} case{s}, {differ} not as expected")),
        }
    }
}

impl Differing {
    fn lines(&self, paint: Paint) -> Vec<String> {
        let mut lines = vec![format!(
            "{} {}",
            paint.bad(&printable(&self.id)),
            paint.faint(&format!("({})", self.at))
        )];
        for Difference {
            field,
            expected,
            found,
        } in &self.differences
        {
            let (expected, found) = (printable(expected), printable(found));
            lines.push(format!("  {field}: expected {expected}, found {found}"));
        }
        let by = format!("found by {}: {}", self.rule, self.reason);
        let why = match self.why.as_str() {
            "" => String::new(),
            why => format!("expected because {why}"),
        };
        for text in [by, why] {
            let text = wrapped(&printable(&text), width().saturating_sub(2));
            lines.extend(text.iter().map(|line| format!("  {line}")));
        }
        lines
    }
}
