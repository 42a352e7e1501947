//! Reading a component's sections.

use std::ops::Range;

use wasmparser::{Chunk, Encoding, Parser, Payload};

use crate::{SECTION, check};

/// The scenarios that a component carries: file names and texts, in their order.
///
/// # Errors
/// The bytes are no component whose sections can be told apart, or one of the scenarios is damaged,
/// or they are more or larger than is allowed: why, as a sentence.
pub fn scenarios(component: &[u8]) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    for carried in carried(component)? {
        let number = found.len().saturating_add(1);
        let text = std::str::from_utf8(carried.content)
            .map_err(|_| format!("the scenario number {number} is not a text in UTF-8"))?;
        let (name, text) = text
            .split_once('\n')
            .ok_or_else(|| format!("the scenario number {number} does not begin with its name"))?;
        found.push((name.to_owned(), text.to_owned()));
    }
    check(&found)?;
    Ok(found)
}

/// A section with a scenario in it.
pub(crate) struct Carried<'a> {
    /// The whole section, its head included.
    pub(crate) place: Range<usize>,
    /// What is in it.
    pub(crate) content: &'a [u8],
}

/// The sections that hold scenarios. Those inside of modules and components within are not looked
/// at.
pub(crate) fn carried(component: &[u8]) -> Result<Vec<Carried<'_>>, String> {
    let mut parser = Parser::new(0);
    let mut carried = Vec::new();
    let mut at = 0usize;
    loop {
        let rest = component.get(at..).unwrap_or_default();
        let (consumed, payload) = match parser.parse(rest, true) {
            Ok(Chunk::Parsed { consumed, payload }) => (consumed, payload),
            // With all there is at hand, an end too early is an error of the parser's instead.
            Ok(Chunk::NeedMoreData(_)) => return Err("the bytes end too early".to_owned()),
            Err(error) => return Err(format!("not a component that can be read: {error}")),
        };
        let begins = at;
        at = at.saturating_add(consumed);
        match payload {
            Payload::Version {
                encoding: Encoding::Module,
                ..
            } => {
                return Err("a core module, and not a component".to_owned());
            }
            Payload::ModuleSection {
                unchecked_range, ..
            }
            | Payload::ComponentSection {
                unchecked_range, ..
            } => {
                // The parser has told its length alone: what is in it is passed over.
                at = unchecked_range.end;
                if at > component.len() {
                    return Err("the bytes end in the middle of a section".to_owned());
                }
            }
            Payload::CustomSection(section) if section.name() == SECTION => {
                carried.push(Carried {
                    place: begins..at,
                    content: section.data(),
                });
            }
            Payload::End(_) => return Ok(carried),
            _ => {}
        }
    }
}
