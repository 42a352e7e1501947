//! Word from the server of keys that change: Redis's client tracking, broadcast by what keys begin
//! with.
//!
//! It comes over a connection of its own, in the newer protocol, whatever the store's own one
//! speaks. Word of a change says that there was one, not what it was. Where much changes, and
//! nobody takes it, one word stands for all of it.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use redis::aio::MultiplexedConnection;
use redis::{PushInfo, PushKind, Value, cmd};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::RedisStore;
use crate::store::StoreError;

/// How many keys are kept until somebody takes them. A program that falls behind by more than that
/// is quicker to read all of them.
const KEPT: usize = 10_000;

/// What has changed since it was asked last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// These keys: they came, went or have another value.
    Keys(BTreeSet<String>),
    /// Any of them: too many to be told apart, or all were removed.
    All,
    /// The connection is lost. There will be no more, and changes may have been missed.
    Lost,
}

/// Word of changes, from the moment it was asked for. Dropped, it stops.
pub struct Changes {
    heard: Arc<Heard>,
    driver: AbortHandle,
    /// It is closed when nobody holds it.
    _connection: MultiplexedConnection,
}

#[derive(Default)]
struct Heard {
    /// Held for a few instructions at a time.
    so_far: Mutex<SoFar>,
    something: Notify,
}

#[derive(Default)]
struct SoFar {
    keys: BTreeSet<String>,
    all: bool,
    lost: bool,
}

impl RedisStore {
    /// Asks the server to tell of every change of keys that begin so.
    ///
    /// # Errors
    /// It is out of reach, or is one that does not tell: older than version 6, or a proxy.
    pub async fn changes(&self, begins: &str) -> Result<Changes, StoreError> {
        let heard = Arc::new(Heard::default());
        let told = Arc::clone(&heard);
        let listening = async {
            let told = move |push| {
                told.take(push);
                Ok::<(), Infallible>(())
            };
            let (connection, driver) = self.link.listen(told).await?;
            let ended = Arc::clone(&heard);
            let driver = tokio::spawn(async move {
                driver.await;
                ended.note(|so_far| so_far.lost = true);
            });
            // From here on whatever goes wrong takes the connection along.
            let changes = Changes {
                heard,
                driver: driver.abort_handle(),
                _connection: connection.clone(),
            };
            let mut track = cmd("CLIENT");
            track.arg("TRACKING").arg("ON");
            track.arg("BCAST").arg("PREFIX").arg(begins);
            let answer = connection.clone().send_packed_command(&track).await;
            let answer = answer.and_then(Value::extract_error);
            answer.map_err(|error| error.to_string())?;
            Ok(changes)
        };
        let listening = timeout(self.link.limits.connect, listening).await;
        let listening = listening.unwrap_or_else(|_| Err("it did not answer in time".into()));
        listening.map_err(|why: String| {
            let address = self.address();
            StoreError::Unavailable(format!("changes at {address} are not told: {why}"))
        })
    }
}

impl Changes {
    /// Waits for something to change. Cancel-safe: what is not taken is kept.
    pub async fn next(&self) -> News {
        loop {
            if let Some(news) = self.heard.news() {
                return news;
            }
            self.heard.something.notified().await;
        }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Heard {
    fn note(&self, note: impl FnOnce(&mut SoFar)) {
        let mut so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        note(&mut so_far);
        drop(so_far);
        self.something.notify_one();
    }

    fn take(&self, push: PushInfo) {
        match push.kind {
            PushKind::Disconnection => self.note(|so_far| so_far.lost = true),
            PushKind::Invalidate => {
                // A list of keys, or nothing at all where the server was flushed.
                let keys = match push.data.into_iter().next() {
                    Some(keys @ Value::Array(_)) => {
                        redis::from_redis_value::<Vec<Vec<u8>>>(keys).ok()
                    }
                    _ => None,
                };
                self.note(|so_far| so_far.add(keys));
            }
            _ => {}
        }
    }

    fn news(&self) -> Option<News> {
        let mut so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        if so_far.lost {
            return Some(News::Lost);
        }
        if mem::take(&mut so_far.all) {
            return Some(News::All);
        }
        let keys = mem::take(&mut so_far.keys);
        (!keys.is_empty()).then_some(News::Keys(keys))
    }
}

impl SoFar {
    fn add(&mut self, keys: Option<Vec<Vec<u8>>>) {
        match keys {
            Some(keys) if !self.all => {
                let keys = keys.into_iter().flat_map(String::from_utf8);
                self.keys.extend(keys);
                self.all = self.keys.len() > KEPT;
            }
            Some(_) => {}
            None => self.all = true,
        }
        if self.all {
            self.keys.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(data: Value) -> PushInfo {
        PushInfo {
            kind: PushKind::Invalidate,
            data: vec![data],
        }
    }

    fn keys(names: impl IntoIterator<Item = String>) -> Value {
        let keys = names.into_iter().map(|name| Value::BulkString(name.into()));
        Value::Array(keys.collect())
    }

    #[tokio::test]
    async fn keys_that_change_are_told_once_and_in_their_order() {
        let heard = Heard::default();
        for key in ["b", "a", "b"] {
            heard.take(pushed(keys([key.to_owned()])));
        }
        let told = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
        assert_eq!(heard.news(), Some(News::Keys(told)));
        assert_eq!(heard.news(), None);
    }

    #[tokio::test]
    async fn what_nobody_takes_is_told_in_one_word_and_does_not_grow() {
        let heard = Heard::default();
        for n in 0..=KEPT {
            heard.take(pushed(keys([n.to_string()])));
        }
        heard.take(pushed(keys(["more".to_owned()])));
        assert_eq!(heard.news(), Some(News::All));
        assert_eq!(heard.news(), None);
    }

    #[tokio::test]
    async fn a_server_that_was_flushed_has_changed_altogether() {
        let heard = Heard::default();
        heard.take(pushed(keys(["a".to_owned()])));
        heard.take(pushed(Value::Nil));
        assert_eq!(heard.news(), Some(News::All));
        assert_eq!(heard.news(), None);
    }
}
