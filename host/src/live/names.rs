//! Names in the order of their use, some of which may not go.

use std::sync::Arc;

use lru::LruCache;

/// What is kept by name. A name is *idle*, and may go when others come, or it *stays*.
pub(crate) struct Names<V> {
    idle: LruCache<Arc<str>, V>,
    staying: LruCache<Arc<str>, V>,
}

impl<V> Default for Names<V> {
    fn default() -> Self {
        Self {
            idle: LruCache::unbounded(),
            staying: LruCache::unbounded(),
        }
    }
}

impl<V> Names<V> {
    pub(crate) fn len(&self) -> usize {
        self.idle.len() + self.staying.len()
    }

    /// How many may go.
    pub(crate) fn idle(&self) -> usize {
        self.idle.len()
    }

    /// What is kept by this name, which is used now.
    pub(crate) fn used(&mut self, name: &str) -> Option<&mut V> {
        match self.idle.get_mut(name) {
            Some(idle) => Some(idle),
            None => self.staying.get_mut(name),
        }
    }

    /// What is kept by this name, without taking that for a use.
    pub(crate) fn known(&mut self, name: &str) -> Option<&mut V> {
        match self.idle.peek_mut(name) {
            Some(idle) => Some(idle),
            None => self.staying.peek_mut(name),
        }
    }

    /// Keeps something by a new name, which is used now, and idle.
    pub(crate) fn add(&mut self, name: Arc<str>, kept: V) {
        self.idle.put(name, kept);
    }

    /// Says whether this name stays. Where that is new, it counts as used now.
    pub(crate) fn set_staying(&mut self, name: &str, stays: bool) {
        let (from, to) = match stays {
            true => (&mut self.idle, &mut self.staying),
            false => (&mut self.staying, &mut self.idle),
        };
        if let Some((name, kept)) = from.pop_entry(name) {
            to.put(name, kept);
        }
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<V> {
        self.idle.pop(name).or_else(|| self.staying.pop(name))
    }

    /// The name that goes first, with what is kept by it; none where all stay.
    pub(crate) fn evict(&mut self) -> Option<(Arc<str>, V)> {
        self.idle.pop_lru()
    }

    /// The name that stays and was used least recently. It counts as used now, so that the next
    /// question is answered with the next one.
    pub(crate) fn next_staying(&mut self) -> Option<(Arc<str>, &mut V)> {
        let name = Arc::clone(self.staying.peek_lru()?.0);
        let kept = self.staying.get_mut(&name)?;
        Some((name, kept))
    }

    /// How many stay.
    pub(crate) fn staying(&self) -> usize {
        self.staying.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &V)> {
        self.idle.iter().chain(self.staying.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Names<()> {
        let mut names = Names::default();
        for name in all {
            names.add((*name).into(), ());
        }
        names
    }

    fn evicted(names: &mut Names<()>) -> Option<String> {
        names.evict().map(|(name, ())| name.to_string())
    }

    #[test]
    fn the_name_that_was_used_least_recently_goes_first() {
        let mut names = names(&["a", "b", "c"]);
        assert!(names.used("a").is_some());
        assert_eq!(evicted(&mut names).as_deref(), Some("b"));
        assert_eq!(evicted(&mut names).as_deref(), Some("c"));
        assert_eq!(evicted(&mut names).as_deref(), Some("a"));
        assert_eq!(evicted(&mut names), None);
    }

    #[test]
    fn a_name_that_stays_is_not_evicted_and_is_last_in_line_when_it_may_go_again() {
        let mut names = names(&["a", "b"]);
        names.set_staying("a", true);
        assert_eq!((names.len(), names.idle(), names.staying()), (2, 1, 1));
        names.set_staying("a", false);
        assert_eq!(evicted(&mut names).as_deref(), Some("b"));
        assert_eq!(evicted(&mut names).as_deref(), Some("a"));
    }

    #[test]
    fn those_that_stay_are_gone_through_in_turn() {
        let mut names = names(&["a", "b"]);
        assert!(names.next_staying().is_none());
        names.set_staying("a", true);
        names.set_staying("b", true);
        let mut next = || names.next_staying().map(|(name, ())| name.to_string());
        assert_eq!(next().as_deref(), Some("a"));
        assert_eq!(next().as_deref(), Some("b"));
        assert_eq!(next().as_deref(), Some("a"));
    }
}
