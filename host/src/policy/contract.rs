//! Whether bytes are a component of the world that this host can run: before anything of it is
//! compiled, so that what is refused is refused by its name.
//!
//! The contract is taken from the policy that this host was built with. Of a contract `0.1.x`, any
//! `x` will do: within it interfaces do not change, and what is new comes in new ones
//! (`wit/package.wit`, "Growth").

use wasmparser::component_types::{
    ComponentEntityType, ComponentInstanceType, ComponentInstanceTypeId, SubtypeCx,
};
use wasmparser::types::Types;
use wasmparser::{Validator, WasmFeatures};

use super::facts::{Facts, Kind};
use super::{Artefact, vet::in_bytes};
use crate::engine::BUILT_IN;
use crate::engine::contract::{self, EXPORTS, IMPORT, OPTIONAL, PACKAGE};

/// The versions of the contract that this host can run.
const VERSION: &str = "0.1.";

/// How many things that are wrong are told: the first ones tell enough.
const MOST_TOLD: usize = 5;

/// A component every part of which is valid.
pub struct Valid {
    /// What can be told of it.
    pub facts: Facts,
    own: Types,
    contract: Types,
    /// What can be told of the policy that the contract is taken from.
    model: Facts,
}

impl Valid {
    /// Reads an artefact to its end.
    ///
    /// # Errors
    /// It is longer than `largest` bytes, or no component, or not valid: what it is, and what would
    /// be right, as a text that a person can read.
    pub fn read(artefact: &Artefact, largest: usize) -> Result<Self, String> {
        let bytes = artefact.bytes();
        if bytes.len() > largest {
            return Err(format!(
                "it has {}, and may have {}",
                in_bytes(bytes.len() as u64),
                in_bytes(largest as u64)
            ));
        }
        let facts = Facts::of(bytes);
        if let Some(why) = wrong_kind(facts.kind) {
            return Err(why.to_owned());
        }
        // One validator for both: only then can their types be compared.
        let mut validator = Validator::new_with_features(WasmFeatures::default());
        let own = validator.validate_all(bytes).map_err(|error| {
            let at = error.offset();
            match at >= bytes.len() || error.message().starts_with("unexpected end") {
                true => format!(
                    "it is cut off: it ends after {} bytes, in the middle of a section",
                    bytes.len()
                ),
                false => format!("it is damaged at byte {at}: {}", error.message()),
            }
        })?;
        validator.reset();
        let contract = validator
            .validate_all(BUILT_IN)
            .map_err(|error| format!("this host's own policy is not valid: {error}"))?;
        if let Some(why) = &facts.problem {
            return Err(format!("what it carries cannot be read: {why}"));
        }
        Ok(Self {
            facts,
            own,
            contract,
            model: Facts::of(BUILT_IN),
        })
    }

    /// Whether it imports nothing beyond the contract, and exports all that it asks for, each function
    /// with the contract's type, those of optional interfaces included: what was found.
    ///
    /// # Errors
    /// What is missing, too much, or of another type.
    pub fn check_world(&self) -> Result<String, String> {
        let mut wrong = self.wrong_imports();
        for interface in EXPORTS {
            wrong.extend(self.wrong_export(interface));
        }
        let optional = OPTIONAL.into_iter().filter(|it| self.exports(it));
        let optional: Vec<&str> = optional.collect();
        for interface in &optional {
            wrong.extend(self.wrong_export(interface));
        }
        let more = wrong.len().saturating_sub(MOST_TOLD);
        wrong.truncate(MOST_TOLD);
        if more > 0 {
            wrong.push(format!("and {more} more"));
        }
        if !wrong.is_empty() {
            return Err(wrong.join("; "));
        }
        let Facts {
            imports, exports, ..
        } = &self.facts;
        let imports = match imports.as_slice() {
            [] => "nothing".to_owned(),
            names => names.join(", "),
        };
        let others: Vec<&str> = exports
            .iter()
            .map(String::as_str)
            .filter(|name| {
                let is = |wanted: &&str| version(name, wanted).is_some();
                !EXPORTS.iter().chain(&optional).any(is)
            })
            .collect();
        let others = match others.as_slice() {
            [] => String::new(),
            names => format!(", and what nobody calls: {}", names.join(", ")),
        };
        let optional = optional.iter().map(|interface| format!(" and {interface}"));
        let optional = optional.collect::<String>();
        Ok(format!(
            "imports {imports}; exports all that the contract asks for{optional}{others}"
        ))
    }

    /// Whether it exports this interface, in a version that this host can run.
    fn exports(&self, interface: &str) -> bool {
        let mut exports = self.facts.exports.iter();
        exports.any(|name| version(name, interface).is_some_and(|v| v.starts_with(VERSION)))
    }

    fn wrong_imports(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut beyond = Vec::new();
        for name in &self.facts.imports {
            match version(name, IMPORT) {
                None if contract::came_later(name) => wrong.push(format!(
                    "it imports `{name}`, which this host's contract does not have{}",
                    remedy(name)
                )),
                None => beyond.push(format!("`{name}`")),
                Some(version) if !version.starts_with(VERSION) => wrong.push(format!(
                    "it imports `{name}`, of another contract: this host has {VERSION}x{}",
                    remedy(name)
                )),
                Some(_) => wrong.extend(self.wrong_import(name)),
            }
        }
        if !beyond.is_empty() {
            wrong.insert(
                0,
                format!(
                    "it imports {}, and may import nothing but `{PACKAGE}{IMPORT}`",
                    beyond.join(", ")
                ),
            );
        }
        wrong
    }

