//! A look into the store, from outside of the fleet.

use std::time::Duration;

use fusewire_core::Phase;
use redis::aio::MultiplexedConnection;
use redis::{Client, Cmd, FromRedisValue, RedisError};
use tokio::time::timeout;

use super::check::Record;

/// How long one look may take.
const LIMIT: Duration = Duration::from_millis(100);

/// Looks into one store.
pub struct Look {
    url: String,
    /// A connection, while it is good.
    kept: Option<MultiplexedConnection>,
}

impl Look {
    /// Looks into the store at this URL.
    #[must_use]
    pub fn at(url: String) -> Self {
        Self { url, kept: None }
    }

    /// The store's answer. None: there is none within a short time.
    pub async fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> Option<T> {
        let kept = self.kept.take();
        let url = self.url.as_str();
        let asking = async {
            let mut connection = match kept {
                Some(connection) => connection,
                None => {
                    Client::open(url)?
                        .get_multiplexed_async_connection()
                        .await?
                }
            };
            let answer = command.query_async(&mut connection).await?;
            Ok::<_, RedisError>((connection, answer))
        };
        let (connection, answer) = timeout(LIMIT, asking).await.ok()?.ok()?;
        self.kept = Some(connection);
        Some(answer)
    }

    /// The record of a provider, where there is one. None: the store does not answer.
    pub async fn record(&mut self, provider: &str) -> Option<Option<Record>> {
        let mut get = redis::cmd("GET");
        get.arg(format!("fusewire:s:{{{provider}}}"));
        let text: Option<String> = self.ask(&get).await?;
        Some(text.and_then(|text| Record::read(&text)))
    }

    /// Whether the breakers of all these providers are closed. Not so where the store does not
    /// answer.
    pub async fn are_closed(&mut self, providers: impl Iterator<Item = &str>) -> bool {
        for provider in providers {
            match self.record(provider).await {
                Some(None) => {}
                Some(Some(record)) if record.phase == Phase::Closed => {}
                _ => return false,
            }
        }
        true
    }
}
