//! What has become of what is wanted, on one host.

use super::wanted::Mark;
use crate::policy::rollout::{Candidate, Status, Turned};
use crate::policy::{Digest, Stage};

/// An order that this host has taken.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    pub(super) mark: Mark,
    digest: Digest,
    /// What had last been turned away before: it says nothing of this order, though it may be of
    /// the same policy.
    turned_before: Option<(Digest, u64)>,
    /// Whether it has served.
    served: bool,
}

/// Where a host is with what is wanted.
#[derive(Debug, Clone)]
pub(super) enum Here {
    /// It serves.
    Serves,
    /// It is on its way.
    UnderWay(Candidate),
    /// It was handed over, and nothing is known of it yet.
    Begun,
    /// It did not make it, or was rolled back.
    Turned(Turned),
    /// Something else was put in its place on this host.
    Replaced(String),
    /// This host has not taken this order.
    NotTaken,
}

impl Taken {
    /// Takes an order. `status` is as it was before.
    pub(super) fn new(mark: Mark, digest: Digest, status: &Status) -> Self {
        Self {
            mark,
            digest,
            turned_before: status.refused.as_ref().map(key),
            served: false,
        }
    }

    /// Notes where it is, once the host is seen to serve it or to have it under way; and again
    /// for a new revision of the same order.
    pub(super) fn note(before: Option<Self>, mark: Mark, digest: Digest, status: &Status) -> Self {
        let taken = before.filter(|taken| taken.mark == mark);
        let mut taken = taken.unwrap_or_else(|| Self::new(mark, digest, status));
        taken.served |= status.serving.digest == digest;
        taken
    }
}

fn key(turned: &Turned) -> (Digest, u64) {
    (turned.digest, turned.at_ms)
}

/// Where this host is with an order.
pub(super) fn here(mark: Mark, digest: Digest, status: &Status, taken: Option<&Taken>) -> Here {
    if status.serving.digest == digest {
        return Here::Serves;
    }
    let candidate = status.candidate.as_ref();
    if let Some(candidate) = candidate.filter(|candidate| candidate.digest == digest) {
        return Here::UnderWay(candidate.clone());
    }
    let Some(taken) = taken.filter(|taken| taken.mark == mark) else {
        return Here::NotTaken;
    };
    if let Some(turned) = &status.refused
        && turned.digest == taken.digest
        && taken.turned_before != Some(key(turned))
    {
        return Here::Turned(turned.clone());
    }
    match candidate {
        Some(other) => Here::Replaced(format!("{} was offered here", other.digest.short())),
        None if taken.served => Here::Replaced(format!(
            "{} was put in its place here, from {}",
            status.serving.digest.short(),
            status.serving.origin
        )),
        None => Here::Begun,
    }
}

/// Whether a policy that was turned away is to be left by the other hosts as well: it met real
/// calls. One that does not load here may well load there.
pub(super) fn stops_the_others(turned: &Turned) -> bool {
    turned.rolled_back || turned.stage >= Stage::Shadow
}
