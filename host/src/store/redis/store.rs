//! Each operation of the store as one round trip.

use std::future::Future;
use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use redis::{Client, ConnectionAddr, ErrorKind, Pipeline, RedisError, Value, cmd};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::drift::ClockWatch;
use super::link::{Link, RedisLimits};
use super::scripts::{self, By};
use crate::store::{Lane, Mode, Reply, Store, StoreError, Tally, Window, adds};

/// A store on Redis, for a fleet. See the [module](super).
///
/// It answers within [`RedisLimits::response`], and at once while there is no connection. Wrap it
/// into a [`WatchedStore`](crate::store::WatchedStore) so that it cannot slow calls down.
pub struct RedisStore {
    pub(super) link: Arc<Link>,
    keeper: AbortHandle,
}

impl RedisStore {
    /// A store on the server at this URL, with the default limits and this host's clock. See [`Self::open_with`].
    ///
    /// # Errors
    /// As [`Self::open_with`].
    pub fn open(url: &str) -> Result<Self, StoreError> {
        Self::open_with(url, RedisLimits::default(), ClockWatch::default())
    }

    /// A store on the server at this URL: `redis://host:6379/0`, where wanted with
    /// `user:password@` before the host, or `redis+unix:///path`; `?protocol=resp3` for the newer
    /// protocol.
    ///
    /// Returns before there is a connection. One is made in the background, and made again
    /// whenever it is lost, until the store is dropped.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: the URL cannot be one of a server, or this is not called within a
    /// tokio runtime.
    pub fn open_with(
        url: &str,
        limits: RedisLimits,
        clock: ClockWatch,
    ) -> Result<Self, StoreError> {
        // The URL may hold a password, so no message has it in it.
        let refuse = |why: &dyn std::fmt::Display| {
            StoreError::Refused(format!(
                "cannot use the URL of Redis: {why}; a right one looks like redis://host:6379/0"
            ))
        };
        let client = Client::open(url).map_err(|error| {
            // "description - kind: detail"; the detail is a piece of the URL.
            let text = error.to_string();
            refuse(&text.split(" - ").next().unwrap_or_default())
        })?;
        let server = client.get_connection_info().clone();
        if matches!(server.addr(), ConnectionAddr::TcpTls { .. }) {
            return Err(refuse(&"TLS is not supported"));
        }
        let runtime = Handle::try_current().map_err(|error| {
            StoreError::Refused(format!("cannot start the connection to Redis: {error}"))
        })?;
        let link = Arc::new(Link::new(server, limits, clock));
        let keeper = runtime.spawn(Arc::clone(&link).keep()).abort_handle();
        Ok(Self { link, keeper })
    }

    /// As [`Self::open`], and waits until the first attempt to connect has ended. A server that
    /// is down is no error: the store connects when it is there.
    ///
    /// # Errors
    /// As [`Self::open_with`].
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_with(url, RedisLimits::default(), ClockWatch::default()).await
    }

    /// As [`Self::open_with`], and waits as [`Self::connect`] does.
    ///
    /// # Errors
    /// As [`Self::open_with`].
    pub async fn connect_with(
        url: &str,
        limits: RedisLimits,
        clock: ClockWatch,
    ) -> Result<Self, StoreError> {
        let store = Self::open_with(url, limits, clock)?;
        store.link.settled().await;
        Ok(store)
    }

    /// Where the server is, without the credentials.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.link.address
    }

    /// Starts an operation, where there is a connection. `what` says in an error what was tried.
    pub(super) fn start<T, F>(
        &self,
        what: impl FnOnce() -> String + Send + 'static,
        operation: impl FnOnce(MultiplexedConnection) -> F + Send + 'static,
    ) -> Reply<T>
    where
        F: Future<Output = Result<T, RedisError>> + Send + 'static,
    {
        let connection = match self.link.connection() {
            Ok(connection) => connection,
            Err(error) => return Reply::Ready(Err(error)),
        };
        let link = Arc::clone(&self.link);
        Reply::Later(Box::pin(async move {
            let unanswered = Unanswered(&link);
            let answer = operation(connection).await;
            std::mem::forget(unanswered);
            answer.map_err(|error| link.judge(&error, &what()))
        }))
    }
}

impl Drop for RedisStore {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

/// Has the connection looked at where an operation is given up before it is answered: whoever
/// waited had a shorter limit than the connection, and may be the only one who notices.
struct Unanswered<'a>(&'a Link);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        self.0.doubt();
    }
}

impl Store for RedisStore {
    /// One `GET` a key in one round trip, rather than one `MGET`: that takes a counter for an
    /// absent value, and the contract has it refused.
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        if keys.is_empty() {
            return Reply::Ready(Ok(Vec::new()));
        }
        let mut pipeline = Pipeline::with_capacity(keys.len());
        for key in &keys {
            pipeline.cmd("GET").arg(key);
        }
        self.start(
            move || format!("get {keys:?}"),
            |mut connection| async move {
                let answers = connection
                    .send_packed_commands(&pipeline, 0, pipeline.len())
                    .await?;
                answers.into_iter().map(value).collect()
            },
        )
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        let named = key.clone();
        self.start(
            move || format!("swap {named:?}"),
            move |mut connection| async move {
                let call = |by| {
                    let (expected, replacement) = (expected.as_deref(), replacement.as_deref());
                    scripts::swap(by, &key, expected, replacement, ttl_ms)
                };
                let mut answer = connection.send_packed_command(&call(By::Hash)).await?;
                if scripts::is_unknown(&answer) {
                    answer = connection.send_packed_command(&call(By::Code)).await?;
                }
                match answer.extract_error()? {
                    Value::Int(swapped) => Ok(swapped == 1),
                    other => Err(unexpected(&other)),
                }
            },
        )
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        if windows.is_empty() {
            return Reply::Ready(Ok(Vec::new()));
        }
        if let Some(window) = windows.iter().find(|w| w.ttl_ms == 0 && adds(w)) {
            let why = format!("to add to {:?} needs a ttl-ms above zero", window.key);
            return Reply::Ready(Err(StoreError::Refused(why)));
        }
        let keys: Vec<String> = windows.iter().map(|window| window.key.clone()).collect();
        self.start(
            move || format!("count {keys:?}"),
            |mut connection| async move {
                let answers = count(&mut connection, &windows).await?;
                answers.into_iter().map(tally).collect()
            },
        )
    }

    fn ping(&self) -> Reply<()> {
        self.start(
            || "ping".to_owned(),
            |mut connection| async move {
                let answer = connection.send_packed_command(&cmd("PING")).await?;
                answer.extract_error().map(drop)
            },
        )
    }

    fn now_ms(&self) -> u64 {
        self.link.clock.now_ms()
    }

    fn clock_ahead_us(&self) -> Option<i64> {
        self.link.clock.ahead_us()
    }

    fn mode(&self) -> Mode {
        if self.link.is_up() {
            Mode::Shared
        } else {
            Mode::Down
        }
    }
}

