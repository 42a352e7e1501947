//! Taking the probe lease of each breaker that has one to give.

use super::super::event_of;
use super::super::permit::{self, Stamp, Stamps};
use super::super::types::{Event, EventKind, Lease, Phase, ProbeOutcome, Transition};
use super::{Call, Place, ToLease, put};
use crate::entropy;
use crate::record::{LEASE_MAX_MS, Record};
use crate::store::{Session, Stop};

/// How much longer than its call a lease lasts, in ms. A call that runs out of time ends at its
/// limit and is told of just after; without this, whoever waits for the lease would have it by
/// then, and a provider that hangs would never be judged.
const TELLING_MS: u64 = 1_000;

impl Call<'_> {
    /// Takes all the leases or none. `false`: another call was first somewhere, so read again.
    pub(super) fn take_leases(
        &self,
        session: &mut Session<'_>,
        to_lease: &[ToLease<'_>],
        stamps: &mut [Stamps],
        events: &mut Vec<Event>,
    ) -> Result<bool, Stop> {
        let now = self.context.now_ms;
        let mut taken: Vec<(&String, Record)> = Vec::new();
        for (index, (place, key, seen)) in to_lease.iter().enumerate() {
            let Some(before) = seen.replaceable() else {
                continue;
            };
            let use_for = entropy::LEASE.wrapping_add((index as u64) << 8);
            let token = permit::lease_token(entropy::mix(self.context.entropy, use_for));
            let lease = Lease {
                token: token.clone(),
                owner: self.context.instance.clone(),
                expires_ms: now.saturating_add(self.lease_ms()),
            };
            let (after, ttl) = before.leased(lease).written(self.settings, now);
            if !session.swap(key, seen.bytes.as_deref(), &after.to_bytes(), ttl)? {
                for (key, record) in &taken {
                    let (freed, ttl) = record.freed().written(self.settings, now);
                    session.swap(key, Some(&record.to_bytes()), &freed.to_bytes(), ttl)?;
                }
                return Ok(false);
            }
            events.extend(self.lease_events(place, before));
            taken.push((key, after));
            put(stamps, place, Stamp::Lease(token));
        }
        Ok(true)
    }

    /// As long as the call may last and its outcome takes to be told, and at least what is
    /// configured.
    fn lease_ms(&self) -> u64 {
        let call_ms = self
            .context
            .call_limit_ms
            .map_or(0, |limit| limit.saturating_add(TELLING_MS));
        self.settings
            .breaker
            .probes
            .lease_ms
            .max(call_ms)
            .min(LEASE_MAX_MS)
    }

    fn lease_events(&self, place: &Place<'_>, before: &Record) -> Option<Event> {
        let (kind, detail) = match (before.phase, &before.lease) {
            (Phase::Open, _) => {
                let transition = Transition {
                    before: Phase::Open,
                    after: Phase::HalfOpen,
                    rule: "cool-down-over".into(),
                    until_ms: 0,
                    openings: before.openings,
                };
                (
                    place.side.transition(transition),
                    format!(
                        "the cool-down is over, and this call is the probe{}",
                        place.side.aside()
                    ),
                )
            }
            (_, Some(lost)) => (
                EventKind::Probe(ProbeOutcome::Expired),
                format!(
                    "the probe of {} did not come back, and this call takes its place",
                    lost.owner
                ),
            ),
            _ => return None,
        };
        Some(event_of(place.domain, self.context, kind, detail))
    }
}
