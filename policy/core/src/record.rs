//! One domain's state as it stands in the store, and the pure changes between phases.
//!
//! A record is readable JSON. It carries a revision, so that no two writes have the same bytes
//! and `swap` needs no version numbers, and a schema number, so that two versions of a policy can
//! share a fleet. Absent means closed and never tripped.
//!
//! Whether a record still counts is decided by its content (`expires`), never by its key's
//! expiry in the store: an open state that is a key with a lifetime reads as closed the moment
//! it expires, and the fleet stampedes.

mod newer;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::breaker::{Lease, OverrideMode, OverrideOrder, Phase};
use crate::classify::QUOTA_GATE_MS;
use crate::config::Settings;
use crate::entropy;

pub(crate) use self::newer::Newer;

/// The newest schema that this code writes.
pub(crate) const SCHEMA: u32 = 1;

/// The longest lease that is believed, in ms: whatever a record says, a domain does not wait
/// longer for a holder who does not come back.
pub(crate) const LEASE_MAX_MS: u64 = 3_600_000;

/// How far ahead of the present an epoch may lie, in ms: no clock of a fleet is an hour off. An
/// epoch further ahead was not given by a close; believed, it would stand above every later one.
const EPOCH_AHEAD_MAX_MS: u64 = 3_600_000;

/// Whether a close may have given this epoch.
pub(crate) fn is_epoch(epoch: u64, now: u64) -> bool {
    epoch <= now.saturating_add(EPOCH_AHEAD_MAX_MS)
}

/// Until when an account waits, apart from health.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Hold {
    pub(crate) until: u64,
    pub(crate) why: String,
}

/// How fast good answers come: what the limit of slow ones is learnt from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Pace {
    /// The 99th percentile, in ms.
    pub(crate) p99: u64,
    /// When it was measured, in ms.
    pub(crate) at: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Record {
    pub(crate) schema: u32,
    pub(crate) revision: u64,
    pub(crate) phase: Phase,
    /// The moment of the last close, in ms; zero: never. The ramp starts here too.
    pub(crate) epoch: u64,
    /// Until when it is open, in ms.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) until: u64,
    /// Openings in a row.
    pub(crate) openings: u32,
    /// How often it closed and opened again before the quiet time was over.
    #[serde(skip_serializing_if = "is_none_yet")]
    pub(crate) flaps: u32,
    /// Clean probes in a row.
    #[serde(skip_serializing_if = "is_none_yet")]
    pub(crate) passed: u32,
    /// The rule that tripped it last.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) rule: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lease: Option<Lease>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hold: Option<Hold>,
    #[serde(rename = "override", skip_serializing_if = "Option::is_none")]
    pub(crate) order: Option<OverrideOrder>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pace: Option<Pace>,
    /// How wide the buckets are that a change of was last told of, in ms; zero: none was.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) buckets: u64,
    /// From when on it counts as absent, in ms; zero: never.
    pub(crate) expires: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn is_none_yet(n: &u32) -> bool {
    *n == 0
}

/// What was found under a domain's key.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The bytes, to be expected by a swap.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) reading: Reading,
}

#[derive(Debug)]
// Allowed and not expected: with pointers of 32 bits no variant is large.
#[allow(
    clippy::large_enum_variant,
    reason = "one a domain and call, never kept"
)]
pub(crate) enum Reading {
    /// Nothing, or nothing that still counts, or nothing that can be read.
    Absent,
    Known(Record),
    /// Written by a newer policy: left alone, and read in the safest way.
    Newer(Newer),
}

