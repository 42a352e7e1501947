//! The settings as a JSON Schema (draft 7, which editors of TOML know): completion, checks and
//! explanations while one types.

use fusewire_core::config::reference::{Form, Text};
use serde_json::{Map, Value, json};

use super::tree::Node;
use super::{settings, text};

/// Durations as `fusewire_core::config::duration` reads them.
const DURATION: &str = "^([0-9]+(ms|s|m|h|d))+$";

/// Settings of a policy that are its own as a whole, and of no provider.
const OF_ALL: [&str; 4] = ["component", "prefix", "profiles", "providers"];

/// The schema of a configuration file.
#[must_use]
pub fn schema() -> Value {
    let root = Node::of(&settings());
    let mut schema = of(&root);
    let mut one = root.at("/policy").cloned().unwrap_or_else(|| root.clone());
    one.children
        .retain(|(key, _)| !OF_ALL.contains(&key.as_str()));
    one.path = "/policy/providers/*".into();
    if let Some(schema) = schema.as_object_mut() {
        schema.insert(
            "$schema".into(),
            "http://json-schema.org/draft-07/schema#".into(),
        );
        schema.insert("title".into(), "The configuration of fusewire".into());
        schema.insert("definitions".into(), json!({"of-one-provider": of(&one)}));
    }
    schema
}

fn of(node: &Node) -> Value {
    let mut schema = match &node.form {
        Form::Text => json!({"type": "string"}),
        Form::Words(words) => json!({"enum": words}),
        Form::Flag => json!({"type": "boolean"}),
        Form::Whole(ends) => {
            json!({"type": "integer", "minimum": ends.start(), "maximum": ends.end()})
        }
        Form::Number(ends) => {
            json!({"type": "number", "minimum": ends.start(), "maximum": ends.end()})
        }
        Form::Duration(_) => duration(),
        Form::DurationOrTable(_) => json!({"anyOf": [duration(), table(node)]}),
        Form::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Form::Table => table(node),
        Form::TableOrFalse => json!({"anyOf": [{"const": false}, table(node)]}),
        Form::Named => json!({"type": "object", "additionalProperties": each(node)}),
        Form::List => json!({"type": "array", "items": each(node)}),
    };
    if let Some(schema) = schema.as_object_mut() {
        if let Some(text) = text(&node.path) {
            schema.insert("description".into(), description(text).into());
        }
        if let Some(default) = &node.default {
            schema.insert("default".into(), default.clone());
        }
    }
    schema
}

fn duration() -> Value {
    json!({"type": "string", "pattern": DURATION})
}

fn table(node: &Node) -> Value {
    let properties: Map<String, Value> = node
        .children
        .iter()
        .map(|(key, child)| (key.clone(), of(child)))
        .collect();
    let mut table = json!({"type": "object"});
    match node.path.as_str() {
        // Fields have whichever name.
        "/providers/*/headers" => table["additionalProperties"] = json!({"type": "string"}),
        // Another policy has settings of its own.
        "/policy" => table["properties"] = properties.into(),
        _ => {
            table["properties"] = properties.into();
            table["additionalProperties"] = false.into();
        }
    }
    table
}

/// What stands under each name, or at each number.
fn each(node: &Node) -> Value {
    match node.path.as_str() {
        "/policy/providers" => json!({"$ref": "#/definitions/of-one-provider"}),
        // policy/PROFILES.md has their syntax, and `fusewire check` checks it.
        "/policy/profiles" => json!({"type": "object"}),
        _ => node
            .children
            .iter()
            .find(|(key, _)| key == "*")
            .map_or(json!({}), |(_, each)| of(each)),
    }
}

