//! What must hold of every answer, configuration and hint, whatever its bytes are. What does not
//! hold is a panic, which is what a fuzzer looks for.

use std::sync::OnceLock;

use fusewire_core::classify::BODY_MAX;
use fusewire_core::classify::profile::built_in;
use fusewire_core::{Blame, Effect, Observation, Outcome, Policy, Response, Target, Verdict};
use serde_json::{Map, Value, json};

use crate::memory::measured;
use crate::written::{Answer, NOW_MS, fields};

/// The most that one verdict may allocate in all, in bytes, whatever the answer is.
pub const TOTAL_MAX: usize = 1 << 20;
/// The most that it may hold at one moment.
pub const HELD_MAX: usize = 512 << 10;

/// The longest hint that is believed, by default.
const HINT_MAX_MS: u64 = 6 * 3_600_000;
/// The longest that a call waits in line, by default.
const INLINE_MAX_MS: u64 = 30_000;
/// The longest delay that a rule may ask for.
const DELAY_MAX_MS: u64 = 7 * 24 * 3_600_000;

/// A configuration in which each profile that is built in has a provider of its name.
#[must_use]
pub fn every_profile() -> String {
    let providers: Map<String, Value> = built_in()
        .map(|(name, _)| (name.to_owned(), json!({ "profile": name })))
        .collect();
    json!({ "providers": providers }).to_string()
}

/// A policy with [`every_profile`].
pub fn policy() -> &'static Policy {
    static POLICY: OnceLock<Policy> = OnceLock::new();
    POLICY.get_or_init(|| configured(&every_profile()).expect("the built-in profiles are good"))
}

fn configured(json: &str) -> Option<Policy> {
    let mut policy = Policy::default();
    policy.configure(json).is_empty().then_some(policy)
}

/// An answer, judged by the profile that it names.
pub fn answer(text: &[u8]) -> Verdict {
    let answer = Answer::read(text);
    let target = Target::provider(answer.profile);
    let verdict = judged(policy(), &target, &answer.observation);
    // A rule of a configuration may say otherwise; none that is built in does.
    let is_good = matches!(verdict.outcome, Outcome::Success | Outcome::NoResult);
    let may_be_failure = matches!(verdict.outcome, Outcome::Transient | Outcome::ProviderDown);
    let agrees = match verdict.effect {
        Effect::Success | Effect::SlowSuccess => is_good && verdict.blame == Blame::Nobody,
        Effect::Failure => may_be_failure && verdict.blame != Blame::Nobody,
        Effect::Neutral => !is_good,
    };
    assert!(
        agrees,
        "outcome, effect and blame do not agree: {verdict:?}"
    );
    verdict
}

/// A profile and, behind an empty line, an answer that is judged by it. The profile alone is taken
/// for a whole configuration too.
pub fn configuration(text: &[u8]) {
    let at = text.windows(2).position(|pair| pair == b"\n\n");
    let (profile, text) = match at {
        Some(at) => (&text[..at], &text[at + 2..]),
        None => (text, &[][..]),
    };
    let Ok(profile) = std::str::from_utf8(profile) else {
        return;
    };
    let observation = Answer::read(text).observation;
    let target = Target::provider("fuzzed");
    let whole = [
        r#"{"profile": "fuzzed", "profiles": {"fuzzed": "#,
        profile,
        "}}",
    ]
    .concat();
    for json in [&whole, profile] {
        if let Some(policy) = configured(json) {
            let _ = policy.wanted(&target);
            judged(&policy, &target, &observation);
        }
    }
}

/// Header fields, in every kind of answer that has a wait in them.
pub fn hints(text: &[u8]) {
    let headers = fields(text);
    for profile in ["http", "llm", "grpc", "google-rpc"] {
        for status in [200, 403, 413, 429, 503] {
            let response = Response {
                headers: headers.clone(),
                ..Response::status(status)
            };
            let observation = Observation::response(response, NOW_MS);
            judged(policy(), &Target::provider(profile), &observation);
        }
    }
}

/// Judges an answer in every way, and checks that all of them agree, what it costs, and that the
/// verdict makes sense.
fn judged(policy: &Policy, target: &Target, observation: &Observation) -> Verdict {
    let (verdict, allocated) = measured(|| policy.classify(target, observation));
    assert!(
        allocated.total <= TOTAL_MAX && allocated.held <= HELD_MAX,
        "too much memory: {allocated:?}"
    );
    assert_eq!(
        policy.explain(target, observation).verdict,
        verdict,
        "the explanation is of another verdict"
    );
    let mut first = observation.clone();
    let body = first.response.as_mut().and_then(|r| r.body.as_mut());
    if let Some(body) = body.filter(|body| body.len() > BODY_MAX) {
        body.truncate(BODY_MAX);
        assert_eq!(
            policy.classify(target, &first),
            verdict,
            "what is beyond the first 64 KiB was looked at"
        );
    }
    sensible(&verdict, observation);
    verdict
}

fn sensible(verdict: &Verdict, observation: &Observation) {
    let check = |holds: bool, what: &str| assert!(holds, "{what}: {verdict:?}");
    check(
        verdict.retry_after_ms.unwrap_or(0) <= HINT_MAX_MS,
        "a hint is longer than is believed",
    );
    check(
        verdict.min_delay_ms <= DELAY_MAX_MS,
        "a delay is longer than any rule may ask for",
    );
    check(
        !verdict.retry_same || verdict.min_delay_ms <= INLINE_MAX_MS,
        "it retries in line after a longer wait than calls wait",
    );
    check(
        !observation.delivered_partial || !(verdict.retry_same || verdict.next_provider),
        "it goes on where a part was delivered",
    );
    check(
        (1..=128).contains(&verdict.rule.len()) && !verdict.rule.contains(char::is_control),
        "the rule has no name that could be kept",
    );
    check(
        (1..=4096).contains(&verdict.reason.len()),
        "the reason is none, or too long",
    );
    check(
        (verdict.effect == Effect::SlowSuccess) <= verdict.slow,
        "it is slow and is not",
    );
    check(
        verdict.outcome != Outcome::Cancelled || verdict.retry_after_ms.is_none(),
        "a provider's wait where nobody waits",
    );
}
