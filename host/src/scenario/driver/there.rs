//! A policy at the other end, as the player wants it.

use std::sync::atomic::{AtomicU64, Ordering};

use fusewire_core::{Observation, Target, Verdict};
use serde_json::json;

use super::{Driver, wire};
use crate::engine::{Answer, Call};
use crate::scenario::runtime::{LIFETIME_MS, Runtime};
use crate::store::StoreError;

/// A policy at the other end, configured for one scenario.
pub(in crate::scenario) struct There {
    driver: Driver,
    operations: AtomicU64,
}

impl There {
    pub(super) fn new(driver: Driver) -> Self {
        Self {
            driver,
            operations: AtomicU64::new(0),
        }
    }

    async fn tell(&self, request: serde_json::Value) -> Result<(), String> {
        let answer = self.driver.ask(&request).await;
        answer.map(drop).map_err(|error| error.to_string())
    }
}

impl Runtime for There {
    async fn ask(&self, call: Call) -> Result<Answer, String> {
        let asked = async {
            let answer = self.driver.ask(&wire::call(&call)).await?;
            let operations = wire::part::<u64>(&answer, "operations")
                .map_err(|why| wire::unreadable(&wire::call(&call).to_string(), &answer, why))?;
            self.operations.fetch_add(operations, Ordering::Relaxed);
            wire::answer(&call, &answer)
        };
        asked.await.map_err(|error| error.to_string())
    }

    async fn classify(&self, target: &Target, seen: &Observation) -> Result<Verdict, String> {
        let verdict = self.driver.classify(target, seen).await;
        verdict.map_err(|error| error.to_string())
    }

    fn take_operations(&self) -> u64 {
        self.operations.swap(0, Ordering::Relaxed)
    }

    async fn set_up(&self, up: bool) -> Result<(), String> {
        self.tell(json!({"stage": {"up": up}})).await
    }

    async fn lose_counter(&self, key: &str) -> Result<(), String> {
        self.tell(json!({"lose-counter": key})).await
    }

    async fn peek(&self, keys: Vec<String>) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.driver.store().read(keys).await
    }

    async fn swap(
        &self,
        key: &str,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
    ) -> Result<bool, StoreError> {
        let store = self.driver.store();
        store.replace(key, expected, replacement, LIFETIME_MS).await
    }
}
