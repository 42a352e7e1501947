//! What a fleet does about orders.

use super::crew::Crew;
use crate::policy::Stage;
use crate::policy::fleet::member::Host;
use crate::policy::fleet::{Canary, Order, Verdict};
use crate::policy::rollout::How;

#[tokio::test]
async fn a_fleet_takes_what_is_pushed_and_reports_each_stage() {
    let mut fleet = Crew::of(3).await;
    assert_eq!(fleet.stages().await, ["idle"; 3]);
    assert_eq!(fleet.overview().await.verdict, Verdict::Unknown);
    let digest = fleet.push(b"new", None).await;
    assert_eq!(fleet.stages().await, ["behind"; 3]);
    fleet.look().await;
    for host in &fleet.hosts {
        assert_eq!(
            host.offers(),
            [(digest, How::Staged)],
            "once, however often it looks"
        );
        host.is_at(Stage::Shadow);
    }
    fleet.look().await;
    assert_eq!(fleet.stages().await, ["shadow"; 3]);
    fleet.hosts[0].serves();
    fleet.look().await;
    assert_eq!(fleet.stages().await, ["active", "shadow", "shadow"]);
    assert_eq!(fleet.overview().await.verdict, Verdict::NotAll);
    assert_eq!(
        fleet.overview().await.summary(),
        "3 hosts: 1 active, 2 shadow"
    );
    fleet.hosts[1].serves();
    fleet.hosts[2].serves();
    fleet.look().await;
    assert_eq!(fleet.overview().await.verdict, Verdict::AllRun);
}

#[tokio::test]
async fn a_host_that_rolled_it_back_has_the_others_leave_it_until_it_is_resumed() {
    let mut fleet = Crew::of(3).await;
    let digest = fleet.push(b"new", None).await;
    fleet.look().await;
    fleet.hosts[0].serves();
    fleet.hosts[1].serves();
    fleet.hosts[2].is_at(Stage::Canary);
    fleet.look().await;
    fleet.hosts[1].is_turned("12 traps within 10s", 5);
    fleet.look().await;
    assert_eq!(fleet.stages().await, ["active", "rolled-back", "held"]);
    assert_eq!(fleet.why(1).await, "at active: 12 traps within 10s");
    assert_eq!(
        fleet.why(2).await,
        "host-2 rolled it back: 12 traps within 10s"
    );
    assert_eq!(
        fleet.hosts[2].withdrawn(),
        ["host-2 rolled it back: 12 traps within 10s"]
    );

    // Though the host that found it out leaves, and its report is gone.
    drop(fleet.members.remove(1));
    fleet.goes_by(10 * 60_000);
    fleet.look().await;
    assert_eq!(fleet.stages().await, ["active", "held"]);
    assert_eq!(fleet.hosts[2].offers().len(), 1);

    fleet.operator.resume().await.expect("something is wanted");
    fleet.look().await;
    assert_eq!(fleet.stages().await, ["active", "digest"]);
    assert_eq!(fleet.hosts[2].offers().last(), Some(&(digest, How::Staged)));
}

#[tokio::test]
async fn a_host_that_stopped_it_in_the_shadow_holds_the_others_and_a_new_push_frees_them() {
    let mut fleet = Crew::of(2).await;
    fleet.push(b"bad", None).await;
    fleet.look().await;
    fleet.hosts[0].is_at(Stage::Shadow);
    fleet.hosts[0].is_turned("6 % decided differently", 5);
    fleet.look().await;
    assert_eq!(fleet.stages().await, ["refused", "held"]);
    assert_eq!(
        fleet.why(1).await,
        "host-1 stopped it at shadow: 6 % decided differently"
    );
    let good = fleet.push(b"good", None).await;
    fleet.look().await;
    for host in &fleet.hosts {
        assert_eq!(host.offers().last(), Some(&(good, How::Staged)));
    }
}

#[tokio::test]
async fn a_host_that_cannot_load_it_holds_nobody_and_does_not_try_again_before_a_new_order() {
    let mut fleet = Crew::of(2).await;
    let digest = fleet.push(b"new", None).await;
    fleet.look().await;
    fleet.hosts[0].is_at(Stage::Signature);
    fleet.hosts[0].is_turned("not signed by a key that is trusted here", 5);
    fleet.hosts[1].serves();
    fleet.look().await;
    assert_eq!(fleet.stages().await, ["refused", "active"]);
    fleet.look().await;
    assert_eq!(fleet.hosts[0].offers().len(), 1);

    // Pushed again, say with another signature: the same digest, and a new order.
    assert_eq!(fleet.push(b"new", None).await, digest);
    fleet.look().await;
    assert_eq!(fleet.hosts[0].offers().len(), 2);
    assert_eq!(fleet.hosts[1].offers().len(), 1, "it serves already");
}

