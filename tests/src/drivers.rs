//! The drivers of this repository that are scripts, started.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use fusewire::scenario::Driver;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::tools;

/// A file of this repository.
#[must_use]
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The policy in Node.
///
/// # Panics
/// It cannot be started.
#[must_use]
pub fn node(arguments: &[&str]) -> Driver {
    script(&tools::node(), "policy/js/drive.js", arguments)
}

/// The policy in Python.
///
/// # Panics
/// It cannot be started.
#[must_use]
pub fn python(arguments: &[&str]) -> Driver {
    script(&tools::python(), "policy/python/drive.py", arguments)
}

fn script(program: &Path, path: &str, arguments: &[&str]) -> Driver {
    let script = repository(path);
    let mut all = vec![script.as_os_str()];
    all.extend(arguments.iter().map(OsStr::new));
    Driver::start(program.as_os_str(), &all).expect("the driver starts")
}

/// The policy in workerd. Dropped, it is stopped.
pub struct Workerd {
    process: Child,
    url: String,
}

impl Workerd {
    /// Starts it, and waits until it listens.
    ///
    /// # Panics
    /// It does not start.
    pub async fn start() -> Self {
        let mut process = Command::new(tools::node())
            .arg(repository("policy/js/workerd/serve.js"))
            .arg("--drive")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("node runs");
        let mut said = BufReader::new(process.stdout.take().expect("its output")).lines();
        let line = said.next_line().await.expect("a line");
        let line = line.expect("workerd to listen");
        let url = line.strip_prefix("listening on ").expect(&line).to_owned();
        Self { process, url }
    }

    /// Its driver.
    ///
    /// # Panics
    /// There is no HTTP client to be had.
    #[must_use]
    pub fn driver(&self) -> Driver {
        Driver::connect(&format!("{}/drive", self.url)).expect("a driver")
    }

    /// Ends its input, after which it stops by itself.
    ///
    /// # Panics
    /// It does not stop, or not well.
    pub async fn end(mut self) {
        drop(self.process.stdin.take());
        let status = self.process.wait().await.expect("it ends");
        assert!(status.success(), "workerd ended: {status}");
    }
}
