//! The profiles that are built in and those of a configuration, with what they inherit.

use std::collections::BTreeSet;
use std::path::Path;

use fusewire::core::classify::profile::{self, library};
use serde_json::{Map, Value};

use crate::command::settings::Settings;

/// Where profiles are looked up.
pub(super) struct Shelf {
    /// Of a configuration, which is good.
    own: Map<String, Value>,
}

/// A profile and those that it inherits from, itself first.
pub(super) struct Inheritance(pub(super) Vec<(String, Value)>);

impl Shelf {
    /// What is built in, and what this configuration has. What is wrong with it is told a line each.
    pub(super) fn new(config: Option<&Path>) -> Result<Self, Vec<String>> {
        let mut own = Map::new();
        if let Some(path) = config {
            let mut settings = Settings::read(path)?;
            let problems = settings.problems();
            if !problems.is_empty() {
                return Err(problems);
            }
            if let Some(Value::Object(profiles)) = settings.value.get_mut("profiles") {
                own = std::mem::take(profiles);
            }
        }
        Ok(Self { own })
    }

    /// Every name, in order.
    pub(super) fn names(&self) -> BTreeSet<&str> {
        let built_in = profile::built_in().map(|(name, _)| name);
        built_in
            .chain(self.own.keys().map(String::as_str))
            .collect()
    }

    /// A profile as it is written.
    pub(super) fn text(&self, name: &str) -> String {
        match self.own.get(name) {
            Some(own) => format!("{own:#}"),
            None => library::text_of(name).unwrap_or_default().to_owned(),
        }
    }

    /// A profile with what it inherits; `None` where there is none of this name.
    pub(super) fn inheritance(&self, name: &str) -> Option<Inheritance> {
        let mut is_own = self.own.contains_key(name);
        let mut name = name.to_owned();
        let mut line: Vec<(String, Value)> = Vec::new();
        loop {
            let document = match is_own {
                true => self.own.get(&name)?.clone(),
                false => built_in(&name)?,
            };
            let base = document.get("extends").and_then(Value::as_str);
            let base = base.map(str::to_owned);
            line.push((name.clone(), document));
            let Some(base) = base else {
                return Some(Inheritance(line));
            };
            is_own = library::is_own_base(is_own, &name, &base, |base| self.own.contains_key(base));
            name = base;
        }
    }
}

impl Inheritance {
    /// Its own text.
    pub(super) fn document(&self) -> &Value {
        self.0
            .first()
            .map_or(&Value::Null, |(_, document)| document)
    }

    /// Rules of its own, and all of them.
    pub(super) fn rules(&self) -> (usize, usize) {
        let own = rules(self.document()).len();
        (
            own,
            self.0
                .iter()
                .map(|(_, document)| rules(document).len())
                .sum(),
        )
    }

    /// The first that says anything of this.
    pub(super) fn said(&self, key: &str) -> Option<&str> {
        let mut said = self.0.iter().filter_map(|(_, document)| document.get(key));
        said.find_map(Value::as_str)
    }
}

/// The rules that are written in a profile.
pub(super) fn rules(document: &Value) -> &[Value] {
    let rules = document.get("rules").and_then(Value::as_array);
    rules.map(Vec::as_slice).unwrap_or_default()
}

fn built_in(name: &str) -> Option<Value> {
    serde_json::from_str(library::text_of(name)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_profile_that_is_built_in_is_there_with_what_it_inherits() {
        let shelf = Shelf { own: Map::new() };
        for name in shelf.names() {
            let inheritance = shelf.inheritance(name).expect(name);
            let (last, _) = inheritance.0.last().unwrap();
            assert!(!last.is_empty());
            assert!(
                inheritance.said("about").is_some(),
                "{name} says nothing of itself"
            );
        }
        assert!(shelf.inheritance("nothing").is_none());
    }

    #[test]
    fn a_profile_may_extend_the_built_in_one_of_its_own_name() {
        let Value::Object(own) = json!({"here": {"extends": "here", "rules": []}}) else {
            unreachable!("it is an object")
        };
        let shelf = Shelf { own };
        let names: Vec<String> = shelf
            .inheritance("here")
            .unwrap()
            .0
            .into_iter()
            .map(|(n, _)| n)
            .collect();
        assert_eq!(names[..2], ["here", "here"]);
    }
}
