//! Those who operate a fleet: `fusewire` as they type it, and the hosts whose breakers they see.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use fusewire::guard::{DEFAULT_PREFIX, Guard};
use fusewire::store::{MergedStore, RedisStore, Store, WatchedStore};
use fusewire_core::{OverrideMode, OverrideOrder};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use crate::desk::has;
use crate::fleet::{self, DEADLINE, until};
use crate::redis_server::RedisServer;
use crate::tools;

/// A breaker that trips on three failures, and stays open for longer than a test goes on.
pub const LONG: &str = r#"{
    "breaker": {
        "failures": {"count": 3, "window": "60s"},
        "cool-down": {"first": "10m", "max": "10m", "jitter": 0}
    }
}"#;

/// How long a host waits for its store here: for longer than a busy machine takes. A host that gave
/// up would decide alone, and not as the fleet does.
const PATIENCE: Duration = Duration::from_secs(5);

/// A host of the fleet, with this configuration, which has the usual prefix in it.
///
/// # Panics
/// It does not start.
pub async fn host(redis: &RedisServer, name: &str, configuration: &str) -> Guard {
    host_of(DEFAULT_PREFIX, redis, name, configuration).await
}

/// A host of a fleet with this prefix, which is in its configuration as well.
///
/// # Panics
/// It does not start.
pub async fn host_of(prefix: &str, redis: &RedisServer, name: &str, configuration: &str) -> Guard {
    let redis = RedisStore::connect(&redis.url()).await;
    let redis = Arc::new(redis.expect("a good URL"));
    let watched = Arc::new(WatchedStore::new(redis, PATIENCE));
    let store = Arc::new(MergedStore::new(watched));
    until("the store answers", async || {
        store.ping().wait().await.is_ok()
    })
    .await;
    Guard::builder(fleet::engine(configuration), store)
        .prefix(prefix)
        .instance(name)
        .patience(PATIENCE)
        .build()
}

/// An order of another operator, which stands until it is cleared.
#[must_use]
pub fn order(mode: OverrideMode) -> OverrideOrder {
    OverrideOrder {
        mode,
        enforce_percent: 0,
        who: "operator@desk".into(),
        why: "a test".into(),
        until_ms: 0,
    }
}

/// What a command said, and how it ended.
pub struct Said {
    /// Its exit status.
    pub code: Option<i32>,
    /// What it wrote.
    pub out: String,
    /// What it complained of.
    pub err: String,
}

impl Said {
    /// What it wrote, where it ended so.
    ///
    /// # Panics
    /// It ended otherwise.
    #[track_caller]
    #[must_use = "or see `ended`"]
    pub fn ends(self, code: i32) -> String {
        self.ended(code);
        self.out
    }

    /// Checks how it ended.
    ///
    /// # Panics
    /// It ended otherwise.
    #[track_caller]
    pub fn ended(&self, code: i32) {
        let Self { out, err, .. } = self;
        assert_eq!(self.code, Some(code), "{out}{err}");
    }

    /// What it complained of, where it ended so and wrote nothing else.
    ///
    /// # Panics
    /// It ended otherwise, or wrote something.
    #[track_caller]
    #[must_use = "or see `ended`"]
    pub fn complains(self, code: i32) -> String {
        self.ended(code);
        assert_eq!(self.out, "");
        self.err
    }
}

/// Somebody who operates a fleet, at a desk of their own. In orders they are `on-call@desk`.
pub struct Operator {
    store: String,
    folder: TempDir,
}

impl Operator {
    /// Of this Redis's fleet.
    ///
    /// # Panics
    /// There is no room for a desk.
    #[must_use]
    pub fn of(redis: &RedisServer) -> Self {
        Self::at(&redis.url())
    }

    /// Whose environment has this URL in it; empty: none.
    ///
    /// # Panics
    /// There is no room for a desk.
    #[must_use]
    pub fn at(store: &str) -> Self {
        Self {
            store: store.to_owned(),
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    /// Writes a file at the desk.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).expect("written");
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(tools::fusewire());
        command
            .args(words)
            .current_dir(self.folder.path())
            .env("FUSEWIRE_STORE", &self.store)
            .env("FUSEWIRE_WHO", "on-call@desk")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Runs `fusewire` with these words to its end.
    ///
    /// # Panics
    /// It does not end before the deadline.
    pub async fn run(&self, words: &[&str]) -> Said {
        let ended = self.command(words).output();
        let ended = tokio::time::timeout(DEADLINE, ended).await;
        let output = ended.expect("it ends").expect("it runs");
        Said {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Starts `fusewire` with these words, which goes on until it is interrupted.
    ///
    /// # Panics
    /// It does not start.
    #[must_use]
    pub fn watch(&self, words: &[&str]) -> Watch {
        let mut child = self
            .command(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let out = child.stdout.take().expect("a pipe");
        let err = child.stderr.take().expect("a pipe");
        Watch {
            child,
            out: Some(BufReader::new(out).lines()),
            err: BufReader::new(err).lines(),
        }
    }
}

/// A command that goes on.
pub struct Watch {
    child: Child,
    /// `None`: it is not read any more.
    out: Option<Lines<BufReader<ChildStdout>>>,
    err: Lines<BufReader<ChildStderr>>,
}

impl Watch {
    /// The next line that it writes, which must have all of these in it.
    ///
    /// # Panics
    /// It has not, or none comes before the deadline.
    pub async fn says(&mut self, parts: &[&str]) -> String {
        let out = self.out.as_mut().expect("it is read");
        let line = tokio::time::timeout(DEADLINE, out.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("waited {DEADLINE:?} in vain for {parts:?}"));
        let line = line.expect("text");
        let line = line.unwrap_or_else(|| panic!("it ended before it said {parts:?}"));
        has(&line, parts);
        line
    }

    /// The next line that it complains in, which must have all of these in it.
    ///
    /// # Panics
    /// It has not, or none comes before the deadline.
    pub async fn complains(&mut self, parts: &[&str]) {
        let line = tokio::time::timeout(DEADLINE, self.err.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("waited {DEADLINE:?} in vain for {parts:?}"));
        has(&line.expect("text").unwrap_or_default(), parts);
    }

    /// Waits for it to end by itself, and answers how.
    ///
    /// # Panics
    /// It does not before the deadline.
    pub async fn ends(mut self) -> Said {
        let mut said = Said {
            code: None,
            out: String::new(),
            err: String::new(),
        };
        let all = async {
            if let Some(out) = &mut self.out {
                while let Some(line) = out.next_line().await.expect("text") {
                    said.out.push_str(&line);
                }
            }
            while let Some(line) = self.err.next_line().await.expect("text") {
                said.err.push_str(&line);
            }
            self.child.wait().await.expect("it ran").code()
        };
        said.code = tokio::time::timeout(DEADLINE, all).await.expect("it ends");
        said
    }

    /// Reads no more of it, as `head` does when it has enough, and waits for it to end.
    ///
    /// # Panics
    /// It does not end before the deadline.
    pub async fn unread(mut self) -> Said {
        self.out = None;
        self.ends().await
    }

    /// Interrupts it, as Ctrl-C does. Answers what it had not been asked for yet, and how it ended.
    ///
    /// # Panics
    /// It does not end before the deadline.
    pub async fn interrupted(self) -> Said {
        let id = self.child.id().expect("it goes on").to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status().await;
        assert!(sent.expect("it is sent").success());
        self.ends().await
    }
}