/// The answers to a call of the script for each window, in one round trip; in two where the
/// server did not know the script.
async fn count(
    connection: &mut MultiplexedConnection,
    windows: &[Window],
) -> Result<Vec<Value>, RedisError> {
    let mut pipeline = Pipeline::with_capacity(windows.len());
    for window in windows {
        pipeline.add_command(scripts::count(By::Hash, window));
    }
    let mut answers = connection
        .send_packed_commands(&pipeline, 0, windows.len())
        .await?;
    let Some(first) = answers.iter().position(scripts::is_unknown) else {
        return Ok(answers);
    };
    // Another host may have brought the script between two of these calls. Windows that only
    // read are then read again, so that none misses an add to the same key that comes before it.
    let again: Vec<usize> = (first..windows.len())
        .filter(|&i| {
            let performed = answers
                .get(i)
                .is_some_and(|answer| !scripts::is_unknown(answer));
            !performed || windows.get(i).is_some_and(|window| !adds(window))
        })
        .collect();
    let mut pipeline = Pipeline::with_capacity(again.len());
    for window in again.iter().filter_map(|&i| windows.get(i)) {
        pipeline.add_command(scripts::count(By::Code, window));
    }
    let second = connection
        .send_packed_commands(&pipeline, 0, again.len())
        .await?;
    for (i, answer) in again.into_iter().zip(second) {
        if let Some(place) = answers.get_mut(i) {
            *place = answer;
        }
    }
    Ok(answers)
}

/// The answer to a `GET`.
fn value(answer: Value) -> Result<Option<Vec<u8>>, RedisError> {
    match answer.extract_error()? {
        Value::Nil => Ok(None),
        Value::BulkString(bytes) => Ok(Some(bytes)),
        other => Err(unexpected(&other)),
    }
}

/// The answer to [`scripts::COUNT`].
fn tally(answer: Value) -> Result<Tally, RedisError> {
    let Value::Array(items) = answer.extract_error()? else {
        return Err(unexpected(&"no list"));
    };
    let mut items = items.into_iter();
    let epoch = match items.next() {
        Some(epoch) => redis::from_redis_value(epoch)?,
        None => return Err(unexpected(&"an empty list")),
    };
    let mut lanes = Vec::with_capacity(items.len() / 2);
    while let (Some(name), Some(amount)) = (items.next(), items.next()) {
        lanes.push(Lane {
            name: redis::from_redis_value(name)?,
            amount: redis::from_redis_value(amount)?,
        });
    }
    lanes.sort_unstable_by(|a: &Lane, b: &Lane| a.name.cmp(&b.name));
    Ok(Tally { epoch, lanes })
}

fn unexpected(what: &dyn std::fmt::Debug) -> RedisError {
    let kind = ErrorKind::UnexpectedReturnType;
    RedisError::from((kind, "not the answer to this", format!("{what:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_malformed_url_is_refused_with_an_example_and_without_the_password() {
        for url in [
            "",
            "host:6379",
            "redis://:s3cret@",
            "http://user:s3cret@host:6379",
            "redis://user:s3cret@host:not-a-port",
            "redis://user:s3cret@host:6379/s3cret",
            "redis://user:s3cret@host:6379/?protocol=s3cret",
            "rediss://user:s3cret@host:6379",
        ] {
            let error = match RedisStore::open(url) {
                Ok(_) => panic!("{url} was taken"),
                Err(error) => error,
            };
            assert!(matches!(error, StoreError::Refused(_)), "{url}: {error}");
            let text = error.to_string();
            assert!(text.contains("redis://host:6379/0"), "{url}: {text}");
            assert!(!text.contains("s3cret"), "{url}: {text}");
        }
    }

    #[tokio::test]
    async fn the_address_has_no_credentials_in_it() {
        let store = RedisStore::open("redis://user:s3cret@127.0.0.1:1/0").expect("a URL");
        assert_eq!(store.address(), "127.0.0.1:1");
    }

    #[test]
    fn outside_of_a_runtime_it_is_an_error_and_not_a_panic() {
        assert!(matches!(
            RedisStore::open("redis://127.0.0.1:1"),
            Err(StoreError::Refused(_))
        ));
    }

    #[tokio::test]
    async fn without_a_connection_an_operation_is_answered_at_once() {
        let store = RedisStore::open("redis://127.0.0.1:1").expect("a URL");
        assert!(matches!(
            store.get(vec!["k".into()]),
            Reply::Ready(Err(StoreError::Unavailable(_)))
        ));
        assert_eq!(store.mode(), Mode::Down);
    }
}
