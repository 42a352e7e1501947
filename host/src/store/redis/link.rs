//! The one connection to Redis, and the task that brings it back.
//!
//! All calls share one connection, and their commands follow each other on it without waiting
//! (Redis answers in order). While there is none, an operation is told so at once: nothing queues
//! up for a server that is away. One task connects, keeps the clock, and connects again with a
//! short pause between attempts for as long as the store lives.
//!
//! A server that hangs, or a network that swallows packets, closes no connection. So an answer
//! that fails to come puts the connection in doubt, and the task asks the server for a sign of
//! life; without one the connection is given up.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, ConnectionAddr, ConnectionInfo, ProtocolVersion, PushInfo,
    RedisConnectionInfo, RedisError, Value, cmd,
};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use super::clock::Clock;
use super::drift::{ClockNews, ClockReading, ClockWatch};
use super::errors::{self, Failure};
use crate::store::StoreError;

/// The pause before connecting again, and what it doubles up to. Short, as a host without its
/// store decides alone; bounded from below, so that a server in trouble is not hammered.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// How many samples a measurement takes: one may meet a slow moment, four seldom do.
const SAMPLES: usize = 4;
/// The least time between two looks at a connection in doubt, however many answers fail to come.
const DOUBT_REST: Duration = Duration::from_millis(250);
/// How many commands may wait to be written. More than a burst; all share the limit on the
/// response time, so what waits here for long is given up by those who asked.
const WRITE_QUEUE: usize = 1024;

/// How long the connection is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedisLimits {
    /// For connecting, from the name lookup to the server's greeting.
    pub connect: Duration,
    /// For one answer. This only keeps calls from piling up on a connection that is dead; the
    /// limit within which a store must answer to be of use is [`WatchedStore`]'s, and shorter.
    ///
    /// [`WatchedStore`]: crate::store::WatchedStore
    pub response: Duration,
}

impl Default for RedisLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(1),
            response: Duration::from_secs(1),
        }
    }
}

/// What carries a connection's bytes: it runs for as long as the connection lives.
pub(super) type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

enum State {
    /// The first attempt to connect is under way.
    Connecting,
    Up(MultiplexedConnection),
    /// There is none, for this reason; the next attempt is under way or about to be.
    Down(String),
}

pub(super) struct Link {
    server: ConnectionInfo,
    /// Where the server is, without the credentials.
    pub(super) address: String,
    pub(super) limits: RedisLimits,
    state: watch::Sender<State>,
    doubt: Notify,
    pub(super) clock: Clock,
}

impl Link {
    pub(super) fn new(server: ConnectionInfo, limits: RedisLimits, clock: ClockWatch) -> Self {
        Self {
            address: server.addr().to_string(),
            server,
            limits,
            state: watch::Sender::new(State::Connecting),
            doubt: Notify::new(),
            clock: Clock::new(clock),
        }
    }

    /// The connection, if there is one at this moment.
    pub(super) fn connection(&self) -> Result<MultiplexedConnection, StoreError> {
        let why = match &*self.state.borrow() {
            State::Up(connection) => return Ok(connection.clone()),
            State::Connecting => "still connecting".to_owned(),
            State::Down(why) => why.clone(),
        };
        let address = &self.address;
        Err(StoreError::Unavailable(format!(
            "no connection to Redis at {address}: {why}"
        )))
    }

    /// Whether there is a connection at this moment.
    pub(super) fn is_up(&self) -> bool {
        matches!(*self.state.borrow(), State::Up(_))
    }

    /// Waits until the first attempt to connect has ended, either way.
    pub(super) async fn settled(&self) {
        let mut state = self.state.subscribe();
        // An error means that the state is gone, which it is not while `self` is borrowed.
        let _ = state
            .wait_for(|state| !matches!(state, State::Connecting))
            .await;
    }

    /// Has the connection looked at: an answer has not come, or was one of a server to leave.
    pub(super) fn doubt(&self) {
        self.doubt.notify_one();
    }

    /// What an error means for `what` that was tried.
    pub(super) fn judge(&self, error: &RedisError, what: &str) -> StoreError {
        let Failure { error, doubtful } = errors::judge(error, what, &self.address);
        if doubtful {
            self.doubt();
        }
        error
    }

