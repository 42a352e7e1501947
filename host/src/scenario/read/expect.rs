//! What is expected of admissions, records, states and events.

use fusewire_core::config::Reader;
use fusewire_core::{OverrideMode, Phase, RefusalReason};
use serde_json::Value;

use super::value::{WHOLE_MAX, optional_flag, optional_whole, optional_word, time_ms};
use crate::scenario::check::is_nothing;
use crate::scenario::script::{Expected, Facts, Field, OrderEnd, Want, Wanted};
use crate::scenario::words;

/// What is expected of an admission: `expect` of `admit` and `call`.
pub(super) fn admission(reader: &Reader<'_>) -> Option<Expected> {
    const RIGHT: &str = "write \"allowed\", \"probe\", \"admitted\" (either), \"refused\" or \
                         { refused = \"open\", retry-after = \"30s\" }";
    match reader.value("expect")? {
        Value::Object(_) => Some(refusal(&reader.object("expect"))),
        Value::String(word) => match word.as_str() {
            "admitted" => Some(Expected::Admitted),
            "allowed" => Some(Expected::Allowed),
            "probe" => Some(Expected::Probe),
            "refused" => Some(Expected::Refused {
                reason: None,
                retry_after_ms: None,
                domain: None,
                says: None,
            }),
            other => {
                reader.problem(
                    "expect",
                    format!("{other:?} is not an answer to a call"),
                    RIGHT,
                );
                None
            }
        },
        _ => {
            reader.problem("expect", "this is not an answer to a call", RIGHT);
            None
        }
    }
}

fn refusal(table: &Reader<'_>) -> Expected {
    if !table.has("refused") {
        table.problem(
            "refused",
            "this does not say why it is refused",
            "write `refused = \"open\"`",
        );
    }
    let read = Expected::Refused {
        reason: optional_word(table, "refused", RefusalReason::ALL, RefusalReason::name),
        retry_after_ms: time_ms(table, "retry-after"),
        domain: table.text("domain"),
        says: table.text("says"),
    };
    table.finish();
    read
}

/// What is expected of an admission's limits: `limits = { total = "4s", overdue = "10s" }`, each a
/// span or `false`.
pub(super) fn limits(reader: &Reader<'_>) -> Vec<Field> {
    if !reader.has("limits") {
        return Vec::new();
    }
    let table = reader.object("limits");
    let mut fields = Fields::new(&table);
    for (name, pointer) in [("total", "/total-ms"), ("overdue", "/overdue-ms")] {
        match table.value(name) {
            None => {}
            Some(Value::Bool(false)) => fields.push(name, pointer, Want::Nothing),
            Some(_) => fields.span(name, pointer),
        }
    }
    table.finish();
    fields.done()
}

/// What is expected of what a policy says of a domain: `expect` of `explain`.
pub(super) fn facts(reader: &Reader<'_>) -> Option<Facts> {
    if let Some(Value::Object(subjects)) = reader.value("expect") {
        let table = reader.object("expect");
        let wanted = subjects.iter().map(|(subject, value)| {
            let _ = table.value(subject);
            let value = match value {
                Value::Bool(false) => None,
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            };
            (subject.clone(), value)
        });
        return Some(Facts::Are(wanted.collect()));
    }
    let end = reader.word_opt("expect", &OrderEnd::WORDS);
    if end.is_none() && !reader.has("expect") {
        let wrong = "this does not say what is expected of it";
        reader.problem("expect", wrong, "write such as { phase = \"open\" }");
    }
    end.map(Facts::Failed)
}

pub(super) fn is_refusal(expected: &Expected) -> bool {
    matches!(expected, Expected::Refused { .. })
}

/// What is expected of a stored record: `expect` of `record`.
pub(super) fn record(reader: &Reader<'_>) -> Option<Wanted> {
    wanted(reader, "record", |table, fields| {
        fields.word("phase", "/phase", Phase::ALL, Phase::name);
        fields.whole("schema", "/schema");
        fields.whole("revision", "/revision");
        fields.whole("openings", "/openings");
        fields.whole("flaps", "/flaps");
        fields.whole("passed", "/passed");
        fields.whole("enforce", "/override/enforce");
        fields.text("rule", "/rule");
        fields.time("epoch", "/epoch");
        fields.time("until", "/until");
        fields.time("expires", "/expires");
        hold(table, fields);
        pace(table, fields);
        lease(table, fields);
        order(
            table,
            fields,
            [
                "/override",
                "/override/mode",
                "/override/who",
                "/override/until",
            ],
        );
    })
}

/// What is expected of a domain's state: `expect` of `inspect`.
pub(super) fn state(reader: &Reader<'_>) -> Option<Wanted> {
    wanted(reader, "state", |table, fields| {
        fields.word("phase", "/phase", Phase::ALL, Phase::name);
        fields.whole("openings", "/openings");
        fields.whole("passed", "/probes-passed");
        fields.whole("successes", "/successes");
        fields.whole("failures", "/failures");
        fields.whole("slow", "/slow");
        fields.whole("retries", "/retries");
        fields.time("epoch", "/epoch");
        fields.time("until", "/until-ms");
        lease(table, fields);
        order(
            table,
            fields,
            ["/order", "/order/mode", "/order/who", "/order/until"],
        );
    })
}

