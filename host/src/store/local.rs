//! What belongs to one instance alone, kept beside the store that the fleet shares.
//!
//! A policy has keys that nobody else reads or writes: those in which `local:` follows the prefix
//! (`wit/keyvalue.wit`). They hold the breaker that an instance has for itself, as while the store is
//! out of reach, so they must not be there. Here they are in this process: answered at once, outside
//! of the shared store's time limit, its breaker and its merging, and bounded as
//! [`MemoryStore`] is. A process that ends forgets them.
//!
//! An operation that names keys of both kinds is one of the shared store; its answer has what is kept
//! here in its places. Where the shared store does not do its part nothing is done here either, so
//! that a policy which then goes on with its own keys alone counts nothing twice.

use std::sync::Arc;

use super::{MemoryStore, Mode, Reply, Store, StoreError, Tally, Window};

/// A shared store, with this instance's own keys beside it. See the [module](self).
pub struct LocalStore {
    shared: Arc<dyn Store>,
    own: Arc<MemoryStore>,
    /// What the keys begin with that are kept here.
    prefix: String,
}

impl LocalStore {
    /// Keeps what belongs to this instance out of that store, for policies whose keys begin with
    /// `prefix` and a colon.
    #[must_use]
    pub fn new(shared: Arc<dyn Store>, prefix: &str) -> Self {
        let clock = Arc::clone(&shared);
        Self {
            shared,
            own: Arc::new(MemoryStore::with_clock(Arc::new(move || clock.now_ms()))),
            prefix: format!("{prefix}:local:"),
        }
    }

    fn is_own(&self, key: &str) -> bool {
        key.starts_with(&self.prefix)
    }
}

impl Store for LocalStore {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        match self.whose(keys, |key| key) {
            Whose::Shared(keys) => self.shared.get(keys),
            Whose::Own(keys) => self.own.get(keys),
            Whose::Both(both) => {
                let own = Arc::clone(&self.own);
                both.ask(|keys| self.shared.get(keys), move |keys| own.get(keys))
            }
        }
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        match self.is_own(&key) {
            true => self.own.swap(key, expected, replacement, ttl_ms),
            false => self.shared.swap(key, expected, replacement, ttl_ms),
        }
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        match self.whose(windows, |window| &window.key) {
            Whose::Shared(windows) => self.shared.count(windows),
            Whose::Own(windows) => self.own.count(windows),
            Whose::Both(both) => {
                let own = Arc::clone(&self.own);
                both.ask(
                    |windows| self.shared.count(windows),
                    move |windows| own.count(windows),
                )
            }
        }
    }

    fn ping(&self) -> Reply<()> {
        self.shared.ping()
    }

    fn now_ms(&self) -> u64 {
        self.shared.now_ms()
    }

    fn clock_ahead_us(&self) -> Option<i64> {
        self.shared.clock_ahead_us()
    }

    fn mode(&self) -> Mode {
        self.shared.mode()
    }
}

/// Whom the operands of an operation belong to.
enum Whose<T> {
    Shared(Vec<T>),
    Own(Vec<T>),
    Both(Both<T>),
}

/// The operands of an operation on keys of both kinds.
struct Both<T> {
    shared: Vec<T>,
    own: Vec<T>,
    /// Of each answer in order, whether it is from here.
    is_own: Vec<bool>,
}

impl LocalStore {
    fn whose<T>(&self, operands: Vec<T>, key: impl Fn(&T) -> &String) -> Whose<T> {
        let is_own = |operand: &T| self.is_own(key(operand));
        let count = operands.iter().filter(|operand| is_own(operand)).count();
        if count == 0 {
            return Whose::Shared(operands);
        }
        if count == operands.len() {
            return Whose::Own(operands);
        }
        let places: Vec<bool> = operands.iter().map(is_own).collect();
        let (mut shared, mut own) = (Vec::new(), Vec::new());
        for (operand, is_own) in operands.into_iter().zip(&places) {
            match is_own {
                true => own.push(operand),
                false => shared.push(operand),
            }
        }
        Whose::Both(Both {
            shared,
            own,
            is_own: places,
        })
    }
}

impl<T: Send + 'static> Both<T> {
    /// Asks the shared store, and then for what is here.
    fn ask<A: Send + 'static>(
        self,
        ask_shared: impl FnOnce(Vec<T>) -> Reply<Vec<A>>,
        ask_own: impl FnOnce(Vec<T>) -> Reply<Vec<A>> + Send + 'static,
    ) -> Reply<Vec<A>> {
        let Self {
            shared,
            own,
            is_own,
        } = self;
        let join = move |shared: Vec<A>| {
            let Reply::Ready(own) = ask_own(own) else {
                let why = "what is kept in this process was not answered at once".into();
                return Err(StoreError::Unavailable(why));
            };
            let (mut shared, mut own) = (shared.into_iter(), own?.into_iter());
            let places = is_own.into_iter();
            Ok(places
                .filter_map(|is_own| match is_own {
                    true => own.next(),
                    false => shared.next(),
                })
                .collect())
        };
        match ask_shared(shared) {
            Reply::Ready(answer) => Reply::Ready(answer.and_then(join)),
            Reply::Later(later) => Reply::Later(Box::pin(async move { join(later.await?) })),
        }
    }
}

#[cfg(test)]
mod tests;
