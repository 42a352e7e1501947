//! What one instance may take of this process's memory.
//!
//! Its memories and tables are counted as one sum: a limit for each would let a component of many
//! take many times as much.

use wasmtime::{ResourceLimiter, Result};

/// What one element of a table takes, in bytes.
const ELEMENT: usize = size_of::<usize>();

/// The most core instances in one component: a policy and its adapters have a handful.
const INSTANCES_MAX: usize = 16;
/// The most tables.
const TABLES_MAX: usize = 16;
/// The most memories.
const MEMORIES_MAX: usize = 4;

/// The memory of one instance, in bytes.
#[derive(Debug)]
pub(super) struct Budget {
    most: usize,
    taken: usize,
    /// What it had taken when it was ready to be asked.
    at_first: usize,
    /// Whether the call under way wanted more and did not get it.
    exceeded: bool,
}

impl Budget {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            taken: 0,
            at_first: 0,
            exceeded: false,
        }
    }

    /// A call begins.
    pub(super) fn begin(&mut self) {
        self.exceeded = false;
    }

    /// Whether the call under way wanted more and did not get it.
    pub(super) fn is_exceeded(&self) -> bool {
        self.exceeded
    }

    /// Notes what is taken as what the instance needs before it is asked anything.
    pub(super) fn is_ready(&mut self) {
        self.at_first = self.taken;
    }

    /// Whether the instance has taken most of what there was when it was ready. Nothing of it ever
    /// comes back.
    pub(super) fn is_nearly_used_up(&self) -> bool {
        let left = self.most.saturating_sub(self.at_first);
        self.taken.saturating_sub(self.at_first) > left / 4 * 3
    }

    fn grow(&mut self, current: usize, desired: usize) -> bool {
        let taken = self.taken.saturating_sub(current).saturating_add(desired);
        let fits = taken <= self.most;
        if fits {
            self.taken = taken;
        } else {
            self.exceeded = true;
        }
        fits
    }
}

impl ResourceLimiter for Budget {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> Result<bool> {
        Ok(self.grow(current, desired))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> Result<bool> {
        let bytes = |elements: usize| elements.saturating_mul(ELEMENT);
        Ok(self.grow(bytes(current), bytes(desired)))
    }

    fn instances(&self) -> usize {
        INSTANCES_MAX
    }

    fn tables(&self) -> usize {
        TABLES_MAX
    }

    fn memories(&self) -> usize {
        MEMORIES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 64 << 10;

    #[test]
    fn memories_and_tables_are_counted_as_one_sum() {
        let mut budget = Budget::new(4 * PAGE);
        let mut memory = |from: usize, to: usize| {
            let grown = budget.memory_growing(from * PAGE, to * PAGE, None);
            grown.expect("an answer")
        };
        assert!(memory(0, 1), "one memory");
        assert!(memory(0, 1), "and another");
        assert!(memory(1, 2), "which grows");
        assert!(!memory(1, 3), "and wants more than is left");
        assert!(budget.is_exceeded());
        budget.begin();
        let elements = PAGE / ELEMENT;
        let table = budget.table_growing(0, 2 * elements, None);
        assert!(!table.expect("an answer"), "a table of two pages");
        assert!(budget.is_exceeded());
        let table = budget.table_growing(0, elements, None);
        assert!(table.expect("an answer"), "what is left");
        let table = budget.table_growing(elements, usize::MAX, None);
        assert!(!table.expect("an answer"), "all there is");
    }

    #[test]
    fn what_an_instance_needs_before_it_is_asked_anything_does_not_wear_it_out() {
        let mut budget = Budget::new(100 * PAGE);
        let grow = |budget: &mut Budget, pages: usize| {
            let grown = budget.memory_growing(0, pages * PAGE, None);
            grown.expect("an answer")
        };
        assert!(grow(&mut budget, 90));
        budget.is_ready();
        assert!(!budget.is_nearly_used_up());
        assert!(grow(&mut budget, 7));
        assert!(!budget.is_nearly_used_up(), "7 of the 10 that were left");
        assert!(grow(&mut budget, 1));
        assert!(budget.is_nearly_used_up());
    }
}
