//! What came of it, for people.

use std::fmt::Write;

use crate::judge::Failed;
use crate::list::Mutant;

/// How many scenarios are named of those that fail with a mutant beyond the ones that must.
const OTHERS_NAMED: usize = 2;

/// One line a mutant: its trap, its name, and which scenarios fail.
#[must_use]
pub fn of(results: &[(Mutant, Vec<Failed>)]) -> String {
    let width = results.iter().map(|(mutant, _)| mutant.name.len()).max();
    let width = width.unwrap_or_default();
    let trap = results.iter().map(|(mutant, _)| mutant.trap.len()).max();
    let trap = trap.unwrap_or_default().max("trap".len());
    // Writing to a String does not fail.
    let mut table = String::new();
    let _ = writeln!(
        table,
        "{:trap$}  {:width$}  scenarios that fail",
        "trap", "mutant"
    );
    for (mutant, failed) in results {
        let _ = writeln!(
            table,
            "{:trap$}  {:width$}  {:2}: {}",
            mutant.trap,
            mutant.name,
            failed.len(),
            names(mutant, failed)
        );
    }
    table
}

/// Those that must fail first; `!` before one that did not.
fn names(mutant: &Mutant, failed: &[Failed]) -> String {
    let fails = |name: &String| failed.iter().any(|f| f.name == *name);
    let mut names: Vec<String> = mutant
        .caught_by
        .iter()
        .map(|name| format!("{}{name}", if fails(name) { "" } else { "!" }))
        .collect();
    let mut others = failed
        .iter()
        .filter(|failed| !mutant.caught_by.contains(&failed.name));
    names.extend(others.by_ref().take(OTHERS_NAMED).map(|f| f.name.clone()));
    let left = others.count();
    if left > 0 {
        names.push(format!("and {left} more"));
    }
    names.join(", ")
}
