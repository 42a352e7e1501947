//! An Envoy that runs.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::setup::{LISTENER, Setup};
use crate::fleet::until;
use crate::{gateway, tools};

/// How long Envoy may take to be ready.
const PATIENCE: Duration = Duration::from_secs(30);

/// An Envoy on free ports of this host. It is killed when this is dropped, and shows its log where
/// that is because a test has failed.
pub struct Envoy {
    /// Its configuration, and its logs.
    home: TempDir,
    process: Child,
    admin: SocketAddr,
    listener: SocketAddr,
    client: reqwest::Client,
    started_in: Duration,
}

/// A stream as Envoy's access log has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// What was asked for.
    pub path: String,
    /// The status of the answer; zero: there was none.
    pub code: u16,
    /// Envoy's response flags.
    pub flags: String,
    /// Envoy's response code details.
    pub details: String,
}

impl Setup {
    /// Starts it.
    ///
    /// # Panics
    /// It does not start; its log says why.
    pub async fn start(&self) -> Envoy {
        match self.try_start().await {
            Ok(envoy) => envoy,
            Err(log) => panic!("Envoy does not start:\n{log}"),
        }
    }

    /// Starts it, or returns its log where it does not want to.
    ///
    /// # Errors
    /// Envoy's log.
    ///
    /// # Panics
    /// It neither starts nor ends.
    pub async fn try_start(&self) -> Result<Envoy, String> {
        let home = tempfile::tempdir().expect("a temporary directory");
        put(home.path(), "envoy.json", &self.bootstrap(home.path()));
        if let Some(resource) = self.resource(home.path()) {
            put(home.path(), "resource.json", &resource);
        }
        let config = home.path().join("envoy.json");
        Envoy::launch(home, &config, self.worker_count(), LISTENER).await
    }
}

impl Envoy {
    /// Starts an Envoy with this file, from the repository's root as people do, and waits until
    /// its listener of this name takes connections.
    ///
    /// # Errors
    /// Envoy's log, where it ends instead.
    ///
    /// # Panics
    /// It neither starts nor ends.
    pub async fn launch(
        home: TempDir,
        config: &Path,
        workers: u32,
        listener: &str,
    ) -> Result<Self, String> {
        let started = Instant::now();
        let log = File::create(home.path().join("log")).expect("a log file");
        let process = Command::new(tools::envoy())
            .arg("--config-path")
            .arg(config)
            .args(["--concurrency", &workers.to_string()])
            .arg("--admin-address-path")
            .arg(home.path().join("admin"))
            // No memory is shared with other Envoys of this machine.
            .arg("--disable-hot-restart")
            .args(["--file-flush-interval-msec", "20"])
            .args(["--drain-strategy", "immediate", "--drain-time-s", "60"])
            // What starts, and every extension there is, is told at info.
            .args(["--log-level", "warn"])
            .args([
                "--component-log-level",
                "wasm:info,config:info,upstream:info",
            ])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("Envoy was found and did not start: {error}"));
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut envoy = Self {
            home,
            process,
            admin: nowhere,
            listener: nowhere,
            client: gateway::client(),
            started_in: Duration::ZERO,
        };
        while !envoy.is_ready(listener).await {
            if !envoy.runs() {
                return Err(envoy.log());
            }
            assert!(
                started.elapsed() < PATIENCE,
                "Envoy was not ready within {PATIENCE:?}"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        envoy.started_in = started.elapsed();
        Ok(envoy)
    }

    /// Whether it is live and its listener has an address; notes both addresses.
    async fn is_ready(&mut self, listener: &str) -> bool {
        let admin = fs::read_to_string(self.home.path().join("admin")).unwrap_or_default();
        let Ok(admin) = admin.parse() else {
            return false;
        };
        self.admin = admin;
        let Some(address) = self.listener_address(listener).await else {
            return false;
        };
        self.listener = address;
        let ready = self.client.get(self.admin_url("/ready")).send().await;
        ready.is_ok_and(|answer| answer.status().is_success())
    }

    async fn listener_address(&self, name: &str) -> Option<SocketAddr> {
        let url = self.admin_url("/listeners?format=json");
        let listeners: Value = self.client.get(url).send().await.ok()?.json().await.ok()?;
        let listeners = listeners["listener_statuses"].as_array()?;
        let listener = listeners.iter().find(|listener| listener["name"] == name)?;
        let address = &listener["local_address"]["socket_address"];
        format!("{}:{}", address["address"].as_str()?, address["port_value"])
            .parse()
            .ok()
    }

    /// How long it took from its start until it was ready.
    #[must_use]
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    /// Whether the process runs.
    ///
    /// # Panics
    /// The machine does not know.
    pub fn runs(&mut self) -> bool {
        let ended = self.process.try_wait().expect("the state of a child");
        ended.is_none()
    }

    /// The id of its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// A URL of its listener.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.listener)
    }

