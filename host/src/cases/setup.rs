//! By which settings an input is judged.
//!
//! Settings are those of providers, and an input names a profile, or wants one setting to be
//! another. So a policy gets a configuration in which each such wish is a provider of its own.

use std::collections::BTreeMap;

use fusewire_core::Target;
use fusewire_core::config::duration::format_ms;
use serde_json::{Map, Value, json};

use crate::toml_places::pointer_to;

/// Whose settings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whom {
    /// What holds for a provider that the configuration does not name.
    General,
    /// The general ones, with this profile.
    Profile(String),
    /// Those of this provider.
    Provider(String),
}

/// By which settings an input is judged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setup {
    /// Whose settings.
    pub whom: Whom,
    /// From when on an answer is slow, in ms, where the input says so itself.
    pub slow_ms: Option<u64>,
    /// What the caller needs of the JSON: a JSON Pointer.
    pub require_key: Option<String>,
}

impl Setup {
    /// The general settings with this profile, and nothing else.
    #[must_use]
    pub fn profile(name: &str) -> Self {
        Self::of(Whom::Profile(name.to_owned()))
    }

    /// These settings, and nothing else.
    #[must_use]
    pub fn of(whom: Whom) -> Self {
        Self {
            whom,
            slow_ms: None,
            require_key: None,
        }
    }

    /// The name that a provider of these settings would best have.
    fn name(&self) -> &str {
        match &self.whom {
            Whom::General => "any",
            Whom::Profile(name) | Whom::Provider(name) => name,
        }
    }

    /// Whether the settings are just those of a provider.
    fn is_plain_provider(&self) -> bool {
        let plain = self.slow_ms.is_none() && self.require_key.is_none();
        plain && matches!(self.whom, Whom::Provider(_))
    }
}

/// A configuration with a provider for each setup.
#[derive(Debug, Clone)]
pub struct Assigned {
    /// For the policy.
    pub configuration: Value,
    providers: BTreeMap<Setup, String>,
}

impl Assigned {
    /// Extends a policy's configuration. One that is no configuration is for the policy to refuse.
    #[must_use]
    pub fn new<'s>(base: &Value, setups: impl IntoIterator<Item = &'s Setup>) -> Self {
        let mut this = Self {
            configuration: base.clone(),
            providers: BTreeMap::new(),
        };
        for setup in setups {
            if !this.providers.contains_key(setup) {
                let provider = this.add(base, setup);
                this.providers.insert(setup.clone(), provider);
            }
        }
        this
    }

    /// Whom an input of this setup is a call to. A setup that was not given is judged by the
    /// general settings.
    #[must_use]
    pub fn target(&self, setup: &Setup) -> Target {
        let provider = self
            .providers
            .get(setup)
            .map_or(setup.name(), String::as_str);
        Target::provider(provider)
    }

    /// Adds a provider, and answers its name.
    fn add(&mut self, base: &Value, setup: &Setup) -> String {
        if setup.is_plain_provider() {
            return setup.name().to_owned();
        }
        let (mut settings, profile) = match &setup.whom {
            Whom::General => (json!({}), general_profile(base).to_owned()),
            Whom::Profile(name) => (json!({}), name.clone()),
            Whom::Provider(name) => {
                let own = base.pointer(&pointer_to("/providers", name));
                let own = own.cloned().unwrap_or_else(|| json!({}));
                let profile = own.get("profile").and_then(Value::as_str);
                let profile = profile.unwrap_or_else(|| general_profile(base)).to_owned();
                (own, profile)
            }
        };
        let profile = match &setup.require_key {
            None => profile,
            Some(pointer) => {
                let rules = json!({"extends": profile, "rules": [requirement(pointer)]});
                // A name that none of the built-in ones has: it would take the place of that one.
                self.put("profiles", &format!("{profile}-required"), rules)
            }
        };
        if let Some(settings) = settings.as_object_mut() {
            settings.insert("profile".into(), profile.into());
            if let Some(ms) = setup.slow_ms {
                settings.insert("slow".into(), format_ms(ms).into());
            }
        }
        self.put("providers", setup.name(), settings)
    }

    /// Puts a value into this table under the first name like this one that is free, and answers
    /// the name.
    fn put(&mut self, table: &str, like: &str, value: Value) -> String {
        let Some(root) = self.configuration.as_object_mut() else {
            return like.to_owned();
        };
        let table = root.entry(table).or_insert_with(|| Map::new().into());
        let Some(table) = table.as_object_mut() else {
            return like.to_owned();
        };
        let names = (2..).map(|n: u32| format!("{like}-{n}"));
        let name = std::iter::once(like.to_owned())
            .chain(names)
            .find(|name| !table.contains_key(name))
            .unwrap_or_default();
        table.insert(name.clone(), value);
        name
    }
}

/// The profile of a provider that names none.
#[must_use]
pub fn general_profile(configuration: &Value) -> &str {
    let profile = configuration.get("profile").and_then(Value::as_str);
    profile.unwrap_or("http")
}

/// The rule that an answer without what the caller needs is a failure.
fn requirement(pointer: &str) -> Value {
    json!({
        "name": "required-key",
        "when": {"status": "2xx", "json": {pointer: false}},
        "then": "transient",
        "because": "the answer lacks a key that the caller needs",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setup_is_a_provider_and_those_of_the_configuration_stay_as_they_are() {
        let base = json!({
            "slow": "1s",
            "providers": {"here": {"profile": "mine", "slow": "2s"}},
            "profiles": {"mine": {"extends": "here"}},
        });
        let own = Setup::of(Whom::Provider("here".into()));
        let plain = Setup::profile("here");
        let slow = Setup {
            slow_ms: Some(1_500),
            ..own.clone()
        };
        let demanding = Setup {
            require_key: Some("/items".into()),
            ..plain.clone()
        };
        let assigned = Assigned::new(&base, [&own, &plain, &slow, &demanding, &plain]);
        let target = |setup| assigned.target(setup).provider;
        assert_eq!(target(&own), "here");
        let providers = &assigned.configuration["providers"];
        assert_eq!(providers["here"], base["providers"]["here"]);
        assert_eq!(providers[target(&plain)], json!({"profile": "here"}));
        assert_eq!(
            providers[target(&slow)],
            json!({"profile": "mine", "slow": "1s500ms"})
        );
        let required = providers[target(&demanding)]["profile"].as_str().unwrap();
        let profile = &assigned.configuration["profiles"][required];
        assert_eq!(profile["extends"], "here");
        assert_eq!(
            profile["rules"][0]["when"]["json"],
            json!({"/items": false})
        );
        assert_eq!(providers.as_object().unwrap().len(), 4);

        let base = json!({"profile": "mine", "providers": {"any": {"slow": "2s"}}});
        let general = Setup::of(Whom::General);
        let assigned = Assigned::new(&base, [&general]);
        let provider = assigned.target(&general).provider;
        let settings = &assigned.configuration["providers"][&provider];
        assert_eq!(
            (&*provider, settings),
            ("any-2", &json!({"profile": "mine"}))
        );
    }
}
