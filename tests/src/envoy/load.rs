//! Many callers at once, and what each was answered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::task::JoinSet;

use crate::gateway;

/// What callers were answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Answers that came through Envoy from the provider or from Envoy itself, by status.
    pub answered: BTreeMap<u16, u64>,
    /// Refusals of the filter.
    pub refused: u64,
    /// Calls that had no answer, or half of one.
    pub broken: u64,
}

impl Tally {
    /// All calls.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.answered.values().sum::<u64>() + self.refused + self.broken
    }

    /// The answers with this status that were no refusals.
    #[must_use]
    pub fn status(&self, status: u16) -> u64 {
        self.answered.get(&status).copied().unwrap_or(0)
    }

    /// Makes one call, to the end of its answer, and notes it.
    async fn call(&mut self, request: reqwest::RequestBuilder) {
        let answer = async {
            let answer = request.send().await?;
            let refused = answer.headers().contains_key("fusewire-refused");
            let status = answer.status().as_u16();
            answer.bytes().await.map(|_| (status, refused))
        };
        match answer.await {
            Err(_) => self.broken += 1,
            Ok((_, true)) => self.refused += 1,
            Ok((status, false)) => *self.answered.entry(status).or_default() += 1,
        }
    }

    fn add(&mut self, other: &Self) {
        for (status, number) in &other.answered {
            *self.answered.entry(*status).or_default() += number;
        }
        self.refused += other.refused;
        self.broken += other.broken;
    }
}

/// Callers who call again and again until they are stopped.
pub struct Load {
    over: Arc<AtomicBool>,
    made: Arc<AtomicU64>,
    callers: JoinSet<Tally>,
}

impl Load {
    /// Lets so many callers ask for this URL, each for the next one when it has its answer.
    #[must_use]
    pub fn start(url: &str, callers: usize) -> Self {
        let mut load = Self {
            over: Arc::default(),
            made: Arc::default(),
            callers: JoinSet::new(),
        };
        for _ in 0..callers {
            let (url, over, made) = (url.to_owned(), load.over.clone(), load.made.clone());
            // A client of its own, so that the callers' connections go to all workers.
            let client = gateway::client();
            load.callers.spawn(async move {
                let mut tally = Tally::default();
                while !over.load(Ordering::SeqCst) {
                    tally.call(client.get(&url)).await;
                    made.fetch_add(1, Ordering::SeqCst);
                }
                tally
            });
        }
        load
    }

    /// How many calls have ended so far.
    #[must_use]
    pub fn made(&self) -> u64 {
        self.made.load(Ordering::SeqCst)
    }

    /// Lets the calls under way end, and says what they all came to.
    ///
    /// # Panics
    /// A caller has panicked.
    pub async fn stop(mut self) -> Tally {
        self.over.store(true, Ordering::SeqCst);
        let mut tally = Tally::default();
        while let Some(caller) = self.callers.join_next().await {
            tally.add(&caller.expect("the caller ends"));
        }
        tally
    }
}

/// Makes so many calls to this URL, so many at once. `with` may add to each, by its number.
///
/// # Panics
/// A caller has panicked.
pub async fn calls(
    url: &str,
    number: u64,
    at_once: usize,
    with: fn(reqwest::RequestBuilder, u64) -> reqwest::RequestBuilder,
) -> Tally {
    let left = Arc::new(AtomicU64::new(number));
    let mut callers = JoinSet::new();
    for _ in 0..at_once {
        let (url, left, client) = (url.to_owned(), left.clone(), gateway::client());
        callers.spawn(async move {
            let mut tally = Tally::default();
            let take = |n: u64| n.checked_sub(1);
            while let Ok(n) = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
                tally.call(with(client.get(&url), n)).await;
            }
            tally
        });
    }
    let mut tally = Tally::default();
    while let Some(caller) = callers.join_next().await {
        tally.add(&caller.expect("the caller ends"));
    }
    tally
}