    /// Connects, and connects again whenever the connection is lost. Never ends by itself.
    pub(super) async fn keep(self: Arc<Self>) {
        let mut pause = PAUSE_MIN;
        // One line an outage, not one an attempt.
        let mut told = false;
        loop {
            let why = match self.connect().await {
                Ok((connection, mut driver)) => {
                    tracing::info!(redis = %self.address, "connected to Redis");
                    told = false;
                    let began = Instant::now();
                    self.state.send_replace(State::Up(connection.clone()));
                    let why = tokio::select! {
                        () = &mut driver => "the connection was closed".to_owned(),
                        why = self.attend(connection) => why,
                    };
                    if began.elapsed() >= PAUSE_MAX {
                        pause = PAUSE_MIN;
                    }
                    why
                }
                Err(why) => why,
            };
            if !told {
                tracing::warn!(redis = %self.address, "no connection to Redis: {why}");
                told = true;
            }
            self.state.send_replace(State::Down(why));
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// A connection that has shown a sign of life.
    async fn connect(&self) -> Result<(MultiplexedConnection, Driver), String> {
        let greeted = async {
            let (connection, mut driver) = self.open().await?;
            tokio::select! {
                () = &mut driver => Err("the connection was closed at once".to_owned()),
                greeted = self.greet(&connection) => greeted.map(|()| (connection, driver)),
            }
        };
        match timeout(self.limits.connect, greeted).await {
            Ok(ended) => ended,
            Err(_) => Err(format!(
                "it did not connect within {:?}",
                self.limits.connect
            )),
        }
    }

    async fn open(&self) -> Result<(MultiplexedConnection, Driver), String> {
        let settings = self.server.redis_settings();
        self.open_as(settings, AsyncConnectionConfig::new()).await
    }

    /// A connection beside the one that all calls share, on which the server may tell things
    /// unasked: `told` is given them, and must not block.
    pub(super) async fn listen(
        &self,
        told: impl Fn(PushInfo) -> Result<(), Infallible> + Send + Sync + 'static,
    ) -> Result<(MultiplexedConnection, Driver), String> {
        let settings = self.server.redis_settings().clone();
        let settings = settings.set_protocol(ProtocolVersion::RESP3);
        let config = AsyncConnectionConfig::new().set_push_sender(told);
        self.open_as(&settings, config).await
    }

    /// Opens a connection, whose driver is then to be run.
    async fn open_as(
        &self,
        settings: &RedisConnectionInfo,
        config: AsyncConnectionConfig,
    ) -> Result<(MultiplexedConnection, Driver), String> {
        let config = config
            .set_response_timeout(Some(self.limits.response))
            .set_pipeline_buffer_size(WRITE_QUEUE);
        let opened = match self.server.addr() {
            ConnectionAddr::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port)).await;
                let stream = stream.and_then(|stream| stream.set_nodelay(true).map(|()| stream));
                let stream = stream.map_err(|error| error.to_string())?;
                MultiplexedConnection::new_with_config(settings, stream, config)
                    .await
                    .map(|(connection, driver)| (connection, Box::pin(driver) as Driver))
            }
            #[cfg(unix)]
            ConnectionAddr::Unix(path) => {
                let stream = tokio::net::UnixStream::connect(path).await;
                let stream = stream.map_err(|error| error.to_string())?;
                MultiplexedConnection::new_with_config(settings, stream, config)
                    .await
                    .map(|(connection, driver)| (connection, Box::pin(driver) as Driver))
            }
            _ => return Err("only TCP and Unix sockets are supported".to_owned()),
        };
        opened.map_err(|error| error.to_string())
    }

    /// Looks after a connection: keeps the clock, and asks for a sign of life when in doubt.
    /// Ends, with the reason, where the connection is to be given up.
    async fn attend(&self, connection: MultiplexedConnection) -> String {
        loop {
            tokio::select! {
                () = sleep(self.clock.watch.every) => {}
                () = self.doubt.notified() => {}
            }
            if let Err(why) = self.greet(&connection).await {
                return why;
            }
            sleep(DOUBT_REST).await;
        }
    }

    /// Asks for a sign of life, for whether the server takes writes, and for its time.
    async fn greet(&self, connection: &MultiplexedConnection) -> Result<(), String> {
        // After a fail-over the old primary is a replica. To stay with it would be to be refused
        // each write, while a new connection may lead to the new primary. A server that does not
        // tell its role (not everyone may ask) is taken as it is.
        let role = ask(connection, "ROLE").await?;
        if let Value::Array(role) = role
            && let Some(Value::BulkString(role)) = role.first()
            && role != b"master"
        {
            let role = String::from_utf8_lossy(role);
            return Err(format!("it is a {role}, which takes no writes"));
        }
        let mut samples = Vec::with_capacity(SAMPLES);
        for _ in 0..SAMPLES {
            let sent = Instant::now();
            let answer = ask(connection, "TIME").await?;
            let received = Instant::now();
            match redis::from_redis_value::<(i64, i64)>(answer) {
                Ok((s, us)) => {
                    let server_us = s.saturating_mul(1_000_000).saturating_add(us);
                    samples.push(self.clock.sample(sent, received, server_us));
                }
                Err(error) => {
                    tracing::debug!(redis = %self.address, "no time from TIME: {error}");
                    break;
                }
            }
        }
        if let Some(reading) = self.clock.measured(&samples) {
            self.tell(&reading);
        }
        Ok(())
    }

    /// Tells how this host's clock stands against the fleet's.
    fn tell(&self, reading: &ClockReading) {
        let (ahead_us, within_us) = (reading.ahead_us, reading.within_us);
        tracing::debug!(redis = %self.address, ahead_us, within_us, "measured the fleet's clock");
        for news in &reading.news {
            match news {
                ClockNews::Back { .. } => tracing::info!(redis = %self.address, "{news}"),
                _ => tracing::warn!(redis = %self.address, "{news}"),
            }
        }
        (self.clock.watch.told)(reading);
    }
}

/// Sends a command without arguments. An error that the server itself tells is a sign of life
/// too, and is in the value.
async fn ask(connection: &MultiplexedConnection, command: &str) -> Result<Value, String> {
    connection
        .clone()
        .send_packed_command(&cmd(command))
        .await
        .map_err(|error| format!("{command} was not answered: {error}"))
}