/// Where a domain stands at one moment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Standing<'a> {
    Closed,
    /// Until this time, in ms.
    Open(u64),
    /// Half-open, and the lease is to be had. The holder who did not come back, where one is.
    Ready(Option<&'a Lease>),
    /// Half-open, and another call holds the lease.
    Probing(&'a Lease),
}

impl Seen {
    pub(crate) fn read(bytes: Option<Vec<u8>>, settings: &Settings, now: u64) -> Self {
        let reading = bytes
            .as_deref()
            .map_or(Reading::Absent, |b| Reading::parse(b, settings, now));
        Self { bytes, reading }
    }

    /// The record as a base for the next one.
    pub(crate) fn record(&self) -> Option<&Record> {
        match &self.reading {
            Reading::Known(record) => Some(record),
            Reading::Absent | Reading::Newer(_) => None,
        }
    }

    /// The record that a lease or an order may replace.
    pub(crate) fn replaceable(&self) -> Option<&Record> {
        match &self.reading {
            Reading::Known(record) => Some(record),
            Reading::Newer(newer) => newer.left_behind.as_ref(),
            Reading::Absent => None,
        }
    }

    /// The epoch that a call admitted now belongs to.
    pub(crate) fn epoch(&self) -> u64 {
        match &self.reading {
            Reading::Absent => 0,
            Reading::Known(record) => record.epoch,
            Reading::Newer(newer) => newer.epoch,
        }
    }

    /// The operator's order, where one is in force.
    pub(crate) fn order(&self, now: u64) -> Option<&OverrideOrder> {
        let order = match &self.reading {
            Reading::Absent => None,
            Reading::Known(record) => record.order.as_ref(),
            Reading::Newer(newer) => newer.order.as_ref(),
        };
        order.filter(|o| is_in_force(o, now))
    }

    pub(crate) fn standing(&self, now: u64) -> Standing<'_> {
        match &self.reading {
            Reading::Absent => Standing::Closed,
            Reading::Known(record) => record.standing(now),
            Reading::Newer(newer) if newer.closed => Standing::Closed,
            Reading::Newer(Newer {
                left_behind: Some(_),
                ..
            }) => Standing::Ready(None),
            Reading::Newer(newer) => Standing::Open(newer.until),
        }
    }
}

impl Reading {
    fn parse(bytes: &[u8], settings: &Settings, now: u64) -> Self {
        let Ok(Value::Object(fields)) = serde_json::from_slice(bytes) else {
            return Self::Absent;
        };
        match fields.get("schema").and_then(Value::as_u64) {
            Some(schema) if schema > SCHEMA.into() => {
                Self::Newer(Newer::read(&fields, settings, now))
            }
            Some(_) => match Record::from_fields(&fields) {
                Some(record)
                    if (record.expires == 0 || now < record.expires)
                        && is_epoch(record.epoch, now) =>
                {
                    Self::Known(record.believable(settings, now))
                }
                _ => Self::Absent,
            },
            None => Self::Absent,
        }
    }
}

// Read by hand rather than derived: derived readers, with their messages that nobody sees, were
// a fifth of the component.

fn number(fields: &Map<String, Value>, name: &str) -> u64 {
    fields.get(name).and_then(Value::as_u64).unwrap_or(0)
}

fn small(fields: &Map<String, Value>, name: &str) -> u32 {
    u32::try_from(number(fields, name)).unwrap_or(u32::MAX)
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}

fn owned(fields: &Map<String, Value>, name: &str) -> String {
    text(fields, name).unwrap_or_default().into()
}

fn part<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Map<String, Value>> {
    fields.get(name).and_then(Value::as_object)
}

fn order(fields: &Map<String, Value>) -> Option<OverrideOrder> {
    Some(OverrideOrder {
        mode: OverrideMode::from_name(text(fields, "mode")?)?,
        enforce_percent: small(fields, "enforce").min(100),
        who: owned(fields, "who"),
        why: owned(fields, "why"),
        until_ms: number(fields, "until"),
    })
}

fn is_in_force(order: &OverrideOrder, now: u64) -> bool {
    order.until_ms == 0 || now < order.until_ms
}

/// The latest time that an opening which begins now may last to.
fn longest_opening(settings: &Settings, now: u64) -> u64 {
    now.saturating_add(
        settings
            .breaker
            .cool_down
            .longest_ms()
            .max(settings.hints.max_ms),
    )
}

/// The longest that an account is held back, in ms: as long as a hint is believed, and as long as is
/// waited without one.
fn longest_hold(settings: &Settings) -> u64 {
    settings.hints.max_ms.max(QUOTA_GATE_MS)
}

impl Record {
    /// A record of a schema known here; `None` where it has no phase, without which nothing else
    /// means anything. What is missing is taken as zero or none, as in a fresh one.
    fn from_fields(fields: &Map<String, Value>) -> Option<Self> {
        Some(Self {
            schema: small(fields, "schema"),
            revision: number(fields, "revision"),
            phase: Phase::from_name(text(fields, "phase")?)?,
            epoch: number(fields, "epoch"),
            until: number(fields, "until"),
            openings: small(fields, "openings"),
            flaps: small(fields, "flaps"),
            passed: small(fields, "passed"),
            rule: owned(fields, "rule"),
            lease: part(fields, "lease").map(|lease| Lease {
                token: owned(lease, "token"),
                owner: owned(lease, "owner"),
                expires_ms: number(lease, "expires"),
            }),
            hold: part(fields, "hold").map(|hold| Hold {
                until: number(hold, "until"),
                why: owned(hold, "why"),
            }),
            order: part(fields, "override").and_then(order),
            pace: part(fields, "pace").map(|pace| Pace {
                p99: number(pace, "p99"),
                at: number(pace, "at"),
            }),
            buckets: number(fields, "buckets"),
            expires: number(fields, "expires"),
        })
    }