    /// What it expects of the import that the contract does not have.
    fn wrong_import(&self, name: &str) -> Vec<String> {
        let own = self.own.as_ref().component_item_for_import(name);
        let contract = self.interface_of_contract(IMPORT, false);
        let (Some(own), Some(contract)) = (own.map(|item| item.ty), contract) else {
            return vec![format!("`{name}` cannot be compared with the contract")];
        };
        let Some(own) = instance(&own) else {
            return vec![format!("`{name}` is no interface")];
        };
        let contract = &self.contract[contract];
        let mut wrong = Vec::new();
        for (function, item) in &self.own[own].exports {
            let Some(given) = contract.exports.get(function) else {
                wrong.push(format!(
                    "it imports `{IMPORT}.{function}`, which the contract does not have"
                ));
                continue;
            };
            let mut compare = SubtypeCx::new_with_refs(self.contract.as_ref(), self.own.as_ref());
            if let Err(error) = compare.component_entity_type(&given.ty, &item.ty, 0) {
                wrong.push(format!(
                    "it imports `{IMPORT}.{function}` with another type than the contract's: {}",
                    error.message()
                ));
            }
        }
        wrong
    }

    /// What is wrong with its export of one of the contract's interfaces.
    fn wrong_export(&self, interface: &str) -> Vec<String> {
        let exported = self
            .facts
            .exports
            .iter()
            .filter_map(|name| version(name, interface).map(|version| (name, version)));
        let (right, other): (Vec<_>, Vec<_>) =
            exported.partition(|(_, version)| version.starts_with(VERSION));
        let Some((name, _)) = right.first() else {
            return vec![match other.first() {
                Some((name, _)) => {
                    format!(
                        "it exports `{name}`, of another contract: this host has {VERSION}x{}",
                        remedy(name)
                    )
                }
                None => format!("it does not export `{PACKAGE}{interface}@{VERSION}x`"),
            }];
        };
        let own = self.own.as_ref().component_item_for_export(name);
        let contract = self.interface_of_contract(interface, true);
        let (Some(own), Some(contract)) = (own.map(|item| item.ty), contract) else {
            return vec![format!("`{name}` cannot be compared with the contract")];
        };
        let Some(own) = instance(&own) else {
            return vec![format!("`{name}` is no interface")];
        };
        self.wrong_functions(interface, &self.own[own], &self.contract[contract])
    }

    fn wrong_functions(
        &self,
        interface: &str,
        own: &ComponentInstanceType,
        contract: &ComponentInstanceType,
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        for (function, wanted) in &contract.exports {
            if !matches!(wanted.ty, ComponentEntityType::Func(_)) {
                // Types are compared where a function uses them.
                continue;
            }
            let Some(found) = own.exports.get(function) else {
                wrong.push(format!("it does not export `{interface}.{function}`"));
                continue;
            };
            let mut compare = SubtypeCx::new_with_refs(self.own.as_ref(), self.contract.as_ref());
            if let Err(error) = compare.component_entity_type(&found.ty, &wanted.ty, 0) {
                wrong.push(format!(
                    "it exports `{interface}.{function}` with another type than the contract's: {}",
                    error.message()
                ));
            }
        }
        wrong
    }

    /// An interface of the contract, as the host's own policy has it.
    fn interface_of_contract(
        &self,
        interface: &str,
        exported: bool,
    ) -> Option<ComponentInstanceTypeId> {
        let types = self.contract.as_ref();
        let names = match exported {
            true => &self.model.exports,
            false => &self.model.imports,
        };
        let name = names
            .iter()
            .find(|name| version(name, interface).is_some())?;
        let item = match exported {
            true => types.component_item_for_export(name),
            false => types.component_item_for_import(name),
        };
        item.and_then(|item| instance(&item.ty))
    }
}

fn instance(item: &ComponentEntityType) -> Option<ComponentInstanceTypeId> {
    match item {
        ComponentEntityType::Instance(id) => Some(*id),
        _ => None,
    }
}

/// What would help where a policy is of a contract that came after this host.
fn remedy(name: &str) -> &'static str {
    match contract::came_later(name) {
        true => ", and it needs a newer host",
        false => "",
    }
}

/// The version of this interface of the contract that is named here; `None`: it is another.
fn version<'n>(name: &'n str, interface: &str) -> Option<&'n str> {
    name.strip_prefix(PACKAGE)?
        .strip_prefix(interface)?
        .strip_prefix('@')
}

/// Why bytes of this kind cannot be a policy, and what can be done; `None`: they can.
fn wrong_kind(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Component => return None,
        Kind::WitPackage => {
            "it is a WIT package, that is types without code: build a component of the world \
             `fusewire:policy/policy`"
        }
        Kind::CoreModule => {
            "it is a core module, not a component: make one of it, with `wasm-tools component new` \
             or what your language has for that"
        }
        Kind::Text => {
            "it is WebAssembly's text form: make the binary form of it with `wasm-tools parse`"
        }
        Kind::MachineCode => {
            "it is machine code, and a policy is a component of WebAssembly: give the file that it \
             was compiled from"
        }
        Kind::Compressed => "it is compressed: unpack it first",
        Kind::Empty => "it is empty",
        Kind::Unknown => "it is not WebAssembly: a component begins with the bytes 00 61 73 6d",
    })
}
