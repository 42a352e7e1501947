//! A provider that does as it is told: answers, hangs, resets, breaks off. It speaks HTTP/1.1
//! over a real socket on a free port of the loopback, byte by byte, since what goes wrong in the
//! midst of an answer is what the tests are about.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// What the provider does with one request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Answers, and keeps the connection.
    Answer {
        /// The status.
        status: u16,
        /// The fields besides the length.
        headers: Vec<(String, String)>,
        /// The body.
        body: Vec<u8>,
    },
    /// Says nothing, until the other side goes away.
    Hang,
    /// Waits until it is let go, and then does as it is told by then.
    Wait,
    /// Resets the connection.
    Reset,
    /// Sends these bytes one part after another, with a pause before each, and then as it says.
    Bytes {
        /// The parts.
        parts: Vec<Vec<u8>>,
        /// The pause before each.
        pause: Duration,
        /// What comes after the last one.
        end: End,
    },
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// In good order.
    Close,
    /// With a reset.
    Reset,
    /// When the other side goes away.
    Hang,
}

impl Reply {
    /// An answer with this status and no body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::Answer {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// 200 with this body.
    #[must_use]
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::Answer {
            status: 200,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// The same answer with one more field.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((name.into(), value.into()));
        }
        self
    }

    /// These bytes at once, and the end.
    #[must_use]
    pub fn raw(bytes: impl Into<Vec<u8>>, end: End) -> Self {
        Self::Bytes {
            parts: vec![bytes.into()],
            pause: Duration::ZERO,
            end,
        }
    }

    /// An answer whose stated length is longer than what comes of it.
    #[must_use]
    pub fn half_body(end: End) -> Self {
        Self::raw("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", end)
    }
}

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Received {
    /// The request line's first word.
    pub method: String,
    /// Its second.
    pub target: String,
    /// The fields, with their names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Received {
    /// The first field of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }
}

/// A provider that does as it is told.
pub struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

struct Shared {
    always: Mutex<Reply>,
    once: Mutex<VecDeque<Reply>>,
    received: Mutex<Vec<Received>>,
    connections: AtomicUsize,
    left_alone: AtomicUsize,
    /// One permit for each request that waits and may go on.
    let_go: Semaphore,
}

impl Upstream {
    /// Starts a provider that answers 200 with its port until it is told otherwise.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            always: Mutex::new(Reply::ok(address.port().to_string())),
            once: Mutex::default(),
            received: Mutex::default(),
            connections: AtomicUsize::new(0),
            left_alone: AtomicUsize::new(0),
            let_go: Semaphore::new(0),
        });
        let serving = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&serving);
                shared.connections.fetch_add(1, Ordering::SeqCst);
                // A connection that breaks is what the other side is tested with.
                tokio::spawn(async move { shared.serve(stream).await });
            }
        });
        Self {
            address,
            shared,
            accepting,
        }
    }

    /// Does this with every request from now on.
    pub fn say(&self, reply: Reply) {
        *self.shared.always.lock().unwrap() = reply;
    }

    /// Does this once, before it goes on as told.
    pub fn say_once(&self, reply: Reply) {
        self.shared.once.lock().unwrap().push_back(reply);
    }

    /// Lets so many requests go on that wait, or will.
    pub fn let_go(&self, number: usize) {
        self.shared.let_go.add_permits(number);
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A URL there.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests so far.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap().clone()
    }

    /// How many connections were made.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// How often the other side went away while it waited.
    #[must_use]
    pub fn left_alone(&self) -> usize {
        self.shared.left_alone.load(Ordering::SeqCst)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    async fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut pending = Vec::new();
        while let Some(received) = read_request(&mut stream, &mut pending).await? {
            self.received.lock().unwrap().push(received);
            let once = self.once.lock().unwrap().pop_front();
            let mut reply = once.unwrap_or_else(|| self.told());
            while matches!(reply, Reply::Wait) {
                self.let_go
                    .acquire()
                    .await
                    .expect("it is never closed")
                    .forget();
                reply = self.told();
            }
            match reply {
                Reply::Wait => {}
                Reply::Answer {
                    status,
                    headers,
                    body,
                } => {
                    let mut answer =
                        format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
                    for (name, value) in headers {
                        answer.push_str(&format!("{name}: {value}\r\n"));
                    }
                    answer.push_str("\r\n");
                    // At once: in two parts the second would wait for the first to be confirmed.
                    let mut answer = answer.into_bytes();
                    answer.extend(body);
                    stream.write_all(&answer).await?;
                }
                Reply::Hang => return self.end(stream, End::Hang).await,
                Reply::Reset => return self.end(stream, End::Reset).await,
                Reply::Bytes { parts, pause, end } => {
                    for part in parts {
                        tokio::time::sleep(pause).await;
                        if stream.write_all(&part).await.is_err() {
                            return self.end(stream, End::Hang).await;
                        }
                    }
                    return self.end(stream, end).await;
                }
            }
        }
        Ok(())
    }

    fn told(&self) -> Reply {
        self.always.lock().unwrap().clone()
    }

    async fn end(&self, mut stream: TcpStream, end: End) -> io::Result<()> {
        match end {
            End::Close => stream.shutdown().await,
            End::Reset => stream.set_zero_linger(),
            End::Hang => {
                while stream.read(&mut [0; 1024]).await.is_ok_and(|n| n > 0) {}
                self.left_alone.fetch_add(1, Ordering::SeqCst);
                Ok(())
            }
        }
    }
}

/// Reads one request. `None`: there is no other.
async fn read_request(
    stream: &mut TcpStream,
    pending: &mut Vec<u8>,
) -> io::Result<Option<Received>> {
    let head_end = loop {
        if let Some(at) = pending.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(pending).await? == 0 {
            return Ok(None);
        }
    };
    let rest = pending.split_off(head_end);
    let head = String::from_utf8_lossy(pending).into_owned();
    *pending = rest;
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let mut received = Received {
        method: words.next().unwrap_or_default().into(),
        target: words.next().unwrap_or_default().into(),
        headers: lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect(),
        body: Vec::new(),
    };
    let length = received
        .header("content-length")
        .and_then(|length| length.parse().ok())
        .unwrap_or(0);
    while pending.len() < length {
        if stream.read_buf(pending).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let rest = pending.split_off(length);
    received.body = std::mem::replace(pending, rest);
    Ok(Some(received))
}

/// A port that nobody listens on.
pub async fn nobody_there() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    listener.local_addr().expect("an address")
}

/// A listener that accepts nothing more, so that connecting takes for ever.
pub struct FullHouse {
    address: SocketAddr,
    _listener: TcpListener,
    _guests: Vec<TcpStream>,
}

impl FullHouse {
    /// Fills a listener's queue.
    pub async fn start() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket
            .bind("127.0.0.1:0".parse().expect("an address"))
            .expect("a free port");
        let listener = socket.listen(1).expect("a listener");
        let address = listener.local_addr().expect("an address");
        let mut guests = Vec::new();
        while let Ok(Ok(guest)) =
            tokio::time::timeout(Duration::from_millis(100), TcpStream::connect(address)).await
        {
            guests.push(guest);
        }
        Self {
            address,
            _listener: listener,
            _guests: guests,
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A URL there.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}
