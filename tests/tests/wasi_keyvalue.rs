//! Fusewire's key-value contract on `wasi:keyvalue`, where many instances use it at once.
//!
//! The promises that one client can see, and all scenarios, are in `runtimes.rs`. Here there are as
//! many instances of the adapter as there are threads, and each is a client of its own.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use fusewire::engine::NativeEngine;
use fusewire::scenario::{Driver, play, play_through, report};
use fusewire::store::{Lane, MemoryStore, StoreError, Window};
use fusewire_tests::promises::broken_promises;
use fusewire_tests::scenarios::scenarios;
use fusewire_tests::wasi::artefacts;
use fusewire_tests::wasi::clients::{Clients, ClientsStore};
use fusewire_tests::wasi::keyvalue::Contents;
use serde_json::Value;

const THREADS: u64 = 8;

/// Both adapters, each on contents of its own.
fn both() -> [(&'static str, &'static str, Contents); 2] {
    [
        ("increment", artefacts::ADAPTER, Contents::increment()),
        ("cas", artefacts::ADAPTER_CAS, Contents::cas()),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_promise_of_a_store_is_kept_by_many_instances_at_once() {
    for (way, adapter, contents) in both() {
        let clients = Clients::of(adapter, &contents).unwrap();
        let broken = broken_promises(Arc::new(ClientsStore(clients))).await;
        assert!(broken.is_empty(), "by {way}, broken promises:\n{broken}");
    }
}

/// Runs one client a thread, all on the same contents, and returns what each came to.
fn at_once<T: Send>(
    clients: &Clients,
    client: impl Fn(u64, &mut fusewire_tests::wasi::clients::Client) -> T + Sync,
) -> Vec<T> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                let client = &client;
                scope.spawn(move || client(number, &mut clients.client().unwrap()))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

#[test]
fn of_many_instances_that_replace_one_value_one_succeeds_each_time() {
    const TIMES: u64 = 100;
    for (way, adapter, contents) in both() {
        let clients = Clients::of(adapter, &contents).unwrap();
        let mut first = clients.client().unwrap();
        assert!(first.swap("k", None, Some(b"0"), 0).unwrap());
        let succeeded: Vec<u64> = at_once(&clients, |_, client| {
            let mut succeeded = Vec::new();
            while succeeded.len() < TIMES as usize {
                let held = client.get(&["k".to_owned()]).unwrap().remove(0).unwrap();
                let number: u64 = std::str::from_utf8(&held).unwrap().parse().unwrap();
                let next = (number + 1).to_string();
                if client
                    .swap("k", Some(&held), Some(next.as_bytes()), 0)
                    .unwrap()
                {
                    succeeded.push(number);
                }
            }
            succeeded
        })
        .concat();
        let held = first.get(&["k".to_owned()]).unwrap().remove(0).unwrap();
        assert_eq!(held, (THREADS * TIMES).to_string().into_bytes(), "by {way}");
        // Each number was replaced by one client, and none was left out.
        let numbers: BTreeSet<u64> = succeeded.iter().copied().collect();
        assert_eq!(succeeded.len(), numbers.len(), "by {way}");
        assert_eq!(numbers, (0..THREADS * TIMES).collect(), "by {way}");
    }
}

#[test]
fn of_many_instances_that_take_a_lease_one_has_it() {
    const ROUNDS: u64 = 50;
    for (way, adapter, contents) in both() {
        let clients = Clients::of(adapter, &contents).unwrap();
        let taken: Vec<u64> = at_once(&clients, |number, client| {
            let mine = number.to_string();
            (0..ROUNDS)
                .filter(|round| {
                    let key = format!("lease {round}");
                    client
                        .swap(&key, None, Some(mine.as_bytes()), 60_000)
                        .unwrap()
                })
                .collect::<Vec<u64>>()
        })
        .concat();
        let rounds: BTreeSet<u64> = taken.iter().copied().collect();
        assert_eq!(taken.len() as u64, ROUNDS, "by {way}");
        assert_eq!(rounds, (0..ROUNDS).collect(), "by {way}");
    }
}

#[test]
fn counts_of_many_instances_add_up() {
    const TIMES: u64 = 60;
    for (way, adapter, contents) in both() {
        let clients = Clients::of(adapter, &contents).unwrap();
        let window = |bucket, amount| Window {
            key: "counter".to_owned(),
            epoch: 7,
            bucket,
            add: vec![
                Lane {
                    name: "failure".to_owned(),
                    amount,
                },
                Lane {
                    name: "slow".to_owned(),
                    amount: 2 * amount,
                },
            ],
            since: 0,
            ttl_ms: 60_000,
        };
        at_once(&clients, |number, client| {
            let mut last = 0;
            for _ in 0..TIMES {
                let tally = client.count(&[window(number % 3, 1)]).unwrap().remove(0);
                assert_eq!(
                    tally.amount("slow"),
                    2 * tally.amount("failure"),
                    "by {way}"
                );
                assert!(tally.amount("failure") > last, "by {way}");
                last = tally.amount("failure");
            }
        });
        let mut reader = clients.client().unwrap();
        let tally = reader.count(&[window(0, 0)]).unwrap().remove(0);
        assert_eq!(tally.amount("failure"), THREADS * TIMES, "by {way}");
        assert_eq!(tally.amount("slow"), 2 * THREADS * TIMES, "by {way}");
    }
}

#[test]
fn a_bucket_out_of_reach_is_told_as_such_and_nothing_is_lost_in_it() {
    for (way, adapter, contents) in both() {
        let clients = Clients::of(adapter, &contents).unwrap();
        let mut client = clients.client().unwrap();
        assert!(client.swap("k", None, Some(b"a"), 0).unwrap());
        contents.set_up(false);
        let keys = ["k".to_owned()];
        let got = client.get(&keys);
        assert!(
            matches!(got, Err(StoreError::Unavailable(_))),
            "by {way}: {got:?}"
        );
        let swapped = client.swap("k", Some(b"a"), Some(b"b"), 0);
        assert!(
            matches!(swapped, Err(StoreError::Unavailable(_))),
            "by {way}: {swapped:?}"
        );
        contents.set_up(true);
        assert_eq!(
            client.get(&keys).unwrap(),
            [Some(b"a".to_vec())],
            "by {way}"
        );
        assert!(
            client.swap("k", Some(b"a"), Some(b"b"), 0).unwrap(),
            "by {way}"
        );
    }
}

#[test]
fn what_does_not_keep_to_the_contract_is_refused() {
    let lane = |name: &str| Window {
        key: "k".to_owned(),
        epoch: 1,
        bucket: 0,
        add: vec![Lane {
            name: name.to_owned(),
            amount: 1,
        }],
        since: 0,
        ttl_ms: 1_000,
    };
    for (way, adapter, contents) in both() {
        let clients = Clients::of(adapter, &contents).unwrap();
        let mut client = clients.client().unwrap();
        let long = "k".repeat(513);
        let fits = vec![0; 64 * 1024];
        let too_long = vec![0; 64 * 1024 + 1];
        let mut refused = vec![
            client.get(&[String::new()]).err(),
            client.get(&[long]).err(),
            client.swap("k", None, Some(&too_long), 0).err(),
            client
                .count(&[Window {
                    ttl_ms: 0,
                    ..lane("a")
                }])
                .err(),
        ];
        for name in ["", "seventeen-letters", "A", "a_b", "a.b", "é"] {
            refused.push(client.count(&[lane(name)]).err());
        }
        for (case, error) in refused.iter().enumerate() {
            assert!(
                matches!(error, Some(StoreError::Refused(_))),
                "by {way}, {case}: {error:?}"
            );
        }
        assert!(
            client.swap(&"k".repeat(512), None, Some(&fits), 0).unwrap(),
            "by {way}"
        );
        assert!(
            client.count(&[lane("sixteen-letters-")]).is_ok(),
            "by {way}"
        );
    }
}

/// A log without how many operations the policy asked for: in the component that is shipped, what
/// passes between policy and adapter is theirs alone.
fn without_operations(log: &str) -> String {
    log.lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line["operations"] = Value::Null;
            format!("{line}\n")
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_component_that_is_shipped_decides_as_the_core_does() {
    let program = Path::new(env!("CARGO_BIN_EXE_wasi_driver"));
    let driver = Driver::start(program.as_os_str(), &["--shipped".as_ref()]).unwrap();
    let mut complaints = String::new();
    for (name, scenario) in scenarios() {
        let core = NativeEngine::new(&scenario.configuration(&name)).unwrap();
        let here = play(&scenario, &core, Arc::new(MemoryStore::new()), &name).await;
        let there = play_through(&scenario, &driver, &name).await.unwrap();
        let logs = [&here.log, &there.log].map(|log| without_operations(log));
        if let Some(difference) = report::log_difference(("here", &logs[0]), ("there", &logs[1])) {
            complaints += &format!("{name}:\n{difference}");
        }
    }
    assert!(complaints.is_empty(), "\n{complaints}");
}
