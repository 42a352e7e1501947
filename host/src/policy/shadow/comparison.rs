//! Differences by pair of decisions, with samples that show what was asked.

use std::collections::BTreeMap;

use fusewire_core::{Admission, Decision, Ending, Event, Step, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::engine::tape::{Answered, Operation, Recording};
use crate::engine::{Answer, Call, Fault};
use crate::guard::generation::Asked;
use crate::scenario::words;

/// The most samples kept of one pair.
const SAMPLES: usize = 3;
/// The most pairs that are told apart; what differs beyond that is counted as one more.
const PAIRS: usize = 64;
/// The pair of all that is not told apart.
const OTHERS: &str = "other differences";
/// The longest text of a stored value in a sample, in bytes.
const VALUE_SHOWN: usize = 1 << 10;
/// The longest decision in words, in bytes: a policy writes some of them.
const WORDS_MAX: usize = 200;

/// What came of comparing two policies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Comparison {
    /// Questions that both have answered.
    pub compared: u64,
    /// Of these, the ones that they answered differently, the candidate's failures included.
    pub differences: u64,
    /// Questions that the candidate failed at, that of what it looks at included: traps, time-outs,
    /// breaches of the contract.
    pub faults: u64,
    /// The last such failure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_fault: Option<String>,
    /// Store operations that were refused to the candidate.
    pub store_refusals: u64,
    /// Calls that the serving policy refused and the other one would have let through, now or by
    /// not opening the breaker.
    pub refusals: u64,
    /// Questions that were left out, since the comparison could not keep up.
    pub left_out: u64,
    /// The differences by pair of decisions, the most frequent first.
    pub pairs: Vec<Pair>,
}

/// One pair of decisions that differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Pair {
    /// What was asked: `admit`, `classify`, `settle`, `next`.
    pub kind: String,
    /// What the serving policy decided.
    pub serving: String,
    /// What the other one decided.
    pub candidate: String,
    /// How often.
    pub count: u64,
    /// The first few: the question, what the store held, and both answers.
    pub samples: Vec<Value>,
}

impl Pair {
    /// The pair in one line: `admit: allowed, and the other one refused: open`.
    #[must_use]
    pub fn words(&self) -> String {
        format!(
            "{}: {} here, {} there",
            self.kind, self.serving, self.candidate
        )
    }
}

/// What a comparison has come to so far.
#[derive(Default)]
pub(super) struct Tally {
    comparison: Comparison,
    pairs: BTreeMap<(String, String, String), (u64, Vec<Value>)>,
}

impl Tally {
    pub(super) fn snapshot(&self) -> Comparison {
        let mut comparison = self.comparison.clone();
        comparison.pairs = self
            .pairs
            .iter()
            .map(|((kind, serving, candidate), (count, samples))| Pair {
                kind: kind.clone(),
                serving: serving.clone(),
                candidate: candidate.clone(),
                count: *count,
                samples: samples.clone(),
            })
            .collect();
        comparison
            .pairs
            .sort_by_key(|pair| std::cmp::Reverse(pair.count));
        comparison
    }

    pub(super) fn left_out(&mut self) {
        self.comparison.left_out += 1;
    }

    pub(super) fn refused(&mut self, operations: u32) {
        self.comparison.store_refusals += u64::from(operations);
    }

    pub(super) fn refuses_more(&mut self, does: bool) {
        self.comparison.refusals += u64::from(does);
    }

    /// Takes in a failure of the candidate at a question that is not compared.
    pub(super) fn failed(&mut self, fault: &Fault) {
        self.comparison.faults += 1;
        self.comparison.last_fault = Some(fault.to_string());
    }

    /// Takes in what both have said. `sample` is made where one is needed.
    pub(super) fn take(
        &mut self,
        kind: &str,
        serving: &Said,
        candidate: &Said,
        sample: impl FnOnce() -> Value,
    ) {
        self.comparison.compared += 1;
        if let Some(fault) = &candidate.fault {
            self.failed(fault);
        }
        if serving.words == candidate.words {
            return;
        }
        self.comparison.differences += 1;
        let mut pair = (
            kind.to_owned(),
            serving.words.clone(),
            candidate.words.clone(),
        );
        if self.pairs.len() >= PAIRS && !self.pairs.contains_key(&pair) {
            pair = (kind.to_owned(), OTHERS.into(), OTHERS.into());
        }
        let (count, samples) = self.pairs.entry(pair).or_default();
        *count += 1;
        if samples.len() < SAMPLES {
            samples.push(sample());
        }
    }
}

/// What a policy said to a question, in the words by which it is compared.
pub(super) struct Said {
    pub(super) words: String,
    pub(super) fault: Option<Fault>,
    /// All of it, for a sample.
    whole: Value,
}

