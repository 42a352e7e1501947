use super::super::report::{Runs, Saying};
use super::super::wanted::{Named, Stopped};
use super::*;

const PUSHED_AT: u64 = 1_000_000;
const SPAN: u64 = 60_000;

fn named(bytes: &[u8]) -> Named {
    Named {
        digest: Digest::of(bytes),
        size: 1,
        chunks: 1,
        name: "n".into(),
        version: "2".into(),
        signature: None,
        withdrawn: false,
    }
}

fn wanted() -> Wanted {
    Wanted::first(named(b"new"), "ann@desk", PUSHED_AT)
}

fn with_canary(hosts: f64) -> Wanted {
    Wanted {
        canary: Some(Canary {
            hosts,
            for_ms: SPAN,
        }),
        ..wanted()
    }
}

/// Another host that is at this step of an order since this moment.
fn other(instance: &str, wanted: &Wanted, step: Step, since_ms: u64) -> HostReport {
    let runs = Runs {
        digest: Digest::of(b"old"),
        name: "n".into(),
        version: "1".into(),
        generation: 1,
    };
    let saying = Saying::new(step, "");
    HostReport::new(instance, runs, Some(wanted), saying, None, since_ms)
}

/// What each of these hosts would do, with what the others report.
fn turns(wanted: &Wanted, hosts: &[HostReport], now_ms: u64) -> Vec<(String, Turn)> {
    let each = hosts.iter().map(|host| {
        let others: Vec<HostReport> = hosts.iter().filter(|o| *o != host).cloned().collect();
        let known = Known {
            wanted,
            me: &host.instance,
            is_new: false,
            others: &others,
            now_ms,
        };
        (host.instance.clone(), turn(&known))
    });
    each.collect()
}

/// Who may take it.
fn takers(wanted: &Wanted, hosts: &[HostReport], now_ms: u64) -> Vec<String> {
    let turns = turns(wanted, hosts, now_ms).into_iter();
    let takers = turns.filter(|(_, turn)| matches!(turn, Turn::Take(_)));
    takers.map(|(host, _)| host).collect()
}

fn fleet(wanted: &Wanted, hosts: usize, step: Step) -> Vec<HostReport> {
    let host = |at| other(&format!("host-{at}"), wanted, step, PUSHED_AT);
    (1..=hosts).map(host).collect()
}

#[test]
fn without_canary_hosts_all_take_it_through_their_stages() {
    let wanted = wanted();
    let fleet = fleet(&wanted, 4, Step::Waiting);
    for (_, turn) in turns(&wanted, &fleet, PUSHED_AT) {
        assert_eq!(turn, Turn::Take(How::Staged));
    }
}

#[test]
fn the_share_of_canary_hosts_is_rounded_up_and_never_none_nor_more_than_all() {
    for (share, of, first) in [
        (0.25, 4, 1),
        (0.25, 5, 2),
        (0.5, 3, 2),
        (0.0, 3, 1),
        (-7.0, 3, 1),
        (f64::NAN, 3, 1),
        (1.0, 3, 3),
        (1e300, 3, 3),
        (0.01, 1, 1),
    ] {
        let wanted = with_canary(share);
        let fleet = fleet(&wanted, of, Step::Waiting);
        let takers = takers(&wanted, &fleet, PUSHED_AT);
        assert_eq!(takers.len(), first, "{share} of {of}");
    }
}

#[test]
fn who_is_first_differs_from_policy_to_policy() {
    let firsts: std::collections::BTreeSet<Vec<String>> = (0..20_u8)
        .map(|at| {
            let mut wanted = with_canary(0.1);
            wanted.policy = named(&[at]);
            let fleet = fleet(&wanted, 3, Step::Waiting);
            takers(&wanted, &fleet, PUSHED_AT)
        })
        .collect();
    assert_eq!(
        firsts.len(),
        3,
        "each of three hosts is first for some policy"
    );
}

#[test]
fn the_others_wait_until_a_canary_host_has_had_it_active_for_long_enough() {
    let wanted = with_canary(0.1);
    let mut fleet = fleet(&wanted, 3, Step::Waiting);
    let first = takers(&wanted, &fleet, PUSHED_AT);
    let at = fleet
        .iter()
        .position(|host| first == [host.instance.clone()]);
    let at = at.expect("one is first");

    // Long after the push, and not active anywhere: the span has not begun.
    fleet[at] = other(&first[0], &wanted, Step::Shadow, PUSHED_AT);
    let late = PUSHED_AT + 100 * SPAN;
    assert_eq!(takers(&wanted, &fleet, late), first);

    fleet[at] = other(&first[0], &wanted, Step::Active, late);
    assert_eq!(takers(&wanted, &fleet, late + SPAN - 1), first);
    let others = turns(&wanted, &fleet, late + SPAN - 1);
    let why = format!("canary hosts first: {}, active for 1m", first[0]);
    assert_eq!(
        others
            .iter()
            .filter(|(_, turn)| *turn == Turn::Wait(why.clone()))
            .count(),
        2
    );
    assert_eq!(takers(&wanted, &fleet, late + SPAN).len(), 3);
}

