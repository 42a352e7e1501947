//! A real redis-server, for one test.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use tempfile::TempDir;

use crate::tools;

/// How long a server may take to answer after its start.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a start is tried again on another port, as one that was free may be taken meanwhile.
const TRIES: usize = 10;

/// A redis-server on a free port of this host, without persistence. It is killed when this is
/// dropped.
pub struct RedisServer {
    /// Its working directory, and its log.
    home: TempDir,
    port: u16,
    /// None: it was killed.
    process: Option<Child>,
}

impl RedisServer {
    /// Starts a server, and waits until it answers.
    ///
    /// # Panics
    /// There is no redis-server on this machine, or it does not start.
    #[must_use]
    pub fn start() -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        for _ in 0..TRIES {
            let port = free_port();
            if let Some(process) = launch(home.path(), port) {
                let process = Some(process);
                return Self {
                    home,
                    port,
                    process,
                };
            }
        }
        let log = read_log(home.path());
        panic!("no redis-server would start on any of {TRIES} ports; the last said:\n{log}");
    }

    /// The URL of its database 0.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Kills the server. What it kept is gone.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may have ended by itself; either way it is gone after this.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Kills the server, where it still runs, and starts an empty one on the same port.
    ///
    /// # Panics
    /// It does not start.
    pub fn restart(&mut self) {
        self.kill();
        for _ in 0..TRIES {
            if let Some(process) = launch(self.home.path(), self.port) {
                self.process = Some(process);
                return;
            }
            // Another process is on the port; most likely it is a connection on its way out.
            thread::sleep(Duration::from_millis(100));
        }
        let log = read_log(self.home.path());
        panic!(
            "redis-server would not start again on port {}:\n{log}",
            self.port
        );
    }

    /// Makes the server hang: it keeps its connections, and answers nothing.
    ///
    /// # Panics
    /// It does not run.
    pub fn pause(&self) {
        self.signal("STOP");
    }

    /// Lets a server go on that was paused.
    ///
    /// # Panics
    /// It does not run.
    pub fn resume(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let process = self.process.as_ref().expect("a server that runs");
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(process.id().to_string())
            .status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "the signal {name} was not sent to redis-server"
        );
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a server on this port, and waits until it answers. None: it ended instead, as it does
/// where the port is taken.
fn launch(home: &Path, port: u16) -> Option<Child> {
    let log = fs::File::create(home.join("log")).expect("a log file");
    let mut process = Command::new(program())
        .args(["--port", &port.to_string()])
        .args(["--bind", "127.0.0.1"])
        .args(["--save", ""])
        .args(["--appendonly", "no"])
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("redis-server was found and did not start: {error}"));
    let deadline = Instant::now() + PATIENCE;
    loop {
        if process.try_wait().expect("the state of a child").is_some() {
            return None;
        }
        if answers(port, process.id()) {
            return Some(process);
        }
        if Instant::now() >= deadline {
            let _ = process.kill();
            let _ = process.wait();
            let log = read_log(home);
            panic!("redis-server did not answer on port {port} within {PATIENCE:?}:\n{log}");
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Whether the server on this port answers, and is this process rather than another that was
/// faster to take the port.
fn answers(port: u16, process: u32) -> bool {
    let ask = || -> std::io::Result<String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"INFO server\r\nQUIT\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.contains(&format!("process_id:{process}\r\n")))
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}

fn read_log(home: &Path) -> String {
    fs::read_to_string(home.join("log")).unwrap_or_default()
}

/// The redis-server of this machine: the one on PATH, or the one that `make setup` has brought.
fn program() -> PathBuf {
    tools::on_path("redis-server")
        .or_else(|| tools::brought("redis-server"))
        .expect("no redis-server on PATH or in the cache folder: run `make setup` once")
}
