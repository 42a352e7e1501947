//! The store at the other end, as one of this process.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Driver, wire};
use crate::store::{Reply, Store, StoreError, Tally, Window};

/// A driver's store, past its policy.
#[derive(Debug, Clone)]
pub struct DriverStore {
    driver: Driver,
}

impl DriverStore {
    pub(super) fn new(driver: Driver) -> Self {
        Self { driver }
    }

    pub(super) async fn read(&self, keys: Vec<String>) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.ask(json!({ "get": keys }), "values").await
    }

    pub(super) async fn replace(
        &self,
        key: &str,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Result<bool, StoreError> {
        let request = json!({
            "key": key, "expected": expected, "replacement": replacement, "ttl-ms": ttl_ms,
        });
        self.ask(json!({ "swap": request }), "swapped").await
    }

    async fn ask<T: DeserializeOwned>(&self, request: Value, name: &str) -> Result<T, StoreError> {
        match self.driver.ask(&request).await {
            Ok(answer) => wire::stored(&answer, name),
            Err(error) => Err(StoreError::Unavailable(error.to_string())),
        }
    }
}

/// Operations that wait run one after the other, in the order in which they were begun.
impl Store for DriverStore {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        let this = self.clone();
        Reply::Later(Box::pin(async move { this.read(keys).await }))
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        let this = self.clone();
        Reply::Later(Box::pin(async move {
            this.replace(&key, expected, replacement, ttl_ms).await
        }))
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        let this = self.clone();
        Reply::Later(Box::pin(async move {
            this.ask(json!({ "count": windows }), "tallies").await
        }))
    }

    fn ping(&self) -> Reply<()> {
        let this = self.clone();
        Reply::Later(Box::pin(
            async move { this.read(Vec::new()).await.map(drop) },
        ))
    }

    fn now_ms(&self) -> u64 {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        u64::try_from(since_epoch.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
    }
}
