//! A rule as a person reads it.

use serde_json::Value;

/// Conditions in the order in which they are best read: from what is seen first of an answer to what
/// is deepest in it.
const ORDER: [&str; 11] = [
    "expect", "status", "grpc", "header", "trailer", "media", "magic", "event", "json", "xml",
    "text",
];

/// All that a rule asks for; of one with alternatives each.
pub(super) fn when(rule: &Value) -> Vec<String> {
    let alternatives = match rule.get("when") {
        Some(Value::Array(alternatives)) => &alternatives[..],
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let told = |when: &Value| {
        let conditions = ORDER.iter().filter_map(|name| {
            let asked = when.get(name)?;
            Some(condition(name, asked))
        });
        conditions.flatten().collect::<Vec<_>>().join(" and ")
    };
    alternatives.iter().map(told).collect()
}

/// What a rule says.
pub(super) fn then(rule: &Value) -> String {
    let text = |key: &str| rule.get(key).and_then(Value::as_str);
    let mut said = vec![match text("then").unwrap_or_default() {
        "generic" => "left to the generic rules".to_owned(),
        word => word.to_owned(),
    }];
    said.extend(text("delay").map(|delay| format!("for {delay}")));
    said.extend(rule.get("retry").map(|retry| match retry.as_bool() {
        Some(true) => "sent again".to_owned(),
        Some(false) => "not sent again".to_owned(),
        None => "sent again if idempotent".to_owned(),
    }));
    said.extend(rule.get("next").map(|next| match next.as_bool() {
        Some(false) => "no other provider is asked".to_owned(),
        _ => "the next provider is asked".to_owned(),
    }));
    said.extend(text("effect").map(|effect| format!("counts as {effect}")));
    said.extend(text("blame").map(|whom| format!("{whom} to blame")));
    said.extend(rule.get("hint").map(|place| match place {
        Value::Bool(_) => "whatever wait is told is not believed".to_owned(),
        place => format!("waits as told by {}", hint(place)),
    }));
    let said = said.join(", ");
    match text("because") {
        Some(because) => format!("{said}: {because}"),
        None => said,
    }
}

/// Where a wait is told.
pub(super) fn hint(place: &Value) -> String {
    let mut parts = Vec::new();
    for (name, value) in place.as_object().into_iter().flatten() {
        match (name.as_str(), value.as_str()) {
            ("unit", _) => {}
            (name, Some(value)) => parts.push(format!("{name} {value}")),
            (name, None) => parts.push(format!("{name} {value}")),
        }
    }
    let unit = place.get("unit").and_then(Value::as_str);
    match unit.filter(|unit| *unit != "auto") {
        Some(unit) => format!("{} ({unit})", parts.join(" ")),
        None => parts.join(" "),
    }
}

fn condition(name: &str, asked: &Value) -> Vec<String> {
    let tests = match (name, asked) {
        ("header" | "trailer" | "json" | "xml", Value::Object(tests)) => tests,
        ("text", asked) => return vec![format!("the text has {}", any(asked, value))],
        ("event", asked) => return vec![format!("event {}", test(asked))],
        ("media", asked) => return vec![format!("media type {}", any(asked, word))],
        ("magic", asked) => return vec![format!("the body begins as {}", any(asked, word))],
        ("expect", asked) => return vec![format!("the caller expects {}", any(asked, word))],
        (name, asked) => return vec![format!("{name} {}", any(asked, word))],
    };
    let place = |(place, asked): (&String, &Value)| match place.as_str() {
        "" => format!("{name} as a whole {}", test(asked)),
        place => format!("{name} {place} {}", test(asked)),
    };
    tests.iter().map(place).collect()
}

/// What is asked of one value.
fn test(asked: &Value) -> String {
    match asked {
        Value::Bool(true) => "is there".to_owned(),
        Value::Bool(false) => "is not there".to_owned(),
        Value::Object(all) => {
            let tests = all
                .iter()
                .map(|(name, asked)| match (name.as_str(), asked) {
                    ("is", asked) => format!("is {}", any(asked, value)),
                    ("not", asked) => format!("is not {}", any(asked, value)),
                    ("contains", asked) => format!("contains {}", any(asked, value)),
                    ("starts", asked) => format!("starts with {}", any(asked, value)),
                    ("empty", Value::Bool(false)) => "is not empty".to_owned(),
                    ("empty", _) => "is empty".to_owned(),
                    ("at-least", asked) => format!("is at least {asked}"),
                    ("at-most", asked) => format!("is at most {asked}"),
                    (name, asked) => format!("{name} {asked}"),
                });
            tests.collect::<Vec<_>>().join(" and ")
        }
        asked => format!("is {}", any(asked, value)),
    }
}

/// One of a list, or the one that is written by itself.
fn any(asked: &Value, one: fn(&Value) -> String) -> String {
    match asked {
        Value::Array(list) => list.iter().map(one).collect::<Vec<_>>().join(" or "),
        asked => one(asked),
    }
}

/// A text in quotes, anything else as in JSON.
fn value(value: &Value) -> String {
    value.to_string()
}

/// A text without quotes.
fn word(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_alternatives_of_a_rule_are_told_one_by_one() {
        let rule = json!({"when": [{"status": 503}, {"magic": "empty"}], "then": "throttled"});
        assert_eq!(when(&rule).len(), 2);
        assert_eq!(when(&rule)[0], "status 503");
    }

    #[test]
    fn a_rule_reads_as_a_sentence() {
        let rule = json!({
            "when": {
                "status": [403, "5xx"],
                "header": {"x-detail": {"contains": ["Qps", "QPS"]}},
                "json": {"/error/code": [8, "8"], "/items": false, "": {"empty": true}},
                "text": "too fast",
            },
            "then": "throttled",
            "delay": "1m",
            "retry": false,
            "hint": {"json": "/wait", "unit": "ms"},
            "because": "the account is over its queries",
        });
        assert_eq!(
            when(&rule),
            [
                "status 403 or 5xx and header x-detail contains \"Qps\" or \"QPS\" and json as a whole is \
             empty and json /error/code is 8 or \"8\" and json /items is not there and the text has \
             \"too fast\""
            ]
        );
        assert_eq!(
            then(&rule),
            "throttled, for 1m, not sent again, waits as told by json /wait (ms): the account is \
             over its queries"
        );
    }
}