impl Said {
    pub(super) fn answer(answer: &Result<Answer, Fault>) -> Self {
        match answer {
            Ok(Answer::Admission(a)) => Self::of(admission(a), a),
            Ok(Answer::Settled(events)) => Self::of(happened(events), events),
            Ok(Answer::Step(step)) => Self::of(next(step).to_owned(), step),
            Ok(Answer::States(states)) => Self::of("states".into(), states),
            Ok(Answer::Ordered(_)) => Self::of("ordered".into(), &()),
            Ok(Answer::Facts(_)) => Self::of("facts".into(), &()),
            Err(fault) => Self::failed(fault),
        }
    }

    pub(super) fn verdict(verdict: &Result<Verdict, Fault>) -> Self {
        match verdict {
            Ok(v) => Self::of(format!("{}, {}, {}", v.outcome, v.effect, v.blame), v),
            Err(fault) => Self::failed(fault),
        }
    }

    fn of(mut words: String, whole: &impl Serialize) -> Self {
        shorten(&mut words, WORDS_MAX);
        Self {
            words,
            fault: None,
            whole: serde_json::to_value(whole).unwrap_or_default(),
        }
    }

    fn failed(fault: &Fault) -> Self {
        Self {
            words: format!("failed: {}", fault.kind()),
            fault: Some(fault.clone()),
            whole: fault.to_string().into(),
        }
    }
}

fn admission(admission: &Admission) -> String {
    match &admission.decision {
        Decision::Allowed(permit) if permit.probe => "probe".into(),
        Decision::Allowed(_) => "allowed".into(),
        Decision::Refused(refusal) => format!("refused: {}", refusal.reason),
    }
}

/// What happened, in the words of the scenarios; what kind of domain it happened to rather than which,
/// so that the same difference at another provider is the same pair.
fn happened(events: &[Event]) -> String {
    let one = |event: &Event| {
        let words = words::event(event, &event.domain);
        match (event.domain.contains('@'), event.domain.contains('/')) {
            (true, _) => format!("account: {words}"),
            (_, true) => format!("operation: {words}"),
            _ => words,
        }
    };
    match events {
        [] => "nothing".into(),
        events => events.iter().map(one).collect::<Vec<_>>().join("; "),
    }
}

fn next(step: &Step) -> &'static str {
    match step {
        Step::Done => "done",
        Step::Retry(_) => "retry",
        Step::NextProvider => "next provider",
        Step::GiveUp(_) => "give up",
    }
}

/// A difference as people look at it.
pub(super) fn sample(
    asked: &Asked,
    serving: &Said,
    candidate: &Said,
    recording: Option<&Recording>,
) -> Value {
    let question = match asked {
        Asked::Call(Call::Admit(target, context), ..) => {
            json!({"target": target, "context": context})
        }
        Asked::Call(Call::Settle(permit, ending, timing, context), ..) => {
            let ending = match ending {
                Ending::Judged(verdict) => json!({ "judged": verdict }),
                Ending::Dropped => "dropped".into(),
            };
            json!({"permit": permit, "ending": ending, "timing": timing, "context": context})
        }
        Asked::Call(Call::Overdue(permit, context), ..) => {
            json!({"permit": permit, "overdue": true, "context": context})
        }
        Asked::Call(Call::Next(progress, verdict, context), ..) => {
            json!({"progress": progress, "verdict": verdict, "context": context})
        }
        Asked::Call(Call::Inspect(..) | Call::Order(..) | Call::Explain(..), ..) => Value::Null,
        Asked::Classify(target, observation, _) => {
            // Not the bodies and fields of real calls: they are others' data, and may be secret.
            let mut observation = observation.clone();
            if let Some(response) = &mut observation.response {
                for field in response.headers.iter_mut().chain(&mut response.trailers) {
                    if !is_shown(&field.name) {
                        field.value = "…".into();
                    }
                }
                response.body = Default::default();
            }
            json!({"target": target, "observation": observation})
        }
    };
    json!({
        "asked": question,
        "store": recording.map(stored),
        "serving": serving.whole,
        "candidate": candidate.whole,
    })
}

/// Whether a header field's value is shown in samples: those that decisions depend on.
fn is_shown(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "content-type"
        || name == "date"
        || name.starts_with("retry-after")
        || name.contains("ratelimit")
        || name.contains("rate-limit")
        || name.starts_with("grpc-")
}

