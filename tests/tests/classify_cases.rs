//! Labelled cases of plain HTTP: what the classifier says of a status, a failure below HTTP, and
//! Retry-After, without a profile and without a look at the body.

use fusewire_core::{
    Effect, Field, Media, Observation, Policy, Response, Target, TransportFailure,
};
use serde_json::Value;

const CASES: &str = include_str!("../cases/http.jsonl");

/// The cases' names of failures below HTTP, where they are not the contract's.
fn failure(name: &str) -> TransportFailure {
    match name {
        "h2_refused_stream" => TransportFailure::RefusedStream,
        "closed_before_first_byte_reused" => TransportFailure::StaleConnection,
        other => TransportFailure::from_name(&other.replace('_', "-"))
            .unwrap_or_else(|| panic!("an unknown failure: {other}")),
    }
}

fn observation(input: &Value) -> Observation {
    let response = input["status"].as_u64().map(|status| Response {
        status: u16::try_from(status).expect("a status"),
        headers: input["headers"]
            .as_object()
            .expect("headers")
            .iter()
            .map(|(name, value)| Field {
                name: name.clone(),
                value: value.as_str().expect("a text").into(),
            })
            .collect(),
        trailers: Vec::new(),
        body: None,
    });
    Observation {
        response,
        failure: input["transport"].as_str().map(failure),
        cause: None,
        latency_ms: input["latency_ms"].as_u64().expect("a latency"),
        // The clock of the cases: 2026-01-01.
        now_ms: 1_767_225_600_000,
        idempotent: input["idempotent"].as_bool().unwrap_or(true),
        delivered_partial: input["delivered_partial"].as_bool().unwrap_or(false),
        expect: Media::Any,
        minimum_budget_ms: input["min_budget_ms"].as_u64(),
    }
}

fn differences() -> Vec<String> {
    let policy = Policy::default();
    CASES
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a case is JSON"))
        .filter_map(|case| {
            let verdict = policy.classify(&Target::provider("p"), &observation(&case["input"]));
            let outcome = verdict.outcome.name().replace('-', "_");
            let found = format!(
                "{outcome} {} same={} next={} {}",
                match verdict.effect {
                    Effect::SlowSuccess => "slow_success",
                    other => other.name(),
                },
                verdict.retry_same,
                verdict.next_provider,
                verdict.min_delay_ms,
            );
            let expected = &case["expected"];
            let wanted = format!(
                "{} {} same={} next={} {}",
                expected["outcome"].as_str()?,
                expected["breaker_effect"].as_str()?,
                expected["retry_same"],
                expected["next_provider"],
                expected["min_delay_ms"],
            );
            (found != wanted).then(|| {
                format!(
                    "{}: wanted {wanted}, found {found} ({})",
                    case["id"], case["why"]
                )
            })
        })
        .collect()
}

#[test]
fn every_labelled_case_of_plain_http_has_its_verdict() {
    let differences = differences();
    assert!(
        differences.is_empty(),
        "{} differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
}
