//! Replacing the policy of a guard under calls, with the built-in policy in various configurations.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fusewire_core::{Observation, Phase, RefusalReason, Response, Target};

use super::options::{Canarying, Linger, Options, Probation, Shadowing};
use super::{How, Rollout, Serving, Status};
use crate::engine::BUILT_IN;
use crate::guard::{Admitted, CallFacts, Guard};
use crate::policy::{Artefact, Stage, Terms, vet};
use crate::store::{MemoryStore, Store};

const DEADLINE: Duration = Duration::from_secs(30);

/// Opens after three failures.
const THREE: &str = r#"{"breaker": {"failures": {"count": 3}, "failure-ratio": false}}"#;
/// Opens after the first.
const ONE: &str = r#"{"breaker": {"failures": {"count": 1}, "failure-ratio": false}}"#;

/// The built-in policy as another artefact: with a section more, which means nothing.
fn another(mark: u8) -> Artefact {
    let mut bytes = BUILT_IN.to_vec();
    bytes.extend([0, 3, 1, b'n', mark]);
    Artefact::new(bytes, None, format!("build {mark}"))
}

/// Everything is left out that takes time.
fn at_once() -> Options {
    Options {
        terms: Terms {
            configuration: THREE.into(),
            ..Terms::default()
        },
        shadow: Shadowing {
            share: 0.0,
            ..Shadowing::default()
        },
        canary: Canarying {
            share: 0.0,
            ..Canarying::default()
        },
        ..Options::default()
    }
}

/// All questions are compared, for a short while.
fn shadowed() -> Options {
    Options {
        shadow: Shadowing {
            share: 1.0,
            span: Duration::from_millis(1),
            decisions: 30,
            ..Shadowing::default()
        },
        ..at_once()
    }
}

async fn begin(options: Options) -> (Guard, Rollout) {
    let vetted = vet(Artefact::built_in(), &options.terms, |_| {}).await;
    let serving = Serving::from(vetted.unwrap_or_else(|refused| panic!("{refused}")));
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let guard = Guard::builder(Arc::clone(&serving.engine) as _, store).build();
    let rollout = Rollout::begin(&guard, serving, options);
    (guard, rollout)
}

async fn until(rollout: &Rollout, what: &str, is_so: impl FnMut(&Status) -> bool) -> Status {
    let mut watch = rollout.watch();
    let waited = tokio::time::timeout(DEADLINE, watch.wait_for(is_so)).await;
    match waited {
        Ok(status) => status.expect("the keeper lives").clone(),
        Err(_) => panic!("waited in vain: {what}: {:#?}", rollout.status()),
    }
}

/// Waits until there is no candidate.
async fn decided(rollout: &Rollout, offered: &Artefact) -> Status {
    let digest = offered.digest();
    until(rollout, "it is decided", |status| {
        status.candidate.is_none()
            && (status.serving.digest == digest
                || status.refused.as_ref().is_some_and(|r| r.digest == digest))
    })
    .await
}

async fn admit(guard: &Guard, provider: &str) -> Result<Admitted, RefusalReason> {
    let target = Target::provider(provider);
    let admitted = guard.admit(&target, &CallFacts::default()).await;
    admitted.map_err(|refusal| refusal.reason)
}

async fn end(guard: &Guard, admitted: Admitted, provider: &str, status: u16) {
    let seen = Observation::response(Response::status(status), guard.now_ms());
    let verdict = admitted.classify(&Target::provider(provider), &seen);
    admitted.settle(verdict);
    guard.settled().await;
}

/// A call that comes to this end, where it is let through.
async fn call(guard: &Guard, provider: &str, status: u16) -> Result<(), RefusalReason> {
    let admitted = admit(guard, provider).await?;
    end(guard, admitted, provider, status).await;
    Ok(())
}

/// Calls that go on until a candidate is decided.
async fn calls_until_decided(guard: &Guard, rollout: &Rollout, offered: &Artefact) -> Status {
    let started = Instant::now();
    let digest = offered.digest();
    loop {
        let status = rollout.status();
        let refused = status.refused.as_ref().is_some_and(|r| r.digest == digest);
        if status.candidate.is_none() && (status.serving.digest == digest || refused) {
            return status;
        }
        assert!(started.elapsed() < DEADLINE, "{status:#?}");
        for n in 0..20 {
            call(guard, &format!("p{n}"), 200)
                .await
                .expect("let through");
        }
        tokio::task::yield_now().await;
    }
}

