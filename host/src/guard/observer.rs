//! What others may listen to.

use fusewire_core::{Event, Refusal, Target, Verdict};

use crate::engine::Fault;

/// Something that happened, told to every [`Observer`] once.
#[derive(Debug)]
pub enum Notice<'a> {
    /// An event of the breaker that this host brought about.
    Event(&'a Event),
    /// A call was refused.
    Refused {
        /// Whom it was to be made to.
        target: &'a Target,
        /// Why.
        refusal: &'a Refusal,
    },
    /// An attempt was settled with this verdict.
    Judged {
        /// Whom it was made to.
        target: &'a Target,
        /// What it means.
        verdict: &'a Verdict,
    },
    /// The policy failed; the call in which it did was let through.
    Fault {
        /// The export that was called.
        during: &'static str,
        /// What went wrong.
        fault: &'a Fault,
    },
}

/// Someone who is told what happens. Called on the caller's path: it must not block.
pub trait Observer: Send + Sync + 'static {
    /// Something happened.
    fn notice(&self, notice: &Notice<'_>);
}

impl<F: Fn(&Notice<'_>) + Send + Sync + 'static> Observer for F {
    fn notice(&self, notice: &Notice<'_>) {
        self(notice);
    }
}
