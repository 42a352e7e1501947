//! What a rule finds: a verdict without the hint and the facts of the attempt.

use crate::observation::{Blame, Effect, Outcome};

/// The least wait after a throttled call without a usable hint, in ms. Both large LLM clients
/// back off even where the server says 0.
pub const THROTTLE_FLOOR_MS: u64 = 1_000;
/// The least wait after a rejected credential, in ms: somebody has to change something.
pub const AUTH_GATE_MS: u64 = 5 * 60_000;
/// The least wait after a used-up quota without a known reset, in ms.
pub const QUOTA_GATE_MS: u64 = 60 * 60_000;

/// Whether the same request may be sent again, by what the rule knows alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    /// Where it does no harm: the request may have been processed.
    IfIdempotent,
    /// Nothing was processed.
    Always,
}

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) outcome: Outcome,
    pub(crate) effect: Effect,
    pub(crate) blame: Blame,
    pub(crate) again: Again,
    pub(crate) next_provider: bool,
    /// The least delay without a hint, in ms.
    pub(crate) floor_ms: u64,
    pub(crate) reason: &'static str,
}

impl Finding {
    pub(crate) const fn new(
        outcome: Outcome,
        effect: Effect,
        blame: Blame,
        reason: &'static str,
    ) -> Self {
        Self {
            outcome,
            effect,
            blame,
            again: Again::Never,
            next_provider: false,
            floor_ms: 0,
            reason,
        }
    }

    pub(crate) const fn good(outcome: Outcome, reason: &'static str) -> Self {
        Self::new(outcome, Effect::Success, Blame::Nobody, reason)
    }

    /// A failure of the provider that may be gone at the next attempt.
    pub(crate) const fn transient(again: Again, reason: &'static str) -> Self {
        Self::new(Outcome::Transient, Effect::Failure, Blame::Provider, reason)
            .again(again)
            .elsewhere()
    }

    /// A failure of the provider that will stay for a while.
    pub(crate) const fn down(again: Again, reason: &'static str) -> Self {
        Self::new(
            Outcome::ProviderDown,
            Effect::Failure,
            Blame::Provider,
            reason,
        )
        .again(again)
        .elsewhere()
    }

    pub(crate) const fn caller(reason: &'static str) -> Self {
        Self::new(Outcome::CallerError, Effect::Neutral, Blame::Caller, reason)
    }

    pub(crate) const fn throttled(reason: &'static str) -> Self {
        Self::new(Outcome::Throttled, Effect::Neutral, Blame::Account, reason)
            .again(Again::Always)
            .elsewhere()
            .floor(THROTTLE_FLOOR_MS)
    }

    pub(crate) const fn account(floor_ms: u64, reason: &'static str) -> Self {
        Self::new(
            Outcome::QuotaOrAuth,
            Effect::Neutral,
            Blame::Account,
            reason,
        )
        .elsewhere()
        .floor(floor_ms)
    }

    pub(crate) const fn cancelled(reason: &'static str) -> Self {
        Self::new(Outcome::Cancelled, Effect::Neutral, Blame::Nobody, reason)
    }

    pub(crate) const fn again(self, again: Again) -> Self {
        Self { again, ..self }
    }

    pub(crate) const fn elsewhere(self) -> Self {
        Self {
            next_provider: true,
            ..self
        }
    }

    pub(crate) const fn floor(self, floor_ms: u64) -> Self {
        Self { floor_ms, ..self }
    }

    pub(crate) const fn here_only(self) -> Self {
        Self {
            next_provider: false,
            ..self
        }
    }

    pub(crate) const fn neutral(self) -> Self {
        Self {
            effect: Effect::Neutral,
            blame: Blame::Nobody,
            ..self
        }
    }
}
