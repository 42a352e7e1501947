//! Writing a component with scenarios in it.

use std::borrow::Cow;

use wasm_encoder::{ComponentSection, CustomSection};

use crate::read::carried;
use crate::{SECTION, check};

/// The same component, carrying these scenarios (file names and texts) and no others: any that it
/// carried before are gone. All else is as it was, byte for byte.
///
/// # Errors
/// The bytes are no component whose sections can be told apart, or the scenarios are too many, too
/// large, or have names that cannot be carried: why, as a sentence.
pub fn with_scenarios(component: &[u8], scenarios: &[(String, String)]) -> Result<Vec<u8>, String> {
    check(scenarios)?;
    let mut bytes = Vec::with_capacity(component.len());
    let mut kept = 0;
    for section in carried(component)? {
        bytes.extend_from_slice(component.get(kept..section.place.start).unwrap_or_default());
        kept = section.place.end;
    }
    bytes.extend_from_slice(component.get(kept..).unwrap_or_default());
    for (name, text) in scenarios {
        CustomSection {
            name: Cow::Borrowed(SECTION),
            data: format!("{name}\n{text}").into_bytes().into(),
        }
        .append_to_component(&mut bytes);
    }
    Ok(bytes)
}
