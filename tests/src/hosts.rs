//! Hosts that replace their policy, and the command of those who operate them.

use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use fusewire::engine::ComponentEngine;
use fusewire::guard::Guard;
use fusewire::policy::fleet::{Fleet, Options as Membership};
use fusewire::policy::rollout::options::{Canarying, Shadowing};
use fusewire::policy::rollout::{Options, Rollout, Serving};
use fusewire::policy::{Artefact, Digest, Terms, Trust};
use fusewire_core::Target;

use crate::fleet::{self, QUICK, settle_with, until};
use crate::redis_server::RedisServer;
use crate::tools;

/// A host of a fleet: it begins with the built-in policy, and takes what the fleet is to run.
/// Dropped, it is gone as a process is that was killed.
pub struct Host {
    /// What guards its calls.
    pub guard: Guard,
    /// What replaces its policy.
    pub rollout: Rollout,
    _fleet: Fleet,
}

/// A shadow that has seen enough after ten decisions of real calls, and waits for them.
pub const BUSY: Shadowing = Shadowing {
    share: 1.0,
    span: Duration::from_millis(1),
    decisions: 10,
    at_most: Duration::from_secs(600),
    differences: 0.05,
    faults: 0,
};

/// A shadow that is content with no calls at all.
pub const IDLE: Shadowing = Shadowing {
    at_most: Duration::from_millis(1),
    ..BUSY
};

impl Host {
    /// Starts a host, on the store of its fleet.
    ///
    /// # Panics
    /// It does not start.
    pub async fn start(redis: &RedisServer, name: &str, trust: Trust, shadow: Shadowing) -> Self {
        let store = fleet::redis(&redis.url()).await;
        let engine = ComponentEngine::built_in(QUICK).expect("the policy loads");
        let engine = Arc::new(engine);
        let guard = Guard::builder(Arc::clone(&engine) as _, Arc::clone(&store))
            .instance(name)
            .patience(Duration::from_secs(1))
            .build();
        let serving = Serving {
            artefact: Artefact::built_in(),
            engine,
            evidence: Vec::new(),
        };
        let options = Options {
            terms: Terms {
                trust,
                configuration: QUICK.into(),
                ..Terms::default()
            },
            shadow,
            canary: Canarying {
                share: 0.0,
                span: Duration::ZERO,
            },
            ..Options::default()
        };
        let rollout = Rollout::begin(&guard, serving, options);
        let membership = Membership {
            every: Duration::from_millis(50),
            ..Membership::default()
        };
        let fleet = Fleet::join(rollout.clone(), store, membership);
        Self {
            guard,
            rollout,
            _fleet: fleet,
        }
    }

    /// What it runs.
    #[must_use]
    pub fn runs(&self) -> Digest {
        self.rollout.status().serving.digest
    }

    /// Lets calls through this host, all of them answered well, until something is so.
    ///
    /// # Panics
    /// It is not so before the deadline, or a call is refused.
    pub async fn works_until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let target = Target::provider("a-busy-one");
        until(what, async || {
            settle_with(&self.guard, &target, 200).await;
            is_so()
        })
        .await;
    }

    /// Waits until it runs this policy.
    ///
    /// # Panics
    /// It does not before the deadline.
    pub async fn comes_to_run(&self, digest: Digest) {
        until("the host runs what is wanted", async || {
            self.runs() == digest
        })
        .await;
    }
}

/// Runs `fusewire policy` with these arguments on the fleet of this Redis. Answers its exit status
/// and what it said, on either output.
///
/// # Panics
/// It does not run.
pub async fn policy_command(redis: &RedisServer, arguments: &[&str]) -> (Option<i32>, String) {
    policy_command_on(&redis.url(), arguments).await
}

/// As [`policy_command`], on any URL.
///
/// # Panics
/// It does not run.
pub async fn policy_command_on(url: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let output = tokio::process::Command::new(tools::fusewire())
        .arg("policy")
        .args(arguments)
        .env("FUSEWIRE_STORE", url)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let Output {
        status,
        stdout,
        stderr,
    } = output.await.expect("the command runs");
    let text = [stdout, stderr].concat();
    (status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// Puts an artefact into a folder, as its author would hand it over: a file, and its signature
/// beside it. Answers the file's path.
///
/// # Panics
/// It cannot be written.
#[must_use]
pub fn file(folder: &Path, name: &str, artefact: &Artefact) -> String {
    let path = folder.join(name);
    std::fs::write(&path, artefact.bytes()).expect("it is written");
    if let Some(signature) = artefact.signature() {
        let beside = fusewire::policy::artefact::signature_path(&path);
        std::fs::write(beside, signature).expect("it is written");
    }
    path.to_str().expect("a path of plain text").to_owned()
}