    /// A URL of its admin interface.
    #[must_use]
    pub fn admin_url(&self, path: &str) -> String {
        format!("http://{}{path}", self.admin)
    }

    /// A request through it, not yet sent.
    pub fn request(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.get(self.url(path))
    }

    /// Asks for something through it.
    ///
    /// # Panics
    /// It does not answer.
    pub async fn get(&self, path: &str) -> reqwest::Response {
        self.request(path).send().await.expect("an answer")
    }

    /// The value of one of Envoy's own counters or gauges. `None`: it has none of this name.
    ///
    /// # Panics
    /// The admin interface does not answer.
    pub async fn stat(&self, name: &str) -> Option<u64> {
        // Names are taken for patterns, which they fit themselves.
        let url = self.admin_url(&format!("/stats?filter={name}"));
        let stats = self.client.get(url).send().await.expect("the statistics");
        let stats = stats.text().await.expect("a text");
        stats
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok())
    }

    /// The value of one of the filter's metrics.
    ///
    /// # Panics
    /// The filter has not defined it.
    pub async fn count(&self, name: &str) -> u64 {
        let value = self.stat(&format!("wasmcustom.fusewire.{name}")).await;
        value.unwrap_or_else(|| panic!("the filter has no metric fusewire.{name}"))
    }

    /// Waits until one of the filter's metrics has this value.
    ///
    /// # Panics
    /// It has not before the deadline.
    pub async fn counted(&self, name: &str, value: u64) {
        let what = format!("fusewire.{name} is {value}");
        until(&what, async || self.count(name).await == value).await;
    }

    /// The streams that have ended so far, oldest first.
    ///
    /// # Panics
    /// The access log is not what was asked for.
    #[must_use]
    pub fn streams(&self) -> Vec<Logged> {
        let log = fs::read_to_string(self.home.path().join("access.log")).unwrap_or_default();
        // The last line may be half written.
        let whole = log.rfind('\n').map_or("", |end| &log[..end]);
        whole.lines().map(Logged::read).collect()
    }

    /// Waits until so many streams have ended, and returns them.
    ///
    /// # Panics
    /// They have not before the deadline.
    pub async fn ended_streams(&self, number: usize) -> Vec<Logged> {
        let what = format!("{number} streams have ended");
        until(&what, async || self.streams().len() >= number).await;
        self.streams()
    }

    /// Puts what has changed into the file that Envoy watches, at once as a whole.
    ///
    /// # Panics
    /// The setup is one that is never updated.
    pub fn update(&self, setup: &Setup) {
        let resource = setup.resource(self.home.path());
        let resource = resource.expect("a setup that is updated by a file");
        put(self.home.path(), "resource.json", &resource);
    }

    /// What Envoy has written so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }

    /// How much time of processors the process has taken so far.
    ///
    /// # Panics
    /// The machine does not tell.
    #[must_use]
    pub fn processor_time(&self) -> Duration {
        // In hundredths of a second on every Linux, since programs have come to rely on it.
        const TICK: Duration = Duration::from_millis(10);
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id()));
        let stat = stat.expect("the process's times");
        // The second field is the program's name in parentheses, and may have spaces in it.
        let fields = stat.rsplit(')').next().unwrap_or_default();
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks = ticks.map(|ticks| ticks.parse::<u32>().expect("a number of ticks"));
        TICK * ticks.sum::<u32>()
    }

    /// The memory that the process holds, in KiB.
    ///
    /// # Panics
    /// The machine does not tell.
    #[must_use]
    pub fn memory_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id()));
        let status = status.expect("the process's status");
        status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next())
            .and_then(|kib| kib.parse().ok())
            .expect("the size of the memory")
    }
}

impl Drop for Envoy {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone after this.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            eprintln!("--- Envoy's log ---\n{}--- its end ---", self.log());
        }
    }
}

impl Logged {
    fn read(line: &str) -> Self {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        Self {
            path: text("path"),
            code: u16::try_from(line["code"].as_u64().unwrap_or(0)).expect("a status"),
            flags: text("flags"),
            details: text("details"),
        }
    }
}

/// Writes a file beside its place and moves it there: Envoy takes a move as a change.
fn put(home: &Path, name: &str, content: &Value) {
    let draft = home.join(format!("{name}.new"));
    fs::write(&draft, content.to_string()).expect("a file is written");
    fs::rename(&draft, home.join(name)).expect("it is moved to its place");
}
