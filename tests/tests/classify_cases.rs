//! Labelled cases of real services: what each answer means, by the profile of its service.

use std::fmt::Write;

use fusewire::cases::Case;
use fusewire::engine::{ComponentEngine, Engine};
use fusewire_core::classify::BEGINNING;
use fusewire_core::{Media, Observation, Policy, Verdict, Wanted};
use fusewire_tests::cases::Cases;

fn policy(cases: &Cases) -> Policy {
    let mut policy = Policy::default();
    let problems = policy.configure(&cases.configuration());
    assert!(problems.is_empty(), "{problems:?}");
    policy
}

/// Fails with every complaint that there is about any case.
#[track_caller]
fn none_of(cases: &Cases, complaint: impl Fn(&Case) -> Option<String>) {
    let mut complaints = String::new();
    for case in &cases.cases {
        if let Some(complaint) = complaint(case) {
            let _ = writeln!(complaints, "{}: {complaint}", case.id);
        }
    }
    assert!(complaints.is_empty(), "\n{complaints}");
}

/// Two verdicts, where they are not the same.
fn other(wanted: &Verdict, found: &Verdict) -> Option<String> {
    (wanted != found).then(|| format!("{wanted:?}\n  is {found:?}"))
}

#[test]
fn every_labelled_case_has_its_verdict() {
    let cases = Cases::all();
    let policy = policy(&cases);
    none_of(&cases, |case| {
        let verdict = policy.classify(&cases.target(case), &case.input.observation);
        let differences = case.expected.differences(&verdict);
        let mut text = String::new();
        for difference in &differences {
            let (field, expected, found) =
                (difference.field, &difference.expected, &difference.found);
            let _ = write!(text, "{field} is {found} and not {expected}, ");
        }
        let (rule, why) = (&verdict.rule, &case.why);
        (!differences.is_empty()).then(|| format!("{text}by {rule} ({why})"))
    });
}

#[test]
fn the_component_judges_every_case_as_the_core_does() {
    let cases = Cases::all();
    let core = policy(&cases);
    let component = ComponentEngine::built_in(&cases.configuration()).expect("a policy");
    none_of(&cases, |case| {
        let (target, seen) = (cases.target(case), &case.input.observation);
        let found = component.classify(&target, seen).expect("a verdict");
        other(&core.classify(&target, seen), &found)
    });
}

#[test]
fn an_explanation_is_of_the_verdict_and_ends_with_the_rule_that_decided() {
    let cases = Cases::all();
    let policy = policy(&cases);
    none_of(&cases, |case| {
        let (target, seen) = (cases.target(case), &case.input.observation);
        let explanation = policy.explain(&target, seen);
        let verdict = policy.classify(&target, seen);
        let decided = explanation.tried.iter().filter(|tried| tried.decided);
        let decided: Vec<&str> = decided.map(|tried| tried.rule.as_str()).collect();
        if decided.last() != Some(&verdict.rule.as_str()) {
            return Some(format!(
                "{} decided, and {decided:?} are told",
                verdict.rule
            ));
        }
        other(&verdict, &explanation.verdict)
    });
}

#[test]
fn what_a_policy_wants_of_an_answer_is_all_that_it_looks_at() {
    let cases = Cases::all();
    let policy = policy(&cases);
    none_of(&cases, |case| {
        let (target, seen) = (cases.target(case), &case.input.observation);
        let less = as_wanted(seen, &policy.wanted(&target));
        other(
            &policy.classify(&target, seen),
            &policy.classify(&target, &less),
        )
    });
}

/// What a host would have gathered.
fn as_wanted(seen: &Observation, wanted: &Wanted) -> Observation {
    let mut seen = seen.clone();
    let Some(response) = &mut seen.response else {
        return seen;
    };
    match (&mut response.body, wanted.body_bytes) {
        // The caller of this one call expects something, which hosts know of as well.
        (Some(body), 0) if seen.expect != Media::Any => body.truncate(BEGINNING),
        (body, 0) => *body = None,
        (Some(body), most) => body.truncate(usize::try_from(most).unwrap_or(usize::MAX)),
        (None, _) => {}
    }
    if let Some(names) = &wanted.headers {
        let is_wanted = |name: &str| names.contains(&name.to_ascii_lowercase());
        response.headers.retain(|field| is_wanted(&field.name));
    }
    if !wanted.trailers {
        response.trailers.clear();
    }
    seen
}
