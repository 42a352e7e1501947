//! Where a scenario is played: a policy with its store, and what can befall the store.

use std::sync::Arc;
use std::time::Duration;

use fusewire_core::{Observation, Target, Verdict};

use super::stage::Stage;
use crate::engine::{Answer, Call, Engine, ask};
use crate::store::{Store, StoreError};

/// How long a store may take for one decision: long, since time means nothing in a scenario and
/// a slow machine must not change one.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long every key lives that a policy writes in a scenario, in ms, whatever it asks for. Real
/// time means nothing there: a key must not vanish because the machine was slow, and must not stay
/// in a Redis that is used for more than this. What a record says of its own end still counts.
pub(super) const LIFETIME_MS: u64 = 600_000;

/// A policy with its store, wherever they are. An error is a sentence: nothing that a story can
/// go on after.
pub(super) trait Runtime {
    /// Makes one call of the policy on its store.
    async fn ask(&self, call: Call) -> Result<Answer, String>;

    /// Has the policy judge one attempt.
    async fn classify(&self, target: &Target, seen: &Observation) -> Result<Verdict, String>;

    /// How many store operations the policy has asked for since this was last asked.
    fn take_operations(&self) -> u64;

    /// Takes the store away from the policy, or gives it back.
    async fn set_up(&self, up: bool) -> Result<(), String>;

    /// Has the policy's store forget a counter.
    async fn lose_counter(&self, key: &str) -> Result<(), String>;

    /// What is stored under these keys, whether or not the policy reaches its store.
    async fn peek(&self, keys: Vec<String>) -> Result<Vec<Option<Vec<u8>>>, StoreError>;

    /// Replaces a value, whether or not the policy reaches its store.
    async fn swap(
        &self,
        key: &str,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
    ) -> Result<bool, StoreError>;

    /// Puts a value in the place of whatever is there; `None` removes it.
    async fn put(&self, key: &str, value: Option<&[u8]>) -> Result<(), StoreError> {
        let before = self.peek(vec![key.to_owned()]).await?.pop().flatten();
        if before.is_none() && value.is_none() {
            return Ok(());
        }
        match self.swap(key, before, value.map(<[u8]>::to_vec)).await? {
            true => Ok(()),
            false => Err(StoreError::Refused(
                "somebody else uses the scenario's keys".into(),
            )),
        }
    }
}

/// An engine and a store in this process.
pub(super) struct Here<'a> {
    engine: &'a dyn Engine,
    stage: Arc<Stage>,
    /// The stage, as the policy's store.
    store: Arc<dyn Store>,
    prefix: Arc<str>,
}

impl<'a> Here<'a> {
    pub(super) fn new(engine: &'a dyn Engine, store: Arc<dyn Store>, prefix: &str) -> Self {
        let stage = Arc::new(Stage::new(store));
        Self {
            engine,
            store: Arc::clone(&stage) as Arc<dyn Store>,
            stage,
            prefix: prefix.into(),
        }
    }
}

impl Runtime for Here<'_> {
    async fn ask(&self, call: Call) -> Result<Answer, String> {
        let answer = ask(self.engine, &self.store, &self.prefix, PATIENCE, &call).await;
        answer.map_err(|fault| fault.to_string())
    }

    async fn classify(&self, target: &Target, seen: &Observation) -> Result<Verdict, String> {
        let verdict = self.engine.classify(target, seen);
        verdict.map_err(|fault| fault.to_string())
    }

    fn take_operations(&self) -> u64 {
        self.stage.take_operations()
    }

    async fn set_up(&self, up: bool) -> Result<(), String> {
        self.stage.set_up(up);
        Ok(())
    }

    async fn lose_counter(&self, key: &str) -> Result<(), String> {
        self.stage.lose_counter(key);
        Ok(())
    }

    async fn peek(&self, keys: Vec<String>) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.stage.behind().get(keys).wait().await
    }

    async fn swap(
        &self,
        key: &str,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
    ) -> Result<bool, StoreError> {
        let store = self.stage.behind();
        store
            .swap(key.to_owned(), expected, replacement, LIFETIME_MS)
            .wait()
            .await
    }
}
