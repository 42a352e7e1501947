//! What can be set: names, units, defaults and bounds, each with the reason for its value.

use fusewire_core::Policy;
use fusewire_core::config::{Problem, Reader};
use serde_json::Value;

use super::rule::TargetRule;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// Everything that one configuration of the filter says.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The policy, set up.
    pub policy: Policy,
    /// Whom a request is made to.
    pub target: TargetRule,
    /// The HTTP status of the filter's own answer.
    pub status: u32,
    /// Whether every request is let through, whatever the policy says.
    pub observe: bool,
    /// This Envoy's id in the fleet; `None`: its node's.
    pub instance: Option<String>,
    /// How long a call may last at the longest, in ms. 15 s: Envoy's own limit for a route that
    /// has none.
    pub call_limit_ms: u64,
    /// For how many of the policy's keys there is room.
    pub keys: usize,
    /// How many bytes of an answer's body are looked at at the most, whatever the policy wants.
    pub body_limit: u32,
    /// The fleet, where there is one.
    pub fleet: Option<FleetSettings>,
}

/// Where the fleet is, and how often it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetSettings {
    /// The cluster of Envoy's in which the Fusewire host is.
    pub cluster: String,
    /// The authority that it is asked as.
    pub authority: String,
    /// The path that it is asked at.
    pub path: String,
    /// How often, in ms.
    pub every_ms: u64,
    /// How long its answer is waited for, in ms.
    pub timeout_ms: u64,
    /// What it wants to be shown.
    pub token: Option<String>,
}

impl Settings {
    /// Reads a configuration. No text at all is an empty one.
    ///
    /// # Errors
    /// Every problem found, each at its place.
    pub fn from_json(json: &[u8]) -> Result<Self, Vec<Problem>> {
        let json = if json.trim_ascii().is_empty() {
            b"{}"
        } else {
            json
        };
        let document: Value = serde_json::from_slice(json).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            vec![Problem {
                path: String::new(),
                wrong: format!("this is not JSON from line {line}, column {column} on"),
                right: "write an object, in a google.protobuf.StringValue".into(),
            }]
        })?;
        Self::from_value(&document)
    }

    fn from_value(document: &Value) -> Result<Self, Vec<Problem>> {
        let root = Reader::root(document);
        let mut policy = Policy::default();
        let policy_problems = match root.value("policy") {
            Some(given) => policy.configure(&given.to_string()),
            None => Vec::new(),
        };
        let reply = root.object("reply");
        let body = root.object("body");
        let read = Self {
            policy,
            target: TargetRule::read(&root.object("target")),
            status: small(reply.whole("status", 503, 400..=599)),
            observe: root.word("mode", &[("enforce", false), ("observe", true)], false),
            instance: root.text("instance"),
            call_limit_ms: root.duration_ms("call-limit", 15 * SECOND, 1..=HOUR),
            keys: usize::try_from(root.whole("keys", 1_024, 16..=16_384)).unwrap_or_default(),
            // As much as a policy may want (`wit/evidence.wit`): it asks for what its rules need.
            body_limit: small(body.whole("bytes", 64 * 1024, 0..=64 * 1024)),
            fleet: FleetSettings::read(&root),
        };
        if read.instance.as_ref().is_some_and(|id| !is_name(id)) {
            root.problem(
                "instance",
                "this is no id",
                "write 1 to 128 bytes without control characters",
            );
        }
        reply.finish();
        body.finish();
        root.finish();
        let mut problems = root.problems();
        problems.extend(policy_problems.into_iter().map(|problem| Problem {
            path: ["/policy", &problem.path].concat(),
            ..problem
        }));
        if problems.is_empty() {
            Ok(read)
        } else {
            Err(problems)
        }
    }
}

impl FleetSettings {
    fn read(root: &Reader<'_>) -> Option<Self> {
        if !root.has("fleet") {
            let _ = root.value("fleet");
            return None;
        }
        let at = root.object("fleet");
        let cluster = at.text("cluster");
        if !at.has("cluster") {
            at.problem(
                "cluster",
                "the cluster of the Fusewire host is missing",
                "name a cluster of this Envoy's",
            );
        }
        let text = |key: &str, default: &str| at.text(key).unwrap_or_else(|| default.to_owned());
        let read = Self {
            cluster: cluster.unwrap_or_else(|| "fusewire".into()),
            authority: text("authority", "fusewire"),
            path: text("path", "/fusewire/exchange"),
            // Four times a second: a trip on one Envoy is known on another within half a second.
            every_ms: at.duration_ms("every", 250, 50..=10 * SECOND),
            timeout_ms: at.duration_ms("timeout", SECOND, 50..=10 * SECOND),
            token: at.text("token"),
        };
        for (key, value) in [("cluster", &read.cluster), ("authority", &read.authority)] {
            if !is_visible(value) {
                at.problem(
                    key,
                    "it is empty, or has characters that a name has not",
                    "write visible ASCII characters",
                );
            }
        }
        if !read.path.starts_with('/') || !is_visible(&read.path) {
            at.problem(
                "path",
                "this is no path",
                "write one such as \"/fusewire/exchange\"",
            );
        }
        if read.token.as_ref().is_some_and(|token| !is_visible(token)) {
            at.problem(
                "token",
                "it is empty, or has characters that a header field has not",
                "write visible ASCII characters",
            );
        }
        at.finish();
        Some(read)
    }
}

