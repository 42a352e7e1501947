//! What the fleet is to run: one record, replaced as a whole where it still is what was read.

use serde::{Deserialize, Serialize};

use super::access::{Unreadable, read_json};
use super::plain::{id, plain};
use crate::policy::Digest;

/// The schema of this record. A host leaves a newer one alone.
pub(super) const SCHEMA: u32 = 1;
/// How many policies before the wanted one are kept, to go back to.
pub const HISTORY_MAX: usize = 3;
/// The longest name and version of a policy, in characters: they are for people.
pub(super) const NAME_MAX: usize = 80;
/// The longest note, in characters.
pub const NOTE_MAX: usize = 500;
/// The longest signature, in bytes: those of minisign have some 300. With those of the history, four
/// have room in one value of a store.
pub const SIGNATURE_MAX_BYTES: usize = 4 << 10;

/// A policy that is in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Named {
    /// What it is known by.
    pub digest: Digest,
    /// Its bytes.
    pub size: u64,
    /// In how many pieces they are.
    pub chunks: u64,
    /// Its name, as it says.
    pub name: String,
    /// Its version, as it says.
    pub version: String,
    /// The text of its signature, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Whether the fleet was rolled back from it: then a rollback passes it over.
    #[serde(default)]
    pub withdrawn: bool,
}

/// Which hosts are first, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Canary {
    /// Their share of all hosts, from 0 to 1; at least one.
    pub hosts: f64,
    /// How long one of them has to have it active before the others take it, in ms.
    pub for_ms: u64,
}

/// The host that stopped it, after it had decided real calls or in their shadow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Stopped {
    /// Which host.
    pub host: String,
    /// What it did and why, such as `rolled it back: 12 traps within 10s`.
    pub why: String,
    /// When, in ms on the fleet's clock.
    pub at_ms: u64,
}

/// What the fleet is to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Wanted {
    /// The schema of the record.
    pub schema: u32,
    /// Counts up: a host tries each revision once.
    pub revision: u64,
    /// The policy.
    #[serde(flatten)]
    pub policy: Named,
    /// When it was named, in ms on the fleet's clock.
    pub pushed_at_ms: u64,
    /// Who named it.
    pub by: String,
    /// Those before it, the newest first.
    #[serde(default)]
    pub history: Vec<Named>,
    /// Who paused it: then no host goes on to the next stage that meets real calls.
    #[serde(default)]
    pub paused: Option<String>,
    /// Whether all hosts take it at once, without the stages that meet real calls: a rollback.
    #[serde(default)]
    pub urgent: bool,
    /// Which hosts are first; `None`: all at the same time.
    #[serde(default)]
    pub canary: Option<Canary>,
    /// What the operator said of it.
    #[serde(default)]
    pub note: Option<String>,
    /// The host that stopped it: then those that do not run it yet leave it.
    #[serde(default)]
    pub stopped: Option<Stopped>,
}

/// What makes an order that a host has tried a different one. Revisions alone do not: a store that
/// was lost counts from one again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    revision: u64,
    pushed_at_ms: u64,
    digest: Digest,
}

impl Wanted {
    /// Reads a record, with texts that can be shown.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Unreadable> {
        let mut wanted: Self = read_json(bytes, SCHEMA)?;
        wanted.policy.clean();
        wanted.history.truncate(HISTORY_MAX);
        wanted.history.iter_mut().for_each(Named::clean);
        wanted.by = id(&wanted.by);
        wanted.paused = wanted.paused.as_deref().map(id);
        wanted.note = wanted.note.as_deref().map(|note| plain(note, NOTE_MAX));
        if let Some(stopped) = &mut wanted.stopped {
            stopped.host = id(&stopped.host);
            stopped.why = plain(&stopped.why, NOTE_MAX);
        }
        Ok(wanted)
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            revision: self.revision,
            pushed_at_ms: self.pushed_at_ms,
            digest: self.policy.digest,
        }
    }

    /// Whether hosts that do not run it yet are to leave it.
    pub(super) fn is_held(&self) -> bool {
        self.stopped.is_some() && !self.urgent
    }

    /// All policies that it names: their bytes are kept.
    pub(super) fn named(&self) -> impl Iterator<Item = &Named> {
        std::iter::once(&self.policy).chain(&self.history)
    }

    /// The record with another policy wanted: a new revision, and what was wanted before in the
    /// history.
    pub(super) fn followed_by(&self, policy: Named, by: &str, now_ms: u64) -> Self {
        let replaced = policy.digest != self.policy.digest;
        let before = replaced.then(|| self.policy.clone());
        let mut history: Vec<Named> = before.into_iter().chain(self.history.clone()).collect();
        history.retain(|named| named.digest != policy.digest);
        history.truncate(HISTORY_MAX);
        Self {
            revision: self.revision.saturating_add(1),
            history,
            ..Self::first(policy, by, now_ms)
        }
    }

    /// The first record of a fleet.
    pub(super) fn first(policy: Named, by: &str, now_ms: u64) -> Self {
        Self {
            schema: SCHEMA,
            revision: 1,
            policy,
            pushed_at_ms: now_ms,
            by: id(by),
            history: Vec::new(),
            paused: None,
            urgent: false,
            canary: None,
            note: None,
            stopped: None,
        }
    }
}