fn stages(status: &Status) -> Vec<(Stage, bool)> {
    let evidence = status.serving.evidence.iter();
    evidence.map(|e| (e.stage, e.passed)).collect()
}

#[tokio::test]
async fn a_policy_that_is_offered_passes_every_stage_with_its_evidence_and_then_serves() {
    let (guard, rollout) = begin(Options {
        canary: Canarying {
            share: 0.5,
            span: Duration::from_millis(1),
        },
        ..shadowed()
    })
    .await;
    let next = another(1);
    rollout.offer(next.clone(), How::Staged);
    let status = calls_until_decided(&guard, &rollout, &next).await;
    assert_eq!(status.serving.digest, next.digest(), "{status:#?}");
    let all: Vec<_> = Stage::ALL.iter().map(|stage| (*stage, true)).collect();
    assert_eq!(stages(&status), all);
    let shadow = &status.serving.evidence[8].found;
    assert!(shadow.contains("questions, none differently"), "{shadow}");
    assert!(status.serving.on_probation);
    let before = status.previous.expect("the one before");
    assert_eq!(before.digest, Artefact::built_in().digest());
    assert_eq!(
        guard.generations().active().number(),
        status.serving.generation
    );
}

#[tokio::test]
async fn what_is_no_policy_leaves_the_serving_one_in_place_and_says_at_which_stage_and_why() {
    let (guard, rollout) = begin(at_once()).await;
    let junk = Artefact::new(b"junk".to_vec(), None, "a test");
    rollout.offer(junk.clone(), How::Staged);
    let status = decided(&rollout, &junk).await;
    let refused = status.refused.expect("the refusal");
    assert_eq!(refused.stage, Stage::Parse);
    assert!(!refused.rolled_back);
    assert!(!refused.evidence.last().expect("evidence").passed);
    assert_eq!((status.activations, status.refusals), (1, 1));
    assert_eq!(status.serving.generation, 1);
    call(&guard, "p", 200).await.expect("let through");
}

#[tokio::test]
async fn a_policy_that_decides_otherwise_is_stopped_in_the_shadow_with_samples_of_what_differs() {
    let (guard, rollout) = begin(shadowed()).await;
    rollout.offer_with(another(1), ONE.into(), How::Staged);
    until(&rollout, "the shadow", |status| {
        let stage = status.candidate.as_ref().map(|c| c.stage);
        stage == Some(Stage::Shadow)
    })
    .await;
    // Each provider fails once: the one policy goes on, the other one opens.
    let mut n = 0;
    let status = loop {
        let status = rollout.status();
        if status.candidate.is_none() {
            break status;
        }
        n += 1;
        assert!(n < 10_000, "{status:#?}");
        call(&guard, &format!("p{n}"), 503)
            .await
            .expect("the serving one lets it through");
        tokio::task::yield_now().await;
    };
    let refused = status.refused.expect("the refusal");
    assert_eq!(refused.stage, Stage::Shadow);
    let pair = &refused.comparison.pairs[0];
    assert_eq!(pair.kind, "settle");
    assert_eq!(pair.serving, "nothing");
    assert_eq!(pair.candidate, "closed -> open: failures");
    assert_eq!(
        refused.comparison.pairs.len(),
        1,
        "{:#?}",
        refused.comparison
    );
    let words = "settle: nothing here, closed -> open: failures there";
    assert!(refused.why.contains(words), "{}", refused.why);
    let sample = pair.samples[0].to_string();
    assert!(
        sample.contains("\"judged\"") && sample.contains("fusewire:w:{p"),
        "{sample}"
    );
    // The candidate's openings were nowhere but in the comparison.
    let target = Target::provider("p1");
    let state = guard.inspect(&target).await.remove(0);
    assert_eq!((state.phase, status.serving.generation), (Phase::Closed, 1));
}

#[tokio::test]
async fn a_paused_candidate_goes_no_further_until_it_is_let() {
    let (_guard, rollout) = begin(at_once()).await;
    rollout.pause(true);
    let next = another(1);
    rollout.offer(next.clone(), How::Staged);
    let waiting = until(&rollout, "it waits", |status| {
        let candidate = status.candidate.as_ref();
        candidate.is_some_and(|c| c.stage == Stage::Shadow && !c.name.is_empty())
    })
    .await;
    assert!(waiting.paused);
    rollout.pause(false);
    assert_eq!(decided(&rollout, &next).await.serving.digest, next.digest());
}

