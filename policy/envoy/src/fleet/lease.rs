//! Which worker is the leader: the one whose token is in the lease, until it expires.
//!
//! Two leaders at once would do no harm but double work; a leader that is gone is succeeded when
//! its lease is over.

use crate::store::SharedData;
use crate::store::shared::{IF_ABSENT, KEYS_BEGIN};

/// How many ticks a lease outlasts.
const TICKS: u64 = 8;

/// The least that a lease lasts, in ms: longer than a worker is ever late for a tick.
const LEAST_MS: u64 = 2_000;

/// A worker's claim to be the leader.
#[derive(Debug, Clone)]
pub struct Lease {
    key: String,
    token: u64,
    lasts_ms: u64,
}

/// What the leader knows of the fleet, handed down to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Mode {
    /// Nobody has asked it.
    #[default]
    Unknown = 0,
    /// It answers.
    Shared = 1,
    /// It does not.
    Lost = 2,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    token: u64,
    expires_ms: u64,
    mode: Mode,
}

impl Lease {
    /// A claim under a token that no other worker has.
    #[must_use]
    pub fn new(prefix: &str, token: u64, tick_ms: u64) -> Self {
        Self {
            key: [KEYS_BEGIN, "leader/", prefix].concat(),
            token,
            lasts_ms: tick_ms.saturating_mul(TICKS).max(LEAST_MS),
        }
    }

    /// Takes the lease where it is free, and renews it where it is ours. Answers what the last
    /// leader knew; `None`: another worker leads.
    pub fn hold<D: SharedData + ?Sized>(&self, data: &D, now_ms: u64) -> Option<Mode> {
        let (held, cas) = self.read(data)?;
        let mode = held.map(|held| held.mode).unwrap_or_default();
        match held {
            Some(held) if self.stands(held, now_ms) && held.token != self.token => None,
            Some(held)
                if held.token == self.token
                    && self.stands(held, now_ms)
                    && held.expires_ms.saturating_sub(now_ms) > self.lasts_ms / 2 =>
            {
                Some(mode)
            }
            _ => self.write(data, mode, now_ms, cas).then_some(mode),
        }
    }

    /// Notes what is known of the fleet, where the lease is ours.
    pub fn note<D: SharedData + ?Sized>(&self, data: &D, mode: Mode, now_ms: u64) {
        if let Some((Some(held), cas)) = self.read(data)
            && held.token == self.token
        {
            self.write(data, mode, now_ms, cas);
        }
    }

    /// Whether a lease stands: it is not over, and is not from a time when the clock was ahead.
    fn stands(&self, held: Held, now_ms: u64) -> bool {
        held.expires_ms > now_ms
            && held.expires_ms <= now_ms.saturating_add(self.lasts_ms.saturating_mul(2))
    }

    fn read<D: SharedData + ?Sized>(&self, data: &D) -> Option<(Option<Held>, u32)> {
        match data.get(&self.key).ok()? {
            Some((bytes, cas)) => Some((Held::read(&bytes), cas)),
            None => Some((None, IF_ABSENT)),
        }
    }

    fn write<D: SharedData + ?Sized>(&self, data: &D, mode: Mode, now_ms: u64, cas: u32) -> bool {
        let mut bytes = Vec::with_capacity(17);
        bytes.extend(self.token.to_le_bytes());
        bytes.extend(now_ms.saturating_add(self.lasts_ms).to_le_bytes());
        bytes.push(mode as u8);
        data.set(&self.key, &bytes, cas).is_ok()
    }
}

impl Held {
    fn read(bytes: &[u8]) -> Option<Self> {
        let (token, rest) = bytes.split_first_chunk::<8>()?;
        let (expires, rest) = rest.split_first_chunk::<8>()?;
        let mode = match rest {
            [1] => Mode::Shared,
            [2] => Mode::Lost,
            [0] => Mode::Unknown,
            _ => return None,
        };
        Some(Self {
            token: u64::from_le_bytes(*token),
            expires_ms: u64::from_le_bytes(*expires),
            mode,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fake::Fake;

    #[test]
    fn one_worker_leads_until_it_is_gone_for_as_long_as_its_lease() {
        let data = Fake::default();
        let [a, b] = [1, 2].map(|token| Lease::new("fusewire", token, 250));
        assert_eq!(a.hold(&data, 10_000), Some(Mode::Unknown));
        assert_eq!(b.hold(&data, 10_250), None);
        a.note(&data, Mode::Shared, 10_500);
        assert_eq!(a.hold(&data, 12_400), Some(Mode::Shared));
        assert_eq!(b.hold(&data, 14_399), None, "a renewed it");
        assert_eq!(
            b.hold(&data, 14_400),
            Some(Mode::Shared),
            "and then was gone"
        );
        assert_eq!(a.hold(&data, 14_401), None);
    }

    #[test]
    fn a_lease_from_a_clock_that_was_set_back_does_not_stand_for_ever() {
        let data = Fake::default();
        let [a, b] = [1, 2].map(|token| Lease::new("fusewire", token, 250));
        assert!(a.hold(&data, 1_000_000_000).is_some());
        assert!(b.hold(&data, 10_000).is_some());
    }

    #[test]
    fn a_lease_that_is_damaged_is_taken() {
        let data = Fake::default();
        let lease = Lease::new("fusewire", 1, 250);
        data.write("fusewire-envoy/1/leader/fusewire", b"\xff\x00junk");
        assert!(lease.hold(&data, 10_000).is_some());
    }
}
