//! A provider that is healthy, fails, hangs and flaps: a real HTTP server on the loopback, which
//! writes down who called it when.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use super::journal::monotonic_us;
use super::random::Random;

/// What a provider does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// Answers 200.
    Healthy,
    /// Answers 503.
    Failing,
    /// Takes the request, and does not answer.
    Hanging,
    /// Answers now 200, now 503.
    Flapping,
}

impl Mood {
    /// A word for a line of progress.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Failing => "failing",
            Self::Hanging => "hanging",
            Self::Flapping => "flapping",
        }
    }
}

/// A call as it reached the provider.
#[derive(Debug, Clone)]
pub struct Visit {
    /// When, on the machine's monotonic clock, in us.
    pub at_us: u64,
    /// Which provider.
    pub domain: String,
    /// The process that called.
    pub instance: String,
    /// The number of the call within that process.
    pub call: u64,
    /// Whether it came as a probe.
    pub probe: bool,
    /// What the provider did then.
    pub mood: Mood,
}

/// A provider.
pub struct Provider {
    shared: Arc<Shared>,
    address: SocketAddr,
    accepting: AbortHandle,
}

struct Shared {
    name: String,
    state: Mutex<State>,
}

struct State {
    /// What it has done, each with the moment that it began to, in us; the last is what it does.
    moods: Vec<(u64, Mood)>,
    random: Random,
    visits: Vec<Visit>,
}

impl State {
    fn mood(&self) -> Mood {
        self.moods.last().map_or(Mood::Healthy, |(_, mood)| *mood)
    }
}

impl Provider {
    /// Starts one, healthy, on a free port.
    pub async fn start(name: &str, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            name: name.to_owned(),
            state: Mutex::new(State {
                moods: vec![(monotonic_us(), Mood::Healthy)],
                random: Random::apart(seed, name),
                visits: Vec::new(),
            }),
        });
        let serving = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&serving);
                // A connection that breaks is one of a caller that was killed.
                tokio::spawn(async move { shared.serve(stream).await });
            }
        });
        Self {
            shared,
            address,
            accepting: accepting.abort_handle(),
        }
    }

    /// Its name, which is that of its failure domain.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Does this from now on.
    pub fn set(&self, mood: Mood) {
        let mut state = self.shared.state();
        if state.mood() != mood {
            state.moods.push((monotonic_us(), mood));
        }
    }

    /// What it does.
    #[must_use]
    pub fn mood(&self) -> Mood {
        self.shared.state().mood()
    }

    /// What it has done, each with the moment that it began to, on the machine's monotonic clock,
    /// in us.
    #[must_use]
    pub fn moods(&self) -> Vec<(u64, Mood)> {
        self.shared.state().moods.clone()
    }

    /// How many calls have reached it.
    #[must_use]
    pub fn visited(&self) -> usize {
        self.shared.state().visits.len()
    }

    /// The calls that have reached it.
    #[must_use]
    pub fn visits(&self) -> Vec<Visit> {
        self.shared.state().visits.clone()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        while let Some(path) = read_path(&mut stream).await? {
            let Some(status) = self.visit(&path) else {
                // Until the other side goes away.
                while stream.read(&mut [0; 64]).await? > 0 {}
                return Ok(());
            };
            let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await?;
        }
        Ok(())
    }

    /// Writes a call down. The status to answer with; none: it hangs.
    fn visit(&self, path: &str) -> Option<u16> {
        let mut parts = path.trim_start_matches('/').split('/');
        let instance = parts.next().unwrap_or_default().to_owned();
        let call = parts.next().and_then(|call| call.parse().ok());
        let probe = parts.next() == Some("probe");
        let mut state = self.state();
        let mood = state.mood();
        state.visits.push(Visit {
            at_us: monotonic_us(),
            domain: self.name.clone(),
            instance,
            call: call.unwrap_or(u64::MAX),
            probe,
            mood,
        });
        match mood {
            Mood::Healthy => Some(200),
            Mood::Failing => Some(503),
            Mood::Hanging => None,
            Mood::Flapping if state.random.percent(50) => Some(200),
            Mood::Flapping => Some(503),
        }
    }
}

/// Reads a request without a body: its path. None: there is no other.
async fn read_path(stream: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        if line == "\r\n" {
            return Ok(Some(path));
        }
    }
}
