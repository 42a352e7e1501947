//! A policy is given to a whole fleet, and taken back, by commands on one Redis.

use std::time::{Duration, Instant};

use fusewire::policy::{Artefact, Digest, KeyPair, SecretKey, Trust};
use fusewire::store::{RedisStore, Store};
use fusewire_core::{Phase, Target};
use fusewire_tests::fleet::{DEADLINE, state, trip};
use fusewire_tests::hostile::{self, Mode};
use fusewire_tests::hosts::{BUSY, Host, IDLE, file, policy_command, policy_command_on};
use fusewire_tests::redis_server::RedisServer;
use tempfile::TempDir;

const AHEAD: &str = env!("FUSEWIRE_AHEAD_POLICY_WASM");
/// It does no harm unless it is told to.
const OTHER: &str = env!("FUSEWIRE_HOSTILE_POLICY_WASM");

/// A key, and the trust in it alone.
fn key() -> (SecretKey, Trust) {
    let pair = KeyPair::generate(None).expect("random numbers");
    let secret = SecretKey::read(&pair.secret, None).expect("a key");
    let trust = Trust {
        keys: vec![pair.public],
        digests: Vec::new(),
    };
    (secret, trust)
}

/// A policy of these tests, in a folder, and its digest.
fn policy(folder: &TempDir, built: &str, signed_by: Option<&SecretKey>) -> (String, Digest) {
    let bytes = std::fs::read(built).expect("it was built");
    let sign = |key: &SecretKey| key.sign(&bytes, "for a test").expect("it signs");
    let artefact = Artefact::new(bytes.clone(), signed_by.map(sign), built);
    let name = if built == AHEAD {
        "ahead.wasm"
    } else {
        "other.wasm"
    };
    (file(folder.path(), name, &artefact), artefact.digest())
}

