//! Configurations of the filter, and the steps that tests take with an Envoy.

use serde_json::{Value, json};

use super::Envoy;
use crate::upstream::{Reply, Upstream};

/// A configuration of the filter whose breakers trip on three failures, and are open for as long as
/// it says; one clean probe closes them, and then all of the traffic is back. A domain is a cluster.
#[must_use]
pub fn trips_on_three(cool_down: &str) -> Value {
    json!({
        "policy": {"breaker": {
            "failures": {"count": 3, "window": "60s"},
            "cool-down": {"first": cool_down, "jitter": 0},
            "probes": {"needed": 1, "lease": "2s"},
            "ramp": false,
        }},
        "call-limit": "2s",
    })
}

/// The same with one field more, or instead.
#[must_use]
pub fn also(mut configuration: Value, name: &str, value: Value) -> Value {
    configuration[name] = value;
    configuration
}

/// The same, where an `error` in an answer of JSON is a failure of the provider, whatever its status.
#[must_use]
pub fn errors_are_failures() -> Value {
    let mut configuration = trips_on_three("30s");
    configuration["policy"]["profile"] = json!("errors");
    configuration["policy"]["profiles"] = json!({"errors": {"rules": [{
        "when": {"json": {"/error": true}},
        "then": "transient",
        "because": "there is an error in the answer",
    }]}});
    configuration
}

/// Trips a breaker that needs three failures: its provider answers 500, and goes on doing so.
///
/// # Panics
/// It does not trip.
pub async fn trip(envoy: &Envoy, upstream: &Upstream, path: &str) {
    upstream.say(Reply::status(500));
    let trips = envoy.count("transition.to_open").await;
    for _ in 0..3 {
        assert_eq!(envoy.get(path).await.status(), 500);
    }
    envoy.counted("transition.to_open", trips + 1).await;
}
