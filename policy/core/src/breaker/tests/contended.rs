//! A store in which others are always first.

use super::fleet::{at, target};
use crate::breaker::{Context, Decision, Ending, Event, EventKind, Permit, RefusalReason, Timing};
use crate::observation::{Observation, Response};
use crate::policy::Policy;
use crate::store::{KeyValue, Lane, StoreError, Tally, Window};

/// What it holds, and what it was asked.
struct Contended {
    record: Option<&'static str>,
    failures: u64,
    gets: u32,
    swaps: u32,
    counted: Vec<Window>,
}

impl KeyValue for Contended {
    fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.gets += 1;
        let record = self.record.map(|text| text.as_bytes().to_vec());
        Ok(vec![record; keys.len()])
    }

    fn swap(
        &mut self,
        _: &str,
        _: Option<&[u8]>,
        _: Option<&[u8]>,
        _: u64,
    ) -> Result<bool, StoreError> {
        self.swaps += 1;
        Ok(false)
    }

    fn count(&mut self, windows: Vec<Window>) -> Result<Vec<Tally>, StoreError> {
        self.counted.extend(windows.iter().cloned());
        let tally = |window: Window| Tally {
            epoch: window.epoch,
            lanes: vec![Lane {
                name: "failure".into(),
                amount: self.failures,
            }],
        };
        Ok(windows.into_iter().map(tally).collect())
    }
}

fn holding(record: Option<&'static str>) -> Contended {
    Contended {
        record,
        failures: 9,
        gets: 0,
        swaps: 0,
        counted: vec![],
    }
}

const READY: &str = r#"{"schema":1,"revision":3,"phase":"open","until":1,"openings":1}"#;

#[test]
fn whoever_loses_every_lease_is_refused_and_tries_no_longer_than_a_few_rounds() {
    let mut store = holding(Some(READY));
    let policy = Policy::default();
    let admission = policy.admit(&mut store, &target("p"), &at(0)).unwrap();
    let Decision::Refused(refusal) = admission.decision else {
        panic!("{admission:?}");
    };
    assert_eq!(refusal.reason, RefusalReason::ProbeInFlight);
    assert_eq!(refusal.domain, "p");
    assert_eq!(refusal.retry_after_ms, 10_000, "as long as a lease lasts");
    assert_eq!(admission.holds_until_ms, at(0).now_ms);
    assert_eq!((store.swaps, admission.events), (4, vec![]));
}