fn wanted(
    reader: &Reader<'_>,
    what: &str,
    read: impl FnOnce(&Reader<'_>, &mut Fields<'_, '_>),
) -> Option<Wanted> {
    match reader.value("expect") {
        Some(Value::String(word)) if word == "absent" => Some(Wanted::Absent),
        Some(Value::Object(_)) => {
            let table = reader.object("expect");
            let mut fields = Fields::new(&table);
            read(&table, &mut fields);
            table.finish();
            Some(Wanted::Fields(fields.done()))
        }
        _ => {
            let wrong = format!("this does not say what is expected of the {what}");
            reader.problem(
                "expect",
                wrong,
                "write \"absent\" or a table such as { phase = \"open\" }",
            );
            None
        }
    }
}

/// `lease = false`, `lease = "owner"` or `lease = { owner = …, expires = … }`.
fn lease(table: &Reader<'_>, fields: &mut Fields<'_, '_>) {
    match table.value("lease") {
        None => {}
        Some(Value::Bool(false)) => fields.push("lease", "/lease", Want::Nothing),
        Some(Value::String(owner)) => fields.is("lease", "/lease/owner", owner.as_str()),
        Some(_) => {
            let inner = table.object("lease");
            let mut parts = Fields::within(&inner, "lease");
            parts.text("owner", "/lease/owner");
            parts.text("token", "/lease/token");
            parts.time("expires", "/lease/expires");
            inner.finish();
            fields.list.extend(parts.done());
        }
    }
}

/// `hold = false`, or until when.
fn hold(table: &Reader<'_>, fields: &mut Fields<'_, '_>) {
    match table.value("hold") {
        None => {}
        Some(Value::Bool(false)) => fields.push("hold", "/hold", Want::Nothing),
        Some(_) => fields.time("hold", "/hold/until"),
    }
}

/// `pace = false`, or the percentile.
fn pace(table: &Reader<'_>, fields: &mut Fields<'_, '_>) {
    match table.value("pace") {
        None => {}
        Some(Value::Bool(false)) => fields.push("pace", "/pace", Want::Nothing),
        Some(_) => fields.span("pace", "/pace/p99"),
    }
}

/// `order = false`, `order = "open"` or `order = { mode = …, who = …, until = … }`.
fn order(table: &Reader<'_>, fields: &mut Fields<'_, '_>, pointers: [&'static str; 4]) {
    let [whole, mode, who, until] = pointers;
    match table.value("order") {
        None => {}
        Some(Value::Bool(false)) => fields.push("order", whole, Want::Nothing),
        Some(Value::String(_)) => fields.word("order", mode, OverrideMode::ALL, OverrideMode::name),
        Some(_) => {
            let inner = table.object("order");
            let mut parts = Fields::within(&inner, "order");
            parts.word("mode", mode, OverrideMode::ALL, OverrideMode::name);
            parts.text("who", who);
            parts.time("until", until);
            inner.finish();
            fields.list.extend(parts.done());
        }
    }
}

/// The events that a step expects, all of them and in order.
pub(super) fn events(reader: &Reader<'_>) -> Option<Vec<String>> {
    let events = reader.texts("events")?;
    for event in events.iter().filter(|event| !words::is_event(event)) {
        reader.problem(
            "events",
            format!("{event:?} is not an event"),
            words::EVENT_FORMS,
        );
    }
    Some(events)
}

/// Collects what is expected of the fields of one table.
pub(super) struct Fields<'r, 'a> {
    table: &'r Reader<'a>,
    within: &'static str,
    list: Vec<Field>,
}

impl<'r, 'a> Fields<'r, 'a> {
    pub(super) fn new(table: &'r Reader<'a>) -> Self {
        Self {
            table,
            within: "",
            list: Vec::new(),
        }
    }

    fn within(table: &'r Reader<'a>, within: &'static str) -> Self {
        Self {
            table,
            within,
            list: Vec::new(),
        }
    }

    pub(super) fn done(self) -> Vec<Field> {
        self.list
    }

    fn push(&mut self, name: &str, pointer: &'static str, want: Want) {
        let name = match self.within {
            "" => name.to_owned(),
            within => format!("{within}.{name}"),
        };
        self.list.push(Field {
            name,
            pointer,
            want,
        });
    }

    fn is(&mut self, name: &str, pointer: &'static str, value: impl Into<Value>) {
        let value = value.into();
        // Records leave out what is zero.
        let want = if is_nothing(&value) {
            Want::Nothing
        } else {
            Want::Is(value)
        };
        self.push(name, pointer, want);
    }

    pub(super) fn word<T: Copy + PartialEq>(
        &mut self,
        name: &str,
        pointer: &'static str,
        all: &[T],
        word: fn(T) -> &'static str,
    ) {
        if let Some(member) = optional_word(self.table, name, all, word) {
            self.is(name, pointer, word(member));
        }
    }

    pub(super) fn text(&mut self, name: &str, pointer: &'static str) {
        if let Some(text) = self.table.text(name) {
            self.is(name, pointer, text);
        }
    }

    pub(super) fn whole(&mut self, name: &str, pointer: &'static str) {
        if let Some(number) = optional_whole(self.table, name, 0..=WHOLE_MAX) {
            self.is(name, pointer, number);
        }
    }

    pub(super) fn flag(&mut self, name: &str, pointer: &'static str) {
        if let Some(flag) = optional_flag(self.table, name) {
            self.push(name, pointer, Want::Is(flag.into()));
        }
    }

    /// A time since the beginning, or "never".
    fn time(&mut self, name: &str, pointer: &'static str) {
        if self.table.value(name) == Some(&Value::from("never")) {
            self.push(name, pointer, Want::Nothing);
        } else if let Some(ms) = time_ms(self.table, name) {
            self.push(name, pointer, Want::Time(ms));
        }
    }

    /// A span, or false for none.
    pub(super) fn span(&mut self, name: &str, pointer: &'static str) {
        if self.table.value(name) == Some(&Value::Bool(false)) {
            self.push(name, pointer, Want::Nothing);
        } else if let Some(ms) = time_ms(self.table, name) {
            self.push(name, pointer, Want::Span(ms));
        }
    }
}