/// Waits for a status that says all of this, with this exit status.
async fn status_says(redis: &RedisServer, code: i32, all: &[&str]) -> String {
    let began = Instant::now();
    loop {
        let (status, said) = policy_command(redis, &["status"]).await;
        if status == Some(code) && all.iter().all(|part| said.contains(part)) {
            return said;
        }
        assert!(
            began.elapsed() < DEADLINE,
            "waited {DEADLINE:?} in vain for {code} and {all:?}; the last was {status:?}:\n{said}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn three_hosts_push_shadow_activation_rollback_with_one_restarted_and_one_that_cannot_load() {
    let (redis, folder) = (RedisServer::start(), tempfile::tempdir().expect("a folder"));
    let (ours, trust) = key();
    let (_, other_trust) = key();
    let mut one = Host::start(&redis, "host-1", trust.clone(), BUSY).await;
    let two = Host::start(&redis, "host-2", trust.clone(), BUSY).await;
    let three = Host::start(&redis, "host-3", other_trust, BUSY).await;
    let said = status_says(&redis, 2, &["3 hosts: 3 idle"]).await;
    assert!(
        said.starts_with("no policy was ever pushed to this fleet"),
        "{said}"
    );

    let (path, first) = policy(&folder, AHEAD, Some(&ours));
    let push = [
        "push",
        &path,
        "--by",
        "on-call@desk",
        "--note",
        "records of schema 2",
    ];
    let (code, said) = policy_command(&redis, &push).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("signed in "), "{said}");
    assert!(
        said.contains(&format!("({}), revision 1", first.short())),
        "{said}"
    );

    // Nobody calls yet: those that can load it stay in the shadow.
    status_says(
        &redis,
        1,
        &["3 hosts: 1 refused, 2 shadow", "at signature: "],
    )
    .await;

    // One is restarted in the middle, and begins again.
    drop(one);
    one = Host::start(&redis, "host-1", trust.clone(), BUSY).await;
    let built_in = Artefact::built_in().digest();
    assert_eq!(one.runs(), built_in);
    for host in [&one, &two] {
        host.works_until("it comes out of the shadow", || host.runs() == first)
            .await;
    }
    let said = status_says(&redis, 1, &["3 hosts: 2 active, 1 refused"]).await;
    for part in [
        "by on-call@desk: records of schema 2",
        "host-1  ",
        "host-3  ",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(three.runs(), built_in, "it serves on");

    let (path, second) = policy(&folder, OTHER, Some(&ours));
    let (code, said) = policy_command(&redis, &["push", &path]).await;
    assert_eq!(code, Some(0), "{said}");
    for host in [&one, &two] {
        host.works_until("it comes out of the shadow", || host.runs() == second)
            .await;
    }
    status_says(&redis, 1, &["revision 2", "3 hosts: 2 active, 1 refused"]).await;

    // Back at once, though nobody calls.
    let (code, said) = policy_command(&redis, &["rollback", "--by", "operator@desk"]).await;
    assert_eq!(code, Some(0), "{said}");
    one.comes_to_run(first).await;
    two.comes_to_run(first).await;
    let all = [
        "revision 3",
        "by operator@desk",
        "a rollback",
        "2 active, 1 refused",
    ];
    status_says(&redis, 1, &all).await;

    // Once the host that could not load it is gone, and one has come that can, all run it.
    drop(three);
    let four = Host::start(&redis, "host-3", trust, BUSY).await;
    four.comes_to_run(first).await;
    let said = status_says(&redis, 0, &["3 hosts: 3 active"]).await;
    assert!(!said.contains("refused"), "{said}");
}

#[tokio::test]
async fn a_host_that_comes_later_converges_and_one_without_its_store_serves_on() {
    let mut redis = RedisServer::start();
    let folder = tempfile::tempdir().expect("a folder");
    let one = Host::start(&redis, "host-1", Trust::default(), IDLE).await;
    let (path, digest) = policy(&folder, AHEAD, None);
    let (code, said) = policy_command(&redis, &["push", &path]).await;
    assert_eq!(code, Some(0), "{said}");
    one.comes_to_run(digest).await;
    status_says(&redis, 0, &["1 host: 1 active"]).await;

    // Its shadow would wait for calls: it takes at once what all others run.
    let late = Host::start(&redis, "late", Trust::default(), BUSY).await;
    late.comes_to_run(digest).await;
    status_says(&redis, 0, &["2 hosts: 2 active"]).await;

    let url = redis.url();
    redis.kill();
    let (code, said) = policy_command_on(&url, &["status"]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("cannot read the fleet's status: the store is out of reach"),
        "{said}"
    );
    let (code, said) = policy_command_on(&url, &["push", &path]).await;
    assert_eq!(code, Some(1), "{said}");
    assert_eq!((one.runs(), late.runs()), (digest, digest));

    // The store comes back empty: nothing is wanted, nothing changes, and all are there again.
    redis.restart();
    status_says(&redis, 2, &["2 hosts: 2 idle"]).await;
    assert_eq!((one.runs(), late.runs()), (digest, digest));
    let (path, other) = policy(&folder, OTHER, None);
    policy_command(&redis, &["push", &path]).await;
    one.comes_to_run(other).await;
}

#[tokio::test]
async fn two_versions_side_by_side_share_one_breaker() {
    let (redis, folder) = (RedisServer::start(), tempfile::tempdir().expect("a folder"));
    let one = Host::start(&redis, "host-1", Trust::default(), IDLE).await;
    let two = Host::start(&redis, "host-2", Trust::default(), IDLE).await;
    status_says(&redis, 2, &["2 hosts: 2 idle"]).await;
    let (path, digest) = policy(&folder, OTHER, None);
    let push = ["push", &path, "--canary-hosts", "0.5", "--canary-for", "1h"];
    let (code, said) = policy_command(&redis, &push).await;
    assert_eq!(code, Some(0), "{said}");
    status_says(
        &redis,
        1,
        &["2 hosts: 1 active, 1 waiting", "canary hosts first: "],
    )
    .await;
    let (new, old) = if one.runs() == digest {
        (&one, &two)
    } else {
        (&two, &one)
    };
    assert_eq!(
        (new.runs(), old.runs()),
        (digest, Artefact::built_in().digest())
    );

    for (provider, finds_out, knows) in [("p", new, old), ("q", old, new)] {
        let target = Target::provider(provider);
        trip(&finds_out.guard, &target).await;
        let seen = state(&knows.guard, &target).await;
        assert_ne!(seen.phase, Phase::Closed, "{provider}");
    }
}

#[tokio::test]
async fn what_one_host_took_back_the_others_leave_until_they_are_told() {
    let (redis, folder) = (RedisServer::start(), tempfile::tempdir().expect("a folder"));
    let hosts = [
        Host::start(&redis, "host-1", Trust::default(), IDLE).await,
        Host::start(&redis, "host-2", Trust::default(), IDLE).await,
        Host::start(&redis, "host-3", Trust::default(), IDLE).await,
    ];
    status_says(&redis, 2, &["3 hosts: 3 idle"]).await;
    let bad = hostile::policy(Mode::TrapOnFirstAdmit);
    let bad = Artefact::new(bad, None, "a test");
    let path = file(folder.path(), "bad.wasm", &bad);
    let push = ["push", &path, "--canary-hosts", "0.1", "--canary-for", "1h"];
    policy_command(&redis, &push).await;
    status_says(&redis, 1, &["3 hosts: 1 active, 2 waiting"]).await;

    // It traps at every call, as soon as there are calls: they are let through all the same.
    let first = hosts.iter().find(|host| host.runs() == bad.digest());
    let first = first.expect("one is first");
    let is_back = || first.runs() == Artefact::built_in().digest();
    first.works_until("it is taken back", is_back).await;
    let why = format!("{} rolled it back: ", first.rollout.instance());
    let all = ["3 hosts: 2 held, 1 rolled-back", &why];
    let said = status_says(&redis, 1, &all).await;
    assert!(
        said.contains("`fusewire policy resume` tries again"),
        "{said}"
    );

    policy_command(&redis, &["pause", "--by", "on-call@desk"]).await;
    status_says(&redis, 1, &["paused by on-call@desk"]).await;
    let (code, said) = policy_command(&redis, &["resume"]).await;
    assert_eq!(code, Some(0), "{said}");
    let all = ["revision 2", "3 hosts: 1 active, 2 waiting"];
    status_says(&redis, 1, &all).await;
}

#[tokio::test]
async fn what_one_host_stopped_in_the_shadow_is_dropped_by_the_others_until_they_are_told() {
    let (redis, folder) = (RedisServer::start(), tempfile::tempdir().expect("a folder"));
    let one = Host::start(&redis, "host-1", Trust::default(), BUSY).await;
    let two = Host::start(&redis, "host-2", Trust::default(), BUSY).await;
    let (path, digest) = policy(&folder, AHEAD, None);
    policy_command(&redis, &["push", &path]).await;
    status_says(&redis, 1, &["2 hosts: 2 shadow"]).await;
    let stopped = one
        .rollout
        .rollback("it decides too much differently")
        .await;
    stopped.expect("a candidate is under way");
    let said = status_says(&redis, 1, &["2 hosts: 1 held, 1 refused"]).await;
    assert!(said.contains("host-1 stopped it at shadow: "), "{said}");
    assert_eq!(two.rollout.status().candidate, None);

    policy_command(&redis, &["resume"]).await;
    for host in [&one, &two] {
        host.works_until("it comes out of the shadow", || host.runs() == digest)
            .await;
    }
    status_says(&redis, 0, &["2 hosts: 2 active"]).await;
}

#[tokio::test]
async fn bytes_that_were_changed_in_the_store_run_nowhere() {
    let (redis, folder) = (RedisServer::start(), tempfile::tempdir().expect("a folder"));
    let (path, digest) = policy(&folder, AHEAD, None);
    let (code, said) = policy_command(&redis, &["push", &path]).await;
    assert_eq!(code, Some(0), "{said}");
    let store = RedisStore::connect(&redis.url()).await.expect("a good URL");
    let key = format!("fusewire-policies:artefact:{digest}:0");
    let chunk = store
        .get(vec![key.clone()])
        .wait()
        .await
        .expect("it answers")
        .remove(0);
    let mut changed = chunk.clone().expect("it is there");
    changed[1_000] ^= 1;
    let swapped = store.swap(key, chunk, Some(changed), 0).wait().await;
    assert_eq!(swapped, Ok(true));

    let host = Host::start(&redis, "host-1", Trust::default(), IDLE).await;
    let why = format!("the bytes in the store are not those of {}", digest.short());
    status_says(&redis, 1, &["1 host: 1 fetching", &why]).await;
    assert_eq!(host.runs(), Artefact::built_in().digest());
    policy_command(&redis, &["push", &path]).await;
    host.comes_to_run(digest).await;
}

#[tokio::test]
async fn what_cannot_be_pushed_is_said_as_a_person_understands() {
    let (redis, folder) = (RedisServer::start(), tempfile::tempdir().expect("a folder"));
    let garbage = Artefact::new(*b"not a policy", None, "");
    let garbage = file(folder.path(), "garbage.wasm", &garbage);
    for (arguments, parts) in [
        (
            &["rollback"][..],
            &["no policy was ever pushed to this fleet"][..],
        ),
        (&["pause"], &["no policy was ever pushed to this fleet"]),
        (&["push", "nowhere.wasm"], &["nowhere.wasm", "No such file"]),
        (
            &["push", &garbage],
            &["garbage.wasm is no policy that could run"],
        ),
        (
            &["push", &garbage, "--canary-hosts", "2"],
            &["above 0 and at most 1"],
        ),
        (
            &["status", "--store", "http://x"],
            &["a right one looks like redis://"],
        ),
    ] {
        let (code, said) = policy_command(&redis, arguments).await;
        assert_ne!(code, Some(0), "{said}");
        for part in parts {
            assert!(said.contains(part), "{arguments:?}: {said}");
        }
    }
    let (_, said) = policy_command_on("", &["status"]).await;
    assert!(said.contains("where is the fleet's store?"), "{said}");
}