#[tokio::test]
async fn a_canary_decides_for_its_share_of_the_providers_and_for_no_other() {
    let (guard, rollout) = begin(Options {
        canary: Canarying {
            share: 0.5,
            span: DEADLINE,
        },
        ..at_once()
    })
    .await;
    rollout.offer_with(another(1), ONE.into(), How::Staged);
    until(&rollout, "the canary", |status| {
        status
            .candidate
            .as_ref()
            .is_some_and(|c| c.stage == Stage::Canary)
    })
    .await;
    let mut by_one = 0;
    for n in 0..100 {
        let name = format!("p{n}");
        let decides = guard.generations().deciding(&name).number();
        call(&guard, &name, 503)
            .await
            .expect("the first is let through");
        let refused = admit(&guard, &name).await.is_err();
        assert_eq!(refused, decides == 2, "{name} is decided by {decides}");
        by_one += usize::from(refused);
    }
    assert!((20..80).contains(&by_one), "{by_one} of 100");
    rollout.withdraw("enough");
    let status = until(&rollout, "it is gone", |status| status.candidate.is_none()).await;
    assert_eq!(status.refused.expect("it").stage, Stage::Canary);
    assert!((0..100).all(|n| guard.generations().deciding(&format!("p{n}")).number() == 1));
}

#[tokio::test]
async fn a_call_is_decided_to_its_end_by_the_policy_that_it_began_with() {
    let (guard, rollout) = begin(at_once()).await;
    let before = admit(&guard, "p").await.expect("let through");
    let next = another(1);
    rollout.offer_with(next.clone(), ONE.into(), How::Staged);
    decided(&rollout, &next).await;
    let status = until(&rollout, "it lingers", |status| status.lingering == 1).await;
    assert_eq!(status.serving.generation, 2);
    // One failure: by the first policy nothing, by the second an opening.
    end(&guard, before, "p", 503).await;
    let target = Target::provider("p");
    assert_eq!(guard.inspect(&target).await.remove(0).phase, Phase::Closed);
    until(&rollout, "it is freed", |status| status.lingering == 0).await;
    call(&guard, "p", 503).await.expect("let through");
    assert_eq!(admit(&guard, "p").await.err(), Some(RefusalReason::Open));
}

#[tokio::test]
async fn a_call_that_never_ends_keeps_no_policy_for_ever() {
    let (guard, rollout) = begin(Options {
        linger: Linger {
            span: Duration::from_millis(10),
            policies: 2,
        },
        ..at_once()
    })
    .await;
    let for_ever = admit(&guard, "p").await.expect("let through");
    let first = guard.generations().active();
    let next = another(1);
    rollout.offer(next.clone(), How::AtOnce);
    decided(&rollout, &next).await;
    until(&rollout, "it is taken away", |status| status.lingering == 0).await;
    assert!(first.engine().is_none());
    // It still comes to an end, which is told nobody.
    end(&guard, for_ever, "p", 503).await;
    call(&guard, "p", 200).await.expect("let through");
}

#[tokio::test]
async fn going_back_puts_the_policy_before_in_place_and_an_open_breaker_stays_open() {
    let (guard, rollout) = begin(at_once()).await;
    for _ in 0..3 {
        call(&guard, "p", 503).await.expect("let through");
    }
    let next = another(1);
    rollout.offer(next.clone(), How::Staged);
    decided(&rollout, &next).await;
    assert_eq!(admit(&guard, "p").await.err(), Some(RefusalReason::Open));
    let back = rollout.rollback("it was a mistake").await;
    assert_eq!(back, Ok(Artefact::built_in().digest()));
    let status = rollout.status();
    assert_eq!(status.serving.digest, Artefact::built_in().digest());
    let refused = status.refused.expect("it");
    assert!(refused.rolled_back && refused.why == "it was a mistake");
    assert_eq!((refused.stage, status.rollbacks), (Stage::Active, 1));
    assert_eq!(admit(&guard, "p").await.err(), Some(RefusalReason::Open));
    let again = rollout.rollback("once more").await;
    assert_eq!(again, Err("there is no policy to go back to".into()));
}

