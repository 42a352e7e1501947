//! Hosts that come, go and come back, and a store that cannot be relied on.

use super::crew::{Crew, Puppet};
use crate::policy::fleet::Canary;
use crate::policy::fleet::access::get;
use crate::policy::fleet::keys::Keys;
use crate::policy::fleet::report::REPORT_TTL_MS;
use crate::policy::rollout::How;
use crate::policy::{Digest, Stage};

#[tokio::test]
async fn a_host_that_restarts_in_the_middle_converges() {
    let mut fleet = Crew::of(2).await;
    let digest = fleet.push(b"new", None).await;
    fleet.look().await;
    fleet.hosts[0].is_at(Stage::Shadow);
    let restarted = Puppet::new();
    fleet.members[0] = fleet.member(&restarted, "host-1");
    fleet.hosts[0] = restarted;
    fleet.look().await;
    assert_eq!(fleet.hosts[0].offers(), [(digest, How::Staged)]);
    assert_eq!(
        fleet.overview().await.hosts.len(),
        2,
        "it is one host all the time"
    );
}

#[tokio::test]
async fn a_host_that_is_late_takes_at_once_what_all_others_run() {
    let mut fleet = Crew::of(2).await;
    let digest = fleet.push(b"new", None).await;
    fleet.look().await;
    fleet.hosts[0].serves();
    fleet.hosts[1].serves();
    fleet.look().await;
    fleet.joins();
    fleet.look().await;
    assert_eq!(fleet.hosts[2].offers(), [(digest, How::AtOnce)]);
}

#[tokio::test]
async fn a_host_that_was_there_before_the_push_waits_for_the_canary_hosts() {
    let mut fleet = Crew::of(2).await;
    let canary = Canary {
        hosts: 0.5,
        for_ms: 60_000,
    };
    fleet.push(b"new", Some(canary)).await;
    fleet.look().await;
    let at = (0..2)
        .find(|at| !fleet.hosts[*at].offers().is_empty())
        .expect("one is first");
    fleet.hosts[at].serves();
    fleet.look().await;
    assert_eq!(fleet.hosts[1 - at].offers(), []);

    // Nor is it new because it was restarted.
    let restarted = Puppet::new();
    fleet.members[1 - at] = fleet.member(&restarted, &format!("host-{}", 2 - at));
    fleet.hosts[1 - at] = restarted;
    fleet.look().await;
    assert_eq!(fleet.hosts[1 - at].offers(), []);
}

#[tokio::test]
async fn what_was_put_in_its_place_on_one_host_is_said_and_not_fought() {
    let mut fleet = Crew::of(1).await;
    fleet.push(b"new", None).await;
    fleet.look().await;
    fleet.hosts[0].serves();
    fleet.look().await;
    fleet.hosts[0].change(|inner| inner.status.serving.digest = Digest::of(b"by hand"));
    fleet.look().await;
    assert_eq!(fleet.stages().await, ["replaced"]);
    assert_eq!(fleet.hosts[0].offers().len(), 1);
}

#[tokio::test]
async fn bytes_that_are_missing_are_reported_and_taken_when_they_are_pushed_again() {
    let mut fleet = Crew::of(1).await;
    let digest = fleet.push(b"new", None).await;
    fleet.put(&format!("artefact:{digest}:0"), None).await;
    fleet.look().await;
    assert_eq!(fleet.stages().await, ["fetching"]);
    assert_eq!(
        fleet.why(0).await,
        "chunk 1 of 1 is not in the store: push it again"
    );
    fleet.push(b"new", None).await;
    fleet.look().await;
    assert_eq!(fleet.hosts[0].offers(), [(digest, How::Staged)]);
}

#[tokio::test]
async fn a_store_that_lost_everything_begins_again_and_loses_no_host() {
    let mut fleet = Crew::of(2).await;
    let digest = fleet.push(b"new", None).await;
    fleet.look().await;
    let all = ["wanted", "hosts", "host:host-1", "host:host-2"];
    for rest in all {
        fleet.put(rest, None).await;
    }
    fleet.look().await;
    assert_eq!(fleet.stages().await, ["idle"; 2]);
    fleet.hosts[0].is_turned("signed by somebody else", 5);
    // The revision is 1 again, and the order another.
    fleet.goes_by(1);
    assert_eq!(fleet.push(b"new", None).await, digest);
    fleet.look().await;
    assert_eq!(fleet.hosts[0].offers().len(), 2);
}

#[tokio::test]
async fn hostile_bytes_in_the_store_are_said_and_left_alone() {
    let mut fleet = Crew::of(1).await;
    let key = Keys::new("fusewire").wanted();
    for (bytes, why) in [
        (
            &br#"{"schema": 2}"#[..],
            "it is of schema 2, and this fusewire knows schema 1: update it",
        ),
        (b"\xff\x00", "it is damaged"),
        (&[b'['; 60_000], "it is damaged"),
    ] {
        fleet.put("wanted", Some(bytes)).await;
        for rest in ["hosts", "host:host-1"] {
            fleet.put(rest, Some(b"\xff[")).await;
        }
        fleet.look().await;
        assert_eq!(fleet.stages().await, ["unreadable"]);
        let said = fleet.why(0).await;
        assert!(said.starts_with(why), "{said}");
        let kept = get(&fleet.store, key.clone()).await.expect("memory");
        assert_eq!(kept.as_deref(), Some(bytes), "it is left alone");
        assert_eq!(fleet.hosts[0].offers(), []);
    }
}

#[tokio::test]
async fn a_report_is_written_when_there_is_news_and_every_ten_seconds() {
    let mut fleet = Crew::of(1).await;
    let at = async |fleet: &Crew| fleet.overview().await.hosts[0].at_ms;
    let first = at(&fleet).await;
    fleet.goes_by(9_999);
    fleet.look().await;
    assert_eq!(at(&fleet).await, first);
    fleet.goes_by(1);
    fleet.look().await;
    assert_eq!(at(&fleet).await, first + 10_000);
    fleet.goes_by(REPORT_TTL_MS);
    assert!(
        fleet.overview().await.hosts.is_empty(),
        "it is not heard of"
    );
    assert_eq!(fleet.overview().await.silent, ["host-1"]);
}

#[tokio::test]
async fn a_host_that_joins_leaves_out_those_that_are_gone() {
    let mut fleet = Crew::of(2).await;
    drop(fleet.members.remove(0));
    fleet.goes_by(60_000);
    fleet.look().await;
    assert_eq!(fleet.overview().await.silent, ["host-1"]);
    fleet.joins();
    fleet.look().await;
    let overview = fleet.overview().await;
    assert_eq!(overview.silent, [""; 0]);
    assert_eq!(overview.hosts.len(), 2);
}
