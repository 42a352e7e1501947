//! Whose keys may go when there are too many.
//!
//! Keys of one domain go together: a record without its counter, or the other way round, says
//! something else than both or neither. What a key has from its first brace on tells its domain
//! (`wit/keyvalue.wit`: the braces are the hash tag of a provider, so that all of a domain's keys
//! end alike). A key without braces belongs to no domain, and stays to the end of its lifetime.

use std::sync::Arc;

use crate::live::Names;

/// Of the limit, the share that is left to domains that may go, however many have to stay: one part
/// in so many. Without it a domain that comes while all others are open would have no counter, and
/// never open itself.
const SHARE_OF_IDLE: usize = 10;

/// The domains that have keys.
pub(super) struct Domains {
    names: Names<Domain>,
    limit: usize,
}

#[derive(Default)]
struct Domain {
    keys: Vec<Arc<str>>,
    /// How many of them must not be forgotten.
    wanted: usize,
}

impl Domains {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            names: Names::default(),
            limit,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// The domain of this key is in use.
    pub(super) fn used(&mut self, key: &str) {
        if let Some(name) = name(key) {
            self.names.used(name);
        }
    }

    /// A key has come. `is_wanted`: it must not be forgotten.
    pub(super) fn joined(&mut self, key: &Arc<str>, is_wanted: bool) {
        let Some(name) = name(key) else { return };
        if self.names.used(name).is_none() {
            self.names.add(name.into(), Domain::default());
        }
        if let Some(domain) = self.names.used(name) {
            domain.keys.reserve_exact(1);
            domain.keys.push(Arc::clone(key));
        }
        self.turned(key, false, is_wanted);
    }

    /// Whether a key must not be forgotten was `was`, and is `is`.
    pub(super) fn turned(&mut self, key: &str, was: bool, is: bool) {
        let Some(name) = name(key).filter(|_| was != is) else {
            return;
        };
        let Some(domain) = self.names.known(name) else {
            return;
        };
        domain.wanted = match is {
            true => domain.wanted.saturating_add(1),
            false => domain.wanted.saturating_sub(1),
        };
        let stays = domain.wanted > 0;
        self.names.set_staying(name, stays);
    }

    /// A key has gone by itself.
    pub(super) fn left(&mut self, key: &str, was_wanted: bool) {
        let Some(name) = name(key) else { return };
        self.turned(key, was_wanted, false);
        let Some(domain) = self.names.known(name) else {
            return;
        };
        if let Some(at) = domain.keys.iter().position(|held| **held == *key) {
            domain.keys.swap_remove(at);
        }
        if domain.keys.is_empty() {
            self.names.remove(name);
        }
    }

    /// The keys that have to go, of one domain; none where there are not too many.
    pub(super) fn evict(&mut self) -> Option<Vec<Arc<str>>> {
        let left_to_idle = (self.limit / SHARE_OF_IDLE).max(1);
        if self.names.len() <= self.limit || self.names.idle() <= left_to_idle {
            return None;
        }
        self.names.evict().map(|(_, domain)| domain.keys)
    }
}

/// The domain of a key, as far as it has one: what follows the key's kind. A key of one instance's
/// own breaker (`…:local:s:{p}/layer!HASH`) is its domain's as well.
fn name(key: &str) -> Option<&str> {
    let (kind, name) = key.split_at_checked(key.find('{')?)?;
    let name = match name.rsplit_once('!') {
        Some((name, _instance)) if kind.contains(":local:") => name,
        _ => name,
    };
    name.contains('}').then_some(name)
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn the_keys_of_one_domain_end_alike_and_no_others_do() {
        assert_eq!(name("fusewire:s:{p}/layer"), Some("{p}/layer"));
        assert_eq!(name("fusewire:w:{p}/layer"), Some("{p}/layer"));
        assert_eq!(name("fusewire:w:{p}/layer{2}"), Some("{p}/layer{2}"));
        assert_eq!(name("fusewire:s:{p}"), Some("{p}"));
        assert_eq!(name("fusewire:local:s:{p}!0a"), Some("{p}"));
        assert_eq!(name("fusewire:local:w:{p}/a!b!0a"), Some("{p}/a!b"));
        assert_eq!(name("fusewire:w:{p}/a!b"), Some("{p}/a!b"));
        assert_eq!(name("fusewire-policies:wanted"), None);
        assert_eq!(name("{p"), None);
    }
}