fn description(text: &Text) -> String {
    let parts = [text.about, text.why, text.low, text.high];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusewire_core::config::duration::{format_ms, parse_ms};

    /// The few words of a schema that are used here.
    fn is_good(schema: &Value, root: &Value, value: &Value) -> bool {
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let target = root.pointer(target.trim_start_matches('#'));
            return is_good(target.unwrap(), root, value);
        }
        if let Some(any) = schema.get("anyOf").and_then(Value::as_array) {
            return any.iter().any(|one| is_good(one, root, value));
        }
        if let Some(constant) = schema.get("const") {
            return constant == value;
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            return words.contains(value);
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("object") => value.as_object().is_some_and(|object| {
                object.iter().all(|(key, value)| {
                    let own = schema.pointer("/properties").and_then(|all| all.get(key));
                    match (own, schema.get("additionalProperties")) {
                        (Some(own), _) => is_good(own, root, value),
                        (None, Some(Value::Bool(others))) => *others,
                        (None, Some(others)) => is_good(others, root, value),
                        (None, None) => true,
                    }
                })
            }),
            Some("array") => value.as_array().is_some_and(|list| {
                list.iter()
                    .all(|value| is_good(&schema["items"], root, value))
            }),
            Some("string") => value.as_str().is_some_and(|text| {
                !schema.get("pattern").is_some_and(Value::is_string) || parse_ms(text).is_some()
            }),
            Some("boolean") => value.is_boolean(),
            Some("integer") => value.as_u64().is_some_and(|n| {
                (schema["minimum"].as_u64().unwrap()..=schema["maximum"].as_u64().unwrap())
                    .contains(&n)
            }),
            Some("number") => value.as_f64().is_some_and(|n| {
                (schema["minimum"].as_f64().unwrap()..=schema["maximum"].as_f64().unwrap())
                    .contains(&n)
            }),
            _ => true,
        }
    }

    fn says(toml: &str) -> bool {
        let schema = schema();
        let value = crate::toml_places::Document::parse(toml).unwrap().value;
        is_good(&schema, &schema, &value)
    }

    #[test]
    fn the_example_is_good_by_the_schema_with_every_setting_in_it() {
        let example = include_str!("../../fusewire.example.toml");
        assert!(says(example));
        // What is commented out as well: lines that are a setting behind a `#`.
        let all: String = example
            .lines()
            .map(|line| {
                let rest = line.strip_prefix("# ").unwrap_or(line);
                let is_setting = rest.split_once(" = ").is_some_and(|(key, _)| {
                    !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '-')
                });
                let is_table = rest.starts_with('[') && rest.ends_with(']');
                let line = if is_setting || is_table { rest } else { line };
                format!("{line}\n")
            })
            .collect();
        assert!(says(&all), "{all}");
    }

    #[test]
    fn what_the_schema_refuses_is_what_a_check_refuses() {
        for wrong in [
            "listen = 8700",
            "[policy.breaker]\nidle = 3600",
            "[policy.breaker.failures]\ncount = 0",
            "[policy.breaker.failures]\ncounts = 5",
            "[policy.breaker]\nstore-failure = \"panic\"",
            "[policy.providers.p.breaker.ramp]\nfirst-share = 2",
            "[policy.providers.p]\nprefix = \"x\"",
            "[[routes]]\nchain = \"photon\"",
        ] {
            assert!(!says(wrong), "{wrong}");
            let check = crate::gateway::config::parse(wrong, "f", std::path::Path::new("."));
            assert!(check.is_err(), "{wrong}");
        }
        for right in [
            "[policy]\nslow = \"3s\"",
            "[policy.slow]\nlearnt = { times = 2.5 }",
            "[policy.breaker]\nramp = false",
            "[policy.providers.p.breaker]\nramp = { time = \"1m\" }",
            "[policy]\ncomponent = \"mine.wasm\"\nwhatever = 1",
        ] {
            assert!(says(right), "{right}");
        }
    }

    #[test]
    fn durations_are_written_as_they_are_read() {
        for ms in [1, 999, 1_000, 61_000, 3_600_000, 90_061_001] {
            let text = format_ms(ms);
            assert_eq!(parse_ms(&text), Some(ms));
            let units = text.split(|c: char| c.is_ascii_digit());
            for unit in units.filter(|unit| !unit.is_empty()) {
                assert!(DURATION.contains(unit), "{unit}");
            }
        }
    }
}