#[test]
fn where_it_only_observes_whoever_loses_every_lease_calls_all_the_same_and_is_not_counted() {
    let mut store = holding(Some(READY));
    let mut policy = Policy::default();
    assert_eq!(policy.configure(r#"{"breaker": {"enforce": 0}}"#), []);
    let admission = policy.admit(&mut store, &target("p@a"), &at(0)).unwrap();
    let Decision::Allowed(permit) = admission.decision else {
        panic!("{admission:?}");
    };
    assert_eq!((permit.token.as_str(), permit.probe), ("x,x", false));
    assert_eq!(admission.holds_until_ms, at(0).now_ms);
}

fn settled(store: &mut Contended, token: &str, status: u16) -> Vec<Event> {
    let policy = Policy::default();
    let permit = Permit {
        target: target("p"),
        probe: false,
        token: token.into(),
    };
    let seen = Observation::response(Response::status(status), at(0).now_ms);
    let ending = Ending::Judged(policy.classify(&permit.target, &seen));
    let timing = Timing::default();
    policy
        .settle(store, &permit, &ending, &timing, &at(0))
        .unwrap()
}

#[test]
fn a_writer_who_is_never_first_gives_up_and_says_so() {
    let probing = r#"{"schema":1,"revision":3,"phase":"half-open","openings":1,
        "lease":{"token":"00000000000000ff","owner":"a","expires":1800000005000}}"#;
    for (record, token, status) in [
        (None, "c:0", 503),
        (Some(probing), "l:00000000000000ff", 200),
        (None, "x", 429),
    ] {
        let mut store = holding(record);
        let events = settled(&mut store, token, status);
        if token == "x" {
            assert_eq!((store.swaps, events), (0, vec![]), "nothing is held by it");
            continue;
        }
        assert_eq!(store.swaps, 4, "{token}");
        let [event] = events.as_slice() else {
            panic!("{events:?}");
        };
        let EventKind::Store(why) = &event.kind else {
            panic!("{event:?}");
        };
        assert!(why.contains("changed each time"), "{why}");
    }
    let mut store = holding(None);
    store.failures = 0;
    let events = settled(&mut store, "c:0", 429);
    assert_eq!(store.swaps, 4);
    assert!(
        matches!(
            events.as_slice(),
            [Event {
                kind: EventKind::Store(_),
                ..
            }]
        ),
        "{events:?}"
    );
}

#[test]
fn who_has_seen_a_failure_is_counted_only_where_it_takes_a_quorum() {
    let lanes = |config: &str| {
        let mut store = holding(None);
        store.failures = 0;
        let mut policy = Policy::default();
        assert_eq!(policy.configure(config), []);
        let permit = Permit {
            target: target("p"),
            probe: false,
            token: "c:0+i:0".into(),
        };
        let seen = Observation::response(Response::status(503), at(0).now_ms);
        let ending = Ending::Judged(policy.classify(&permit.target, &seen));
        let settled = policy.settle(&mut store, &permit, &ending, &Timing::default(), &at(0));
        assert_eq!(settled, Ok(vec![]));
        let lanes = |window: &Window| window.add.len();
        store.counted.iter().map(lanes).collect::<Vec<_>>()
    };
    // The failure, and the width of its bucket.
    assert_eq!(lanes("{}"), [2, 2]);
    // And by which instance, of which request: the fleet's alone.
    assert_eq!(
        lanes(r#"{"breaker": {"quorum": {"instances": 2}}}"#),
        [4, 2]
    );
}

#[test]
fn of_calls_that_teach_nothing_new_few_look_whether_the_record_has_grown_old() {
    let mut policy = Policy::default();
    let config = r#"{"slow": {"limit": "10s", "learnt": {"times": 2, "floor": "1s"}}}"#;
    assert_eq!(policy.configure(config), []);
    let gets = |entropy, limit: &str| {
        let mut store = Taught { gets: 0 };
        let permit = Permit {
            target: target("p"),
            probe: false,
            token: format!("c:0;s={limit}"),
        };
        let mut seen = Observation::response(Response::status(200), at(0).now_ms);
        seen.latency_ms = 600;
        let ending = Ending::Judged(policy.classify(&permit.target, &seen));
        let timing = Timing {
            latency_ms: Some(600),
            overdue: false,
        };
        let context = Context { entropy, ..at(0) };
        let settled = policy.settle(&mut store, &permit, &ending, &timing, &context);
        assert_eq!(settled, Ok(vec![]));
        store.gets
    };
    // The 99th percentile is within 640 ms.
    let looks: u32 = (0..1_000).map(|entropy| gets(entropy, "1280")).sum();
    assert!((5..50).contains(&looks), "{looks} of 1000");
    assert_eq!(gets(0, "1300"), 1, "what is new is always written");
}

/// A store whose counter holds a thousand answers of 600 ms.
struct Taught {
    gets: u32,
}

impl KeyValue for Taught {
    fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.gets += 1;
        Ok(vec![None; keys.len()])
    }

    fn swap(
        &mut self,
        _: &str,
        _: Option<&[u8]>,
        _: Option<&[u8]>,
        _: u64,
    ) -> Result<bool, StoreError> {
        Ok(true)
    }

    fn count(&mut self, windows: Vec<Window>) -> Result<Vec<Tally>, StoreError> {
        let tally = |window: Window| {
            let mut lanes = window.add;
            lanes.iter_mut().for_each(|lane| lane.amount = 1_000);
            Tally {
                epoch: window.epoch,
                lanes,
            }
        };
        Ok(windows.into_iter().map(tally).collect())
    }
}