#[tokio::test]
async fn the_turn_of_a_canary_host_that_refused_passes_on_until_somebody_can_load_it() {
    let mut fleet = Crew::of(3).await;
    let canary = Canary {
        hosts: 0.1,
        for_ms: 60_000,
    };
    fleet.push(b"new", Some(canary)).await;
    fleet.look().await;
    let began = |fleet: &Crew| -> Vec<usize> {
        let begun = |at: &usize| !fleet.hosts[*at].offers().is_empty();
        (0..3).filter(begun).collect()
    };
    let [first] = began(&fleet)[..] else {
        panic!("one is first: {:?}", began(&fleet));
    };
    fleet.hosts[first].is_turned("signed by somebody else", 5);
    fleet.look().await;
    assert_eq!(began(&fleet).len(), 2, "the next");
    let next = began(&fleet)
        .into_iter()
        .find(|at| *at != first)
        .expect("the next");
    fleet.hosts[next].serves();
    fleet.look().await;
    for _ in 0..5 {
        fleet.goes_by(10_000);
        fleet.look().await;
        assert_eq!(began(&fleet).len(), 2, "the last one waits");
    }
    fleet.goes_by(10_000);
    fleet.look().await;
    assert_eq!(began(&fleet).len(), 3);
}

#[tokio::test]
async fn a_pause_keeps_the_candidate_where_it_is_and_a_resume_lets_it_go_on() {
    let mut fleet = Crew::of(1).await;
    fleet.push(b"new", None).await;
    fleet.look().await;
    fleet.hosts[0].is_at(Stage::Shadow);
    fleet
        .operator
        .pause("bob@desk")
        .await
        .expect("something is wanted");
    fleet.look().await;
    assert!(fleet.hosts[0].status().paused);
    assert_eq!(fleet.stages().await, ["shadow"]);
    assert_eq!(fleet.why(0).await, "paused by bob@desk");
    fleet.joins();
    fleet.look().await;
    assert_eq!(fleet.stages().await, ["shadow", "waiting"]);
    fleet.operator.resume().await.expect("something is wanted");
    fleet.look().await;
    assert!(!fleet.hosts[0].status().paused);
    assert_eq!(
        fleet.hosts[0].offers().len(),
        1,
        "it goes on, and does not begin again"
    );
    assert_eq!(fleet.hosts[1].offers().len(), 1);
}

#[tokio::test]
async fn what_an_operator_paused_on_one_host_alone_stays_paused() {
    let mut fleet = Crew::of(1).await;
    fleet.hosts[0].pause(true);
    fleet.push(b"new", None).await;
    fleet.look().await;
    assert!(fleet.hosts[0].status().paused);
}

#[tokio::test]
async fn a_rollback_is_taken_at_once_and_drops_what_is_under_way() {
    let mut fleet = Crew::of(2).await;
    let old = fleet.push(b"old", None).await;
    fleet.look().await;
    for host in &fleet.hosts {
        host.serves();
    }
    fleet.look().await;
    fleet.push(b"new", None).await;
    fleet.look().await;
    fleet.hosts[0].serves();
    fleet.hosts[1].is_at(Stage::Canary);
    fleet.look().await;
    let order = Order::default();
    fleet
        .operator
        .rollback(None, &order)
        .await
        .expect("there was one before");
    fleet.look().await;
    assert_eq!(fleet.hosts[0].offers().last(), Some(&(old, How::AtOnce)));
    assert_eq!(
        fleet.hosts[1].status().candidate,
        None,
        "it serves the old one already"
    );
    fleet.hosts[0].serves();
    fleet.look().await;
    assert_eq!(fleet.overview().await.verdict, Verdict::AllRun);
}

#[tokio::test]
async fn a_candidate_that_is_not_wanted_any_more_is_dropped_before_this_hosts_next_turn() {
    let mut fleet = Crew::of(3).await;
    fleet.push(b"first", None).await;
    fleet.look().await;
    for host in &fleet.hosts {
        host.is_at(Stage::Shadow);
    }
    let canary = Canary {
        hosts: 0.1,
        for_ms: 60_000,
    };
    let second = fleet.push(b"second", Some(canary)).await;
    fleet.look().await;
    for host in &fleet.hosts {
        let candidate = host.status().candidate;
        assert!(candidate.is_none_or(|candidate| candidate.digest == second));
    }
}