impl Named {
    fn clean(&mut self) {
        self.name = plain(&self.name, NAME_MAX);
        self.version = plain(&self.version, NAME_MAX);
    }

    /// Name and version, for people.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::super::access::json;
    use super::*;

    fn named(bytes: &[u8]) -> Named {
        Named {
            digest: Digest::of(bytes),
            size: 1,
            chunks: 1,
            name: "n".into(),
            version: "1".into(),
            signature: None,
            withdrawn: false,
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let mut wanted = Wanted::first(named(b"a"), "ann@desk", 7).followed_by(
            Named {
                signature: Some("untrusted comment: x\nRWQ\n".into()),
                ..named(b"b")
            },
            "ann@desk",
            9,
        );
        wanted.canary = Some(Canary {
            hosts: 0.25,
            for_ms: 60_000,
        });
        wanted.stopped = Some(Stopped {
            host: "host-2".into(),
            why: "rolled it back: traps".into(),
            at_ms: 8,
        });
        let bytes = json(&wanted).expect("it is small");
        assert_eq!(Wanted::read(&bytes), Ok(wanted));
    }

    #[test]
    fn the_history_is_newest_first_short_and_names_nothing_twice() {
        let mut wanted = Wanted::first(named(b"a"), "", 0);
        for bytes in [b"b", b"c", b"d", b"e"] {
            wanted = wanted.followed_by(named(bytes), "", 0);
        }
        let history = |wanted: &Wanted| -> Vec<Digest> {
            wanted.history.iter().map(|named| named.digest).collect()
        };
        let digests =
            |all: &[&[u8]]| -> Vec<Digest> { all.iter().map(|b| Digest::of(b)).collect() };
        assert_eq!(history(&wanted), digests(&[b"d", b"c", b"b"]));
        wanted = wanted.followed_by(named(b"c"), "", 0);
        assert_eq!(history(&wanted), digests(&[b"e", b"d", b"b"]));
        wanted = wanted.followed_by(named(b"c"), "", 0);
        assert_eq!(history(&wanted), digests(&[b"e", b"d", b"b"]));
        assert_eq!(wanted.revision, 7);
    }

    #[test]
    fn a_record_of_a_newer_schema_is_told_from_a_damaged_one() {
        let newer = br#"{"schema": 2, "policies": []}"#;
        assert_eq!(Wanted::read(newer), Err(Unreadable::Newer(2)));
        for damaged in [
            &b""[..],
            b"\xff\xfe",
            b"[]",
            br#"{"schema": 1}"#,
            br#"{"schema": "1"}"#,
            &vec![b'['; 60_000],
            &vec![b' '; 70_000],
        ] {
            let read = Wanted::read(damaged);
            assert!(matches!(read, Err(Unreadable::Damaged(_))), "{read:?}");
        }
    }

    #[test]
    fn texts_of_a_hostile_record_can_be_shown() {
        let mut wanted = Wanted::first(named(b"a"), "\u{1b}[2J", 0);
        wanted.policy.name = "\u{1b}]0;pwned\u{7}".into();
        wanted.note = Some("x\ny".repeat(1_000));
        let read = Wanted::read(&json(&wanted).expect("it is small")).expect("readable");
        let shown = format!("{} {} {:?}", read.by, read.policy.title(), read.note);
        assert!(!shown.contains(char::is_control), "{shown:?}");
        assert!(
            read.note
                .is_some_and(|note| note.chars().count() == NOTE_MAX)
        );
    }
}