#[test]
fn a_host_that_cannot_load_it_gives_its_turn_to_the_next() {
    let wanted = with_canary(0.1);
    let mut fleet = fleet(&wanted, 3, Step::Waiting);
    let mut firsts = Vec::new();
    for _ in 0..3 {
        let able: Vec<HostReport> = fleet
            .iter()
            .filter(|host| host.stage != Step::Refused)
            .cloned()
            .collect();
        let first = turns(&wanted, &fleet, PUSHED_AT)
            .into_iter()
            .find(|(host, turn)| {
                able.iter().any(|one| one.instance == *host) && matches!(turn, Turn::Take(_))
            });
        let (first, _) = first.expect("somebody is first");
        let host = fleet
            .iter_mut()
            .find(|host| host.instance == first)
            .expect("it is there");
        *host = other(&first, &wanted, Step::Refused, PUSHED_AT);
        assert!(!firsts.contains(&first));
        firsts.push(first);
    }
}

#[test]
fn what_a_host_did_at_an_earlier_revision_counts_for_nothing() {
    let before = with_canary(0.1);
    let mut fleet = fleet(&before, 3, Step::Active);
    for host in &mut fleet {
        host.since_ms = 0;
    }
    let wanted = Wanted {
        revision: 2,
        ..before
    };
    assert_eq!(takers(&wanted, &fleet, PUSHED_AT).len(), 1);
}

#[test]
fn a_host_that_stopped_it_holds_the_others_whatever_their_turn() {
    for canary in [None, with_canary(0.1).canary, with_canary(1.0).canary] {
        let wanted = Wanted {
            canary,
            stopped: Some(Stopped {
                host: "host-2".into(),
                why: "rolled it back: 12 traps within 10s".into(),
                at_ms: PUSHED_AT,
            }),
            ..wanted()
        };
        let fleet = fleet(&wanted, 3, Step::Active);
        for (_, turn) in turns(&wanted, &fleet, PUSHED_AT + 100 * SPAN) {
            let why = "host-2 rolled it back: 12 traps within 10s";
            assert_eq!(turn, Turn::Leave(why.into()));
        }
    }
}

#[test]
fn a_rollback_is_taken_at_once_by_all_though_somebody_stopped_it() {
    let wanted = Wanted {
        urgent: true,
        stopped: Some(Stopped {
            host: "host-2".into(),
            why: "stopped it".into(),
            at_ms: 0,
        }),
        ..with_canary(0.1)
    };
    let fleet = fleet(&wanted, 3, Step::Waiting);
    for (_, turn) in turns(&wanted, &fleet, PUSHED_AT) {
        assert_eq!(turn, Turn::Take(How::AtOnce));
    }
}

#[test]
fn while_it_is_paused_nobody_takes_it() {
    for urgent in [false, true] {
        let wanted = Wanted {
            urgent,
            paused: Some("ann@desk".into()),
            ..wanted()
        };
        let fleet = fleet(&wanted, 3, Step::Waiting);
        for (_, turn) in turns(&wanted, &fleet, PUSHED_AT) {
            assert_eq!(turn, Turn::Wait("paused by ann@desk".into()));
        }
    }
}

#[test]
fn a_host_that_joins_a_fleet_that_has_arrived_takes_it_at_once() {
    let wanted = with_canary(0.1);
    let joins_at = |others: &[HostReport], now_ms| {
        turn(&Known {
            wanted: &wanted,
            me: "late",
            is_new: true,
            others,
            now_ms,
        })
    };
    let joins = |others: &[HostReport]| joins_at(others, PUSHED_AT + SPAN);
    let active = fleet(&wanted, 3, Step::Active);
    assert_eq!(joins(&active), Turn::Take(How::AtOnce));
    let too_soon = joins_at(&active, PUSHED_AT + SPAN - 1);
    assert_ne!(too_soon, Turn::Take(How::AtOnce), "a fleet of canary hosts");

    let mut one_cannot = active.clone();
    one_cannot[0] = other("host-1", &wanted, Step::Refused, PUSHED_AT);
    assert_eq!(joins(&one_cannot), Turn::Take(How::AtOnce));

    for step in [
        Step::Waiting,
        Step::Shadow,
        Step::Canary,
        Step::RolledBack,
        Step::Held,
    ] {
        let mut one_on_its_way = active.clone();
        one_on_its_way[0] = other("host-1", &wanted, step, PUSHED_AT);
        assert_ne!(joins(&one_on_its_way), Turn::Take(How::AtOnce), "{step:?}");
    }
    assert_eq!(joins(&[]), Turn::Take(How::Staged), "a fleet of one");
    let none_could = fleet(&wanted, 2, Step::Refused);
    assert_eq!(joins(&none_could), Turn::Take(How::Staged));
}
