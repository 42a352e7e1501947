//! Several processes around one Redis: the first brings the providers, the others find them.

use std::time::Duration;

use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;
use serde::{Deserialize, Serialize};

use super::providers::Providers;
use super::script::Mood;

/// Where the first process says what it brought.
const KEY: &str = "fusewire-demo:meeting";

/// How long the word of the first process stands; it is renewed several times within that.
const STANDS: Duration = Duration::from_secs(3);

/// What the first process brought.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Notice {
    pub(super) providers: Providers,
    /// What every key of this run begins with: a run does not inherit the breaker of another.
    pub(super) prefix: String,
    pub(super) mood: Mood,
}

/// One process's place at the meeting.
pub(super) struct Meeting {
    redis: MultiplexedConnection,
}

impl Meeting {
    pub(super) async fn at(url: &str) -> redis::RedisResult<Self> {
        let redis = redis::Client::open(url)?
            .get_multiplexed_async_connection()
            .await?;
        Ok(Self { redis })
    }

    /// What the first process brought, where there is one.
    pub(super) async fn look(&mut self) -> redis::RedisResult<Option<Notice>> {
        let text: Option<String> = self.redis.get(KEY).await?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Says what this process brought, and that it still stands.
    pub(super) async fn tell(&mut self, notice: &Notice) -> redis::RedisResult<()> {
        let text = serde_json::to_string(notice).unwrap_or_default();
        self.redis
            .pset_ex(KEY, text, STANDS.as_millis() as u64)
            .await
    }

    /// Takes this process's word back: what it brought is about to go.
    pub(super) async fn leave(&mut self) -> redis::RedisResult<()> {
        self.redis.del(KEY).await
    }
}

/// How long what was brought stays once the word is taken back, so that the others leave first.
pub(super) const LEAVING: Duration = Duration::from_millis(500);