fn is_visible(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic())
}

/// Whether this can be an instance's id (`wit/package.wit`).
#[must_use]
pub fn is_name(text: &str) -> bool {
    (1..=fusewire_core::target::NAME_MAX_BYTES).contains(&text.len())
        && !text.chars().any(char::is_control)
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AccountRule, OperationRule, ProviderRule};
    use proptest::prelude::*;

    fn problems(json: &str) -> Vec<String> {
        match Settings::from_json(json.as_bytes()) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn no_configuration_at_all_is_one() {
        for json in ["", "  ", "{}"] {
            let read = Settings::from_json(json.as_bytes()).unwrap();
            assert_eq!(read.target.provider, ProviderRule::Cluster);
            assert_eq!((read.status, read.observe, read.keys), (503, false, 1_024));
            assert!(read.fleet.is_none() && read.body_limit == 65_536);
        }
    }

    #[test]
    fn everything_can_be_set() {
        let read = Settings::from_json(
            br#"{"policy": {"breaker": {"failures": {"count": 3}}},
                 "target": {"provider": {"header": "X-Provider"},
                            "account": {"header": "authorization", "hashed": true},
                            "operation": {"path": "/v1/{operation}/**"}},
                 "reply": {"status": 429}, "mode": "observe", "instance": "envoy-1",
                 "call-limit": "8s", "keys": 64, "body": {"bytes": 4096},
                 "fleet": {"cluster": "fusewire", "authority": "fusewire:8700", "path": "/x",
                           "every": "1s", "timeout": "2s", "token": "t0ken"}}"#,
        )
        .unwrap();
        let hashed = AccountRule::Header {
            name: "authorization".into(),
            hashed: true,
        };
        assert_eq!(
            read.target.provider,
            ProviderRule::Header("x-provider".into())
        );
        assert_eq!(read.target.account, Some(hashed));
        assert!(matches!(
            read.target.operation,
            Some(OperationRule::Path(_))
        ));
        assert_eq!(
            (read.status, read.observe, read.call_limit_ms),
            (429, true, 8_000)
        );
        assert_eq!(read.fleet.unwrap().every_ms, 1_000);
        let failures = read.policy.config().settings("p").breaker.failures;
        assert_eq!(failures.unwrap().count, 3);
    }

    #[test]
    fn every_problem_is_reported_at_its_place() {
        let found = problems(
            r#"{"policy": {"breaker": {"failures": {"count": "x"}}}, "policies": 1,
                "target": {"provider": {"from": "moon"}, "account": {}, "operation": {"path": "/x", "name": "y"}},
                "reply": {"status": 200}, "mode": "off", "instance": "", "call-limit": 8,
                "keys": 1, "body": {"bytes": 65537}, "fleet": {"every": "1ms", "path": "x"}}"#,
        );
        let paths: Vec<&str> = found
            .iter()
            .map(|p| p.split(": ").next().unwrap())
            .collect();
        let mut sorted = paths.clone();
        sorted.sort_unstable();
        assert_eq!(
            sorted,
            [
                "/body/bytes",
                "/call-limit",
                "/fleet/cluster",
                "/fleet/every",
                "/fleet/path",
                "/instance",
                "/keys",
                "/mode",
                "/policies",
                "/policy/breaker/failures/count",
                "/reply/status",
                "/target/account",
                "/target/operation",
                "/target/operation/path",
                "/target/provider/from"
            ]
        );
    }

    #[test]
    fn what_is_no_json_is_said_to_be_none() {
        assert_eq!(
            problems("{\n  nonsense"),
            [
                "/: this is not JSON from line 2, column 3 on; write an object, in a google.protobuf.StringValue"
            ]
        );
        assert_eq!(
            problems("3"),
            ["/: the configuration is 3; write an object"]
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text: Vec<u8>) {
            let _ = Settings::from_json(&text);
        }
    }
}