    /// A record that says what an absent one says.
    pub(crate) fn fresh() -> Self {
        Self {
            schema: SCHEMA,
            revision: 0,
            phase: Phase::Closed,
            epoch: 0,
            until: 0,
            openings: 0,
            flaps: 0,
            passed: 0,
            rule: String::new(),
            lease: None,
            hold: None,
            order: None,
            pace: None,
            buckets: 0,
            expires: 0,
        }
    }

    /// Times further ahead than any writer with these settings would put them, taken for over: a
    /// damaged record, or a writer with a wrong clock, keeps nothing open for ever. To bring them
    /// nearer would, since they are read again and again.
    fn believable(mut self, settings: &Settings, now: u64) -> Self {
        if self.until > longest_opening(settings, now) {
            self.until = now;
        }
        self.lease = self
            .lease
            .filter(|lease| lease.expires_ms <= now.saturating_add(LEASE_MAX_MS));
        self.hold = self
            .hold
            .filter(|hold| hold.until <= now.saturating_add(longest_hold(settings)));
        self
    }

    /// The hold that is in force.
    pub(crate) fn hold(&self, now: u64) -> Option<&Hold> {
        self.hold.as_ref().filter(|hold| now < hold.until)
    }

    pub(crate) fn standing(&self, now: u64) -> Standing<'_> {
        match (self.phase, &self.lease) {
            (Phase::Closed, _) => Standing::Closed,
            (Phase::Open, _) if now < self.until => Standing::Open(self.until),
            (Phase::HalfOpen, Some(lease)) if now < lease.expires_ms => Standing::Probing(lease),
            (Phase::HalfOpen, expired) => Standing::Ready(expired.as_ref()),
            (Phase::Open, _) => Standing::Ready(None),
        }
    }

    /// The operator's order, where one is in force.
    pub(crate) fn order(&self, now: u64) -> Option<&OverrideOrder> {
        self.order.as_ref().filter(|o| is_in_force(o, now))
    }

    /// Whether an order says that no rule may open this domain.
    pub(crate) fn may_trip(&self, now: u64) -> bool {
        !self
            .order(now)
            .is_some_and(|o| matches!(o.mode, OverrideMode::Closed | OverrideMode::Off))
    }

    /// This record with its revision and lifetime set for a write at `now`, and that lifetime in
    /// ms (zero: for ever).
    pub(crate) fn written(mut self, settings: &Settings, now: u64) -> (Self, u64) {
        let breaker = &settings.breaker;
        let from = |time: u64| time.saturating_sub(now);
        let mut ttl = match self.phase {
            // Its epoch is what tells the failures before the close from those after it, so it
            // outlives them: those that are counted, and those of calls then under way.
            Phase::Closed => breaker
                .cool_down
                .quiet_ms
                .max(breaker.longest_window_ms().saturating_mul(2)),
            Phase::Open => from(self.until).saturating_add(breaker.idle_ms),
            Phase::HalfOpen => {
                let lease = self.lease.as_ref().map_or(0, |l| from(l.expires_ms));
                lease.saturating_add(breaker.idle_ms)
            }
        }
        .max(1);
        if self.hold(now).is_none() {
            self.hold = None;
        }
        if let Some(hold) = &self.hold {
            ttl = ttl.max(from(hold.until));
        }
        match (&self.pace, settings.slow.learnt) {
            (Some(pace), Some(learnt)) => {
                ttl = ttl.max(from(pace.at.saturating_add(learnt.window_ms)));
            }
            _ => self.pace = None,
        }
        if self.order(now).is_none() {
            self.order = None;
        }
        if let Some(order) = &self.order {
            ttl = if order.until_ms == 0 {
                0
            } else {
                ttl.max(from(order.until_ms))
            };
        }
        self.schema = SCHEMA;
        self.revision = self.revision.saturating_add(1);
        self.expires = if ttl == 0 { 0 } else { now.saturating_add(ttl) };
        (self, ttl)
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        // A record is strings and numbers: writing it to memory cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The lease was taken: half-open.
    pub(crate) fn leased(&self, lease: Lease) -> Self {
        Self {
            phase: Phase::HalfOpen,
            lease: Some(lease),
            ..self.clone()
        }
    }

    /// The lease was given back with nothing judged: still half-open.
    pub(crate) fn freed(&self) -> Self {
        Self {
            lease: None,
            ..self.clone()
        }
    }

    /// A rule tripped it, or a probe failed: open.
    ///
    /// Openings in a row grow by one; a quiet time since the last close starts them again. The
    /// provider's own hint lengthens the cool-down, and nothing shortens it.
    pub(crate) fn opened(
        &self,
        rule: &str,
        hint_ms: Option<u64>,
        settings: &Settings,
        now: u64,
        bits: u64,
    ) -> Self {
        let cool_down = &settings.breaker.cool_down;
        let quiet =
            self.phase == Phase::Closed && now.saturating_sub(self.epoch) >= cool_down.quiet_ms;
        let openings = if quiet {
            1
        } else {
            self.openings.saturating_add(1)
        };
        let flaps = match self.phase {
            Phase::Closed if quiet => 0,
            Phase::Closed if self.openings > 0 => self.flaps.saturating_add(1),
            _ => self.flaps,
        };
        let length = cool_down
            .length_ms(openings, entropy::unit(bits, entropy::COOL_DOWN))
            .max(hint_ms.unwrap_or(0).min(settings.hints.max_ms));
        Self {
            phase: Phase::Open,
            until: now.saturating_add(length),
            openings,
            flaps,
            passed: 0,
            rule: rule.into(),
            lease: None,
            ..self.clone()
        }
    }

    /// A probe came back clean: half-open with one more passed, or closed in a new epoch.
    pub(crate) fn probe_passed(&self, settings: &Settings, now: u64) -> Self {
        let passed = self.passed.saturating_add(1);
        if passed < settings.breaker.probes.needed {
            return Self {
                passed,
                lease: None,
                ..self.clone()
            };
        }
        Self {
            phase: Phase::Closed,
            // Later than any before it, whatever the clock says.
            epoch: now.max(self.epoch.saturating_add(1)),
            until: 0,
            passed: 0,
            rule: String::new(),
            lease: None,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_record_that_claims_to_be_open_for_longer_than_any_opening_is_probed() {
        let standing = |fields: &str| {
            let text = format!(r#"{{"schema":1,"revision":1,{fields}}}"#);
            let seen = Seen::read(Some(text.into_bytes()), &Settings::default(), 1_000);
            format!("{:?}", seen.standing(1_000))
        };
        let longest = 1_000 + 6 * 3_600_000;
        let open = |until: u64| standing(&format!(r#""phase":"open","until":{until}"#));
        assert_eq!(open(longest), format!("Open({longest})"));
        assert_eq!(open(longest + 1), "Ready(None)");
        assert_eq!(open(u64::MAX), "Ready(None)");
        let leased = |expires: u64| {
            let lease = format!(r#"{{"token":"x","owner":"a","expires":{expires}}}"#);
            standing(&format!(r#""phase":"half-open","lease":{lease}"#))
        };
        assert!(leased(1_000 + LEASE_MAX_MS).starts_with("Probing"));
        assert_eq!(leased(1_001 + LEASE_MAX_MS), "Ready(None)");
    }

    #[test]
    fn flapping_is_to_open_again_soon_after_a_close_and_a_quiet_time_ends_it() {
        let settings = Settings::default();
        let flaps = |openings, flaps, closed_ms| {
            let record = Record {
                epoch: 1_000_000,
                openings,
                flaps,
                ..Record::fresh()
            };
            let now = record.epoch + closed_ms;
            let opened = record.opened("failures", None, &settings, now, 0);
            (opened.openings, opened.flaps)
        };
        assert_eq!(flaps(2, 1, 599_999), (3, 2));
        assert_eq!(flaps(2, 1, 600_000), (1, 0), "after a quiet time");
        assert_eq!(flaps(0, 0, 1_000), (1, 0), "the first opening is none");
    }

    #[test]
    fn a_close_leaves_nothing_of_the_opening_but_its_growth() {
        let open = Record::fresh().opened("failures", None, &Settings::default(), 5_000, 0);
        let mut probed = open;
        for _ in 0..3 {
            probed = probed.probe_passed(&Settings::default(), 90_000);
        }
        let closed = Record {
            epoch: 90_000,
            openings: 1,
            ..Record::fresh()
        };
        assert_eq!(probed, closed);
    }

    proptest! {
        #[test]
        fn no_bytes_make_reading_panic(bytes: Vec<u8>, now: u64) {
            let _ = Seen::read(Some(bytes), &Settings::default(), now);
        }
    }
}
