//! Replaced policies that calls still have.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::options::Linger;
use crate::guard::Generation;

/// Replaced policies that calls still have, the oldest first.
pub(super) struct Lingering {
    options: Linger,
    generations: VecDeque<(Arc<Generation>, Instant)>,
}

impl Lingering {
    pub(super) fn new(options: Linger) -> Self {
        Self {
            options,
            generations: VecDeque::new(),
        }
    }

    /// Takes in one that was replaced just now.
    pub(super) fn replaced(&mut self, generation: Arc<Generation>) {
        if let Some(engine) = generation.engine() {
            engine.replaced();
        }
        self.generations.push_back((generation, Instant::now()));
        self.look();
    }

    /// Lets go of those that no call has, and takes those away from their calls that have lasted
    /// for too long, or are too many.
    pub(super) fn look(&mut self) {
        // Its own pointer is the last one.
        self.generations
            .retain(|(generation, _)| Arc::strong_count(generation) > 1);
        let now = Instant::now();
        while let Some((oldest, since)) = self.generations.front() {
            let is_old = now.duration_since(*since) >= self.options.span;
            if !is_old && self.generations.len() <= self.options.policies {
                return;
            }
            tracing::warn!(
                generation = oldest.number(),
                "calls still have a policy that was replaced {:.0?} ago; they go on without one",
                now.duration_since(*since)
            );
            oldest.retire();
            self.generations.pop_front();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.generations.len()
    }
}