#[tokio::test]
async fn a_policy_that_refuses_what_its_predecessor_would_let_through_is_taken_back_by_itself() {
    let (guard, rollout) = begin(at_once()).await;
    let next = another(1);
    rollout.offer_with(next.clone(), ONE.into(), How::Staged);
    decided(&rollout, &next).await;
    call(&guard, "p", 503)
        .await
        .expect("the first is let through");
    let started = Instant::now();
    while rollout.status().rollbacks == 0 {
        assert!(started.elapsed() < DEADLINE, "{:#?}", rollout.status());
        let _ = call(&guard, "p", 503).await;
        tokio::task::yield_now().await;
    }
    let status = rollout.status();
    assert_eq!(status.serving.digest, Artefact::built_in().digest());
    let why = status.refused.expect("it").why;
    assert!(
        why.contains("that its predecessor would have let through"),
        "{why}"
    );
}

#[tokio::test]
async fn refusals_that_its_predecessor_agrees_with_are_no_reason_to_take_a_policy_back() {
    let (guard, rollout) = begin(Options {
        probation: Probation {
            span: Duration::from_secs(1),
            ..Probation::default()
        },
        ..at_once()
    })
    .await;
    for _ in 0..3 {
        call(&guard, "p", 503).await.expect("let through");
    }
    let next = another(1);
    rollout.offer(next.clone(), How::Staged);
    decided(&rollout, &next).await;
    while rollout.status().serving.on_probation {
        assert_eq!(call(&guard, "p", 503).await, Err(RefusalReason::Open));
        tokio::task::yield_now().await;
    }
    let status = rollout.status();
    assert_eq!(
        (status.rollbacks, status.serving.digest),
        (0, next.digest())
    );
}

#[tokio::test]
async fn the_last_good_policy_stays_the_one_to_go_back_to_while_others_are_on_probation() {
    let (_guard, rollout) = begin(Options {
        probation: Probation {
            span: Duration::from_millis(1),
            ..Probation::default()
        },
        ..at_once()
    })
    .await;
    until(&rollout, "the first is good", |status| {
        !status.serving.on_probation
    })
    .await;
    rollout.offer(another(1), How::Staged);
    let good = another(1);
    decided(&rollout, &good).await;
    let status = until(&rollout, "it is good", |status| {
        !status.serving.on_probation
    })
    .await;
    let before = status.previous.expect("the first");
    assert_eq!(before.digest, Artefact::built_in().digest());
}

#[tokio::test]
async fn another_offer_takes_the_place_of_the_candidate_under_way() {
    let (_guard, rollout) = begin(at_once()).await;
    rollout.pause(true);
    rollout.offer(another(1), How::Staged);
    rollout.offer(another(2), How::Staged);
    rollout.pause(false);
    let second = another(2);
    let status = decided(&rollout, &second).await;
    assert_eq!(status.serving.digest, second.digest());
    let refused = status.refused.expect("the first");
    assert_eq!(refused.digest, another(1).digest());
    assert_eq!(refused.why, "another policy was offered");
    assert_eq!(status.activations, 2);
}

#[tokio::test]
async fn offering_what_serves_changes_nothing_and_stops_what_was_under_way() {
    let (_guard, rollout) = begin(at_once()).await;
    rollout.pause(true);
    rollout.offer(another(1), How::Staged);
    rollout.offer(Artefact::built_in(), How::Staged);
    let status = until(&rollout, "it is stopped", |status| status.refused.is_some()).await;
    assert!(status.candidate.is_none());
    assert_eq!(status.serving.generation, 1);
    assert_eq!(status.activations, 1);
}

/// A canary that began to serve as another generation of the same instances had them taken away with
/// the canary, and each call had to make one anew.
#[tokio::test]
async fn the_generation_that_decided_a_share_is_the_one_that_serves_afterwards() {
    let (guard, rollout) = begin(Options {
        canary: Canarying {
            share: 1.0,
            span: Duration::from_millis(200),
        },
        ..at_once()
    })
    .await;
    let next = another(1);
    rollout.offer(next.clone(), How::Staged);
    until(&rollout, "the canary", |status| {
        let candidate = status.candidate.as_ref();
        candidate.is_some_and(|c| c.stage == Stage::Canary)
    })
    .await;
    let canary = guard.generations().deciding("p");
    let status = decided(&rollout, &next).await;
    assert_eq!(status.serving.generation, canary.number());
    let active = guard.generations().active();
    assert!(Arc::ptr_eq(&active, &canary));
}