/// What the store answered, as people look at it.
fn stored(recording: &Recording) -> Value {
    let text = |bytes: &Option<Vec<u8>>| match bytes {
        Some(bytes) => {
            let mut text = String::from_utf8_lossy(bytes).into_owned();
            shorten(&mut text, VALUE_SHOWN);
            text.into()
        }
        None => Value::Null,
    };
    let one = |(operation, answered): &(Operation, Answered)| {
        let (what, key) = match operation {
            Operation::Get(keys) => ("get", json!(keys)),
            Operation::Swap(key, ..) => ("swap", json!(key)),
            Operation::Count(windows) => {
                let keys: Vec<&str> = windows.iter().map(|w| w.key.as_str()).collect();
                ("count", json!(keys))
            }
        };
        let answer = match answered {
            Answered::Got(values) => values.iter().map(text).collect(),
            Answered::Swapped(done) => json!(done),
            Answered::Counted(tallies) => tallies
                .iter()
                .map(|tally| {
                    let lanes = tally
                        .lanes
                        .iter()
                        .map(|l| (l.name.clone(), json!(l.amount)));
                    json!({"epoch": tally.epoch, "lanes": Value::Object(lanes.collect())})
                })
                .collect(),
            Answered::Unavailable => "out of reach".into(),
            Answered::Refused(why) => json!({ "refused": why }),
        };
        json!({what: key, "answer": answer})
    };
    recording.iter().map(one).collect()
}

/// Cuts a text off, at the end of a character.
fn shorten(text: &mut String, longest: usize) {
    if text.len() > longest {
        let end = (0..=longest).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusewire_core::{Field, Observation, Response, Target};

    fn said(words: &str) -> Said {
        Said::of(words.into(), &words)
    }

    #[test]
    fn differences_are_counted_by_pair_and_the_first_few_are_kept() {
        let mut tally = Tally::default();
        for n in 0..5 {
            tally.take("admit", &said("allowed"), &said("allowed"), || json!(n));
            tally.take("admit", &said("allowed"), &said("refused: open"), || {
                json!(n)
            });
        }
        tally.take("settle", &said("nothing"), &said("probe passed"), || {
            json!("s")
        });
        let comparison = tally.snapshot();
        assert_eq!((comparison.compared, comparison.differences), (11, 6));
        assert_eq!(comparison.pairs.len(), 2);
        let first = &comparison.pairs[0];
        assert_eq!(first.words(), "admit: allowed here, refused: open there");
        assert_eq!(
            (first.count, &first.samples),
            (5, &vec![json!(0), json!(1), json!(2)])
        );
    }

    #[test]
    fn pairs_without_end_are_counted_as_one() {
        let mut tally = Tally::default();
        for n in 0..1_000 {
            tally.take("admit", &said("allowed"), &said(&format!("{n}")), || {
                json!(n)
            });
        }
        let comparison = tally.snapshot();
        assert_eq!(comparison.differences, 1_000);
        assert_eq!(comparison.pairs.len(), PAIRS + 1);
        assert_eq!(comparison.pairs[0].serving, OTHERS);
    }

    #[test]
    fn a_failure_of_the_candidate_is_a_difference_and_a_fault() {
        let mut tally = Tally::default();
        let failed = Said::failed(&Fault::Deadline(100));
        tally.take("next", &said("done"), &failed, || json!(1));
        let comparison = tally.snapshot();
        assert_eq!((comparison.differences, comparison.faults), (1, 1));
        let last = comparison.last_fault.expect("the fault");
        assert_eq!(last, "the policy ran for longer than 100 ms");
    }

    #[test]
    fn a_sample_shows_that_there_were_fields_and_none_of_their_secrets_or_of_the_body() {
        let field = |name: &str, value: &str| Field {
            name: name.into(),
            value: value.into(),
        };
        let response = Response {
            headers: vec![field("retry-after", "7"), field("set-cookie", "secret")],
            trailers: vec![field("x-checked", "secret")],
            body: Some(b"secret".to_vec()),
            ..Response::status(429)
        };
        let observation = Observation::response(response, 1);
        let verdict = Err(Fault::Deadline(100));
        let said = Said::verdict(&verdict);
        let asked = Asked::Classify(Target::provider("p"), observation, verdict);
        let sample = sample(&asked, &said, &said, None).to_string();
        assert!(
            sample.contains("set-cookie") && sample.contains("\"7\""),
            "{sample}"
        );
        for secret in ["secret", "115,101,99"] {
            assert!(!sample.contains(secret), "{sample}");
        }
    }

    #[test]
    fn long_words_are_cut_off_within_no_character() {
        let said = said(&"ü".repeat(300));
        assert!(said.words.ends_with("ü…"), "{}", said.words);
        assert!(said.words.len() <= WORDS_MAX + "…".len());
    }
}
