//! How a call ended, and what is expected of the verdict.

use fusewire_core::config::Reader;
use fusewire_core::{
    Blame, Effect, Field, Media, Observation, Outcome, Response, TransportFailure,
};
use serde_json::Value;

use super::expect::Fields;
use super::value::{optional_word, time_ms};
use crate::scenario::script::Ended;

/// What `with` may be, for messages.
const FORMS: &str = "write a status such as 503, a failure such as \"read-timeout\", \"dropped\", \
                     or a table such as { status = 503, headers = { retry-after = \"120\" } }";

/// Reads `with` and `verdict`.
pub(super) fn ended(reader: &Reader<'_>) -> Option<Ended> {
    let verdict = if reader.has("verdict") {
        verdict(&reader.object("verdict"))
    } else {
        Vec::new()
    };
    let observation = match reader.value("with") {
        None => {
            reader.problem("with", "this does not say how the call ended", FORMS);
            return None;
        }
        Some(Value::String(word)) if word == "dropped" => None,
        Some(Value::String(word)) => {
            let known = TransportFailure::ALL
                .iter()
                .find(|failure| failure.name() == word);
            let Some(failure) = known else {
                reader.problem(
                    "with",
                    format!("{word:?} is not a way for a call to end"),
                    FORMS,
                );
                return None;
            };
            Some(Observation::failure(*failure, 0))
        }
        Some(Value::Number(_)) => Some(Observation::response(
            Response::status(status(reader, "with")),
            0,
        )),
        Some(Value::Object(_)) => Some(observation(&reader.object("with"))),
        Some(_) => {
            reader.problem("with", "this is not a way for a call to end", FORMS);
            return None;
        }
    };
    if observation.is_none() && !verdict.is_empty() {
        reader.problem(
            "verdict",
            "a dropped call is not judged",
            "leave `verdict` out",
        );
    }
    Some(Ended {
        observation,
        verdict,
    })
}

fn observation(table: &Reader<'_>) -> Observation {
    let failure = optional_word(
        table,
        "failure",
        TransportFailure::ALL,
        TransportFailure::name,
    );
    let status = table.has("status").then(|| status(table, "status"));
    let headers = fields(table, "headers");
    let trailers = fields(table, "trailers");
    let body = table.text("body").map(String::into_bytes);
    let read = Observation {
        response: status.map(|status| Response {
            status,
            headers,
            trailers,
            body,
        }),
        failure,
        cause: table.text("cause"),
        latency_ms: time_ms(table, "latency").unwrap_or(0),
        now_ms: 0,
        idempotent: table.flag("idempotent", true),
        delivered_partial: table.flag("delivered-partial", false),
        expect: optional_word(table, "expect", Media::ALL, Media::name).unwrap_or(Media::Any),
        minimum_budget_ms: time_ms(table, "minimum-budget"),
    };
    if read.response.is_none() && read.failure.is_none() {
        let _ = table.value("status");
        table.problem(
            "",
            "neither an answer nor a failure",
            "give it a `status`, a `failure` or both",
        );
    } else if read.response.is_none() {
        let _ = table.value("status");
        for part in ["headers", "trailers", "body"]
            .iter()
            .filter(|part| table.has(part))
        {
            table.problem(
                part,
                format!("without an answer there are no {part}"),
                "give it a `status`",
            );
        }
    }
    table.finish();
    read
}

fn status(reader: &Reader<'_>, key: &str) -> u16 {
    u16::try_from(reader.whole(key, 0, 0..=u16::MAX.into())).unwrap_or(0)
}

/// Header fields: a name has a text, or a list of texts for a field that came several times.
fn fields(reader: &Reader<'_>, key: &str) -> Vec<Field> {
    let Some(value) = reader.value(key) else {
        return Vec::new();
    };
    let Some(table) = value.as_object() else {
        reader.problem(
            key,
            format!("`{key}` is not a table"),
            "write { name = \"value\" }",
        );
        return Vec::new();
    };
    let inner = reader.object(key);
    let mut fields = Vec::new();
    for name in table.keys() {
        for value in super::value::texts_or_text(&inner, name).unwrap_or_default() {
            fields.push(Field {
                name: name.clone(),
                value,
            });
        }
    }
    fields
}

fn verdict(table: &Reader<'_>) -> Vec<crate::scenario::script::Field> {
    let mut fields = Fields::new(table);
    fields.word("outcome", "/outcome", Outcome::ALL, Outcome::name);
    fields.word("effect", "/effect", Effect::ALL, Effect::name);
    fields.word("blame", "/blame", Blame::ALL, Blame::name);
    fields.flag("retry-same", "/retry-same");
    fields.flag("next-provider", "/next-provider");
    fields.flag("slow", "/slow");
    fields.span("min-delay", "/min-delay-ms");
    fields.span("retry-after", "/retry-after-ms");
    fields.text("rule", "/rule");
    table.finish();
    fields.done()
}
