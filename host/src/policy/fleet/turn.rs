//! What a host is to do about what is wanted and it does not run yet: a function of what it knows.
//!
//! # Whose turn it is
//!
//! Where an order has canary hosts, these are the first few of all live hosts in an order that is
//! different for each policy, so that it is not always the same host that meets what is new. Every
//! host comes to the same answer by itself. One that cannot load the policy gives its turn to the
//! next. The others follow when one host has had it active for long enough.
//!
//! A host that joins, and finds that all others have arrived long enough ago, needs no stages that
//! meet real calls: what they are for has been seen there.

use fusewire_core::config::duration::format_ms;

use super::report::{HostReport, Step};
use super::wanted::{Canary, Wanted};
use crate::policy::Digest;
use crate::policy::rollout::How;

/// What a host is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Turn {
    /// Take it.
    Take(How),
    /// Wait, for this reason.
    Wait(String),
    /// Leave it, for this reason, until something else is ordered.
    Leave(String),
}

/// What a host knows.
pub(super) struct Known<'a> {
    /// What is wanted. This host does not run it, and has not tried this order.
    pub(super) wanted: &'a Wanted,
    /// This host's id.
    pub(super) me: &'a str,
    /// Whether the order was there already when this host joined.
    pub(super) is_new: bool,
    /// The reports of the other live hosts.
    pub(super) others: &'a [HostReport],
    /// The fleet's time.
    pub(super) now_ms: u64,
}

/// Decides what the host is to do.
pub(super) fn turn(known: &Known<'_>) -> Turn {
    let wanted = known.wanted;
    if let Some(by) = &wanted.paused {
        return Turn::Wait(format!("paused by {by}"));
    }
    if wanted.urgent {
        return Turn::Take(How::AtOnce);
    }
    if let Some(stopped) = &wanted.stopped {
        return Turn::Leave(format!("{} {}", stopped.host, stopped.why));
    }
    if known.is_new && known.is_proven() && known.others_have_arrived() {
        return Turn::Take(How::AtOnce);
    }
    match &wanted.canary {
        Some(canary) if !known.is_proven() => known.canary(canary),
        _ => Turn::Take(How::Staged),
    }
}

impl Known<'_> {
    fn others_have_arrived(&self) -> bool {
        let at = |step| move |other: &HostReport| other.is_at(self.wanted, step);
        let (active, refused) = (at(Step::Active), at(Step::Refused));
        self.others.iter().all(|one| active(one) || refused(one))
    }

    /// Whether another host has had it active for as long as canary hosts are to have it.
    fn is_proven(&self) -> bool {
        let for_ms = self.wanted.canary.map_or(0, |canary| canary.for_ms);
        let had_it_for = |other: &HostReport| self.now_ms.saturating_sub(other.since_ms);
        let mut others = self.others.iter();
        others.any(|one| one.is_at(self.wanted, Step::Active) && had_it_for(one) >= for_ms)
    }

    fn canary(&self, canary: &Canary) -> Turn {
        let first = self.first(canary.hosts);
        if first.contains(&self.me) {
            return Turn::Take(How::Staged);
        }
        let names = match first.as_slice() {
            [names @ .., last] if names.len() > 2 => format!("{} hosts up to {last}", first.len()),
            names => names.join(", "),
        };
        let span = format_ms(canary.for_ms);
        Turn::Wait(format!("canary hosts first: {names}, active for {span}"))
    }

    /// The hosts whose turn is first: this share of those that are able to take it.
    fn first(&self, share: f64) -> Vec<&str> {
        let able = |other: &&HostReport| !other.is_at(self.wanted, Step::Refused);
        let others = self
            .others
            .iter()
            .filter(able)
            .map(|other| other.instance.as_str());
        let mut hosts: Vec<&str> = others.chain([self.me]).collect();
        hosts.sort_by_cached_key(|host| lot(self.wanted.policy.digest, host));
        hosts.truncate(how_many(share, hosts.len()));
        hosts
    }
}

/// A host's place in the order in which this policy is taken: the same on every host and build.
fn lot(policy: Digest, host: &str) -> Digest {
    Digest::of(&[policy.as_bytes().as_slice(), host.as_bytes()].concat())
}

/// A share of so many, rounded up; at least one and at most all.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of hosts is small, and the share is brought between 0 and 1"
)]
fn how_many(share: f64, of: usize) -> usize {
    // A share that is no number counts as none.
    let share = if share > 0.0 { share.min(1.0) } else { 0.0 };
    ((share * of as f64).ceil() as usize).clamp(1, of.max(1))
}

#[cfg(test)]
mod tests;
