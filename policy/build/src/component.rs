//! Making a component of a core module, and holding a policy to its promises.

use wit_component::{ComponentEncoder, DecodedWasm};

use crate::Result;

/// The only interface a policy may import, in whichever version.
const IMPORT: &str = "fusewire:policy/keyvalue@";

/// A host compiles the policy when it starts and when it is replaced, and a fleet carries it
/// through its store: it is kept small. A fifth of it is the profiles of some sixty services. In
/// bytes, without the scenarios that it carries: they are packed into what has come through this.
const LARGEST: usize = 480 * 1024;

/// Turns a core module that carries its WIT types into a valid component.
pub(crate) fn encode(module: &[u8]) -> Result<Vec<u8>> {
    ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(ComponentEncoder::encode)
        .map_err(|error| format!("the module does not make a component: {error:#}"))
}

/// Checks what a policy imports, and its size.
pub(crate) fn check_policy(component: &[u8]) -> Result<()> {
    let decoded = wit_component::decode(component)
        .map_err(|error| format!("the policy's component cannot be read back: {error:#}"))?;
    let DecodedWasm::Component(resolve, world) = decoded else {
        return Err("the policy was built as a WIT package, not as a component".to_owned());
    };
    let foreign: Vec<String> = resolve.worlds[world]
        .imports
        .keys()
        .map(|key| resolve.name_world_key(key))
        .filter(|name| !name.starts_with(IMPORT))
        .collect();
    if !foreign.is_empty() {
        return Err(format!(
            "the policy may import nothing but {IMPORT}…, and imports {}: find what in policy/ \
             asks for it",
            foreign.join(", ")
        ));
    }
    if component.len() > LARGEST {
        return Err(format!(
            "the policy's component has {} bytes, more than the {LARGEST} allowed: see what the \
             last change or dependency in policy/ has added",
            component.len()
        ));
    }
    Ok(())
}
