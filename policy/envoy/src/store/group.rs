//! The entries of many keys in one shared value, as bytes.
//!
//! Entries are read in place and written back as they are: an operation on one key decodes that
//! key's content alone. Bytes that are not ours, or are damaged, read as a group without entries.

use std::borrow::Cow;

/// How the bytes of a group begin.
const MAGIC: u8 = 0xf1;

/// The longest key, in bytes (`wit/keyvalue.wit`).
pub const KEY_MAX_BYTES: usize = 512;

/// What an entry holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A value that is swapped.
    Value,
    /// A windowed counter.
    Counter,
}

/// One key's entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The policy's key.
    pub key: Cow<'a, str>,
    /// What it holds.
    pub kind: Kind,
    /// Whether it may go where there is no room: what it holds can be counted anew.
    pub spare: bool,
    /// The moment from which it is absent, in ms; zero: it stays.
    pub expires_ms: u64,
    /// When it was last written, in ms.
    pub written_ms: u64,
    /// When it was last read, in ms, as far as that was noted.
    pub used_ms: u64,
    /// What it holds, as bytes.
    pub content: Cow<'a, [u8]>,
}

/// The bytes of an entry before its key: kind, length of the key, of the content, three moments.
const HEAD_BYTES: usize = 1 + 2 + 4 + 3 * 8;

impl Entry<'_> {
    /// Whether its lifetime is over.
    #[must_use]
    pub fn is_over(&self, now_ms: u64) -> bool {
        self.expires_ms != 0 && self.expires_ms <= now_ms
    }

    fn size(&self) -> usize {
        HEAD_BYTES
            .saturating_add(self.key.len())
            .saturating_add(self.content.len())
    }
}

/// Some entries, each of another key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Group<'a> {
    /// In no order.
    pub entries: Vec<Entry<'a>>,
}

impl<'a> Group<'a> {
    /// Reads a group.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Self {
        Self::try_read(bytes).unwrap_or_default()
    }

    fn try_read(bytes: &'a [u8]) -> Option<Self> {
        let mut at = Bytes(bytes);
        if at.byte()? != MAGIC {
            return None;
        }
        let mut entries: Vec<Entry<'a>> = Vec::new();
        while !at.0.is_empty() {
            let kind = at.byte()?;
            let key_len = usize::from(u16::from_le_bytes(at.array()?));
            let content_len = usize::try_from(u32::from_le_bytes(at.array()?)).ok()?;
            let expires_ms = at.u64()?;
            let written_ms = at.u64()?;
            let used_ms = at.u64()?;
            let key = std::str::from_utf8(at.take(key_len)?).ok()?;
            let content = at.take(content_len)?;
            if entries.iter().any(|entry| entry.key == key) {
                return None;
            }
            entries.push(Entry {
                key: Cow::Borrowed(key),
                kind: match kind & 1 {
                    0 => Kind::Value,
                    _ => Kind::Counter,
                },
                spare: kind & 2 != 0,
                expires_ms,
                written_ms,
                used_ms,
                content: Cow::Borrowed(content),
            });
        }
        Some(Self { entries })
    }

    /// Writes a group.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        if self.entries.is_empty() {
            return Vec::new();
        }
        let mut bytes = Vec::with_capacity(self.size());
        bytes.push(MAGIC);
        for entry in &self.entries {
            let kind = match entry.kind {
                Kind::Value => 0,
                Kind::Counter => 1,
            };
            bytes.push(kind | if entry.spare { 2 } else { 0 });
            bytes.extend(
                u16::try_from(entry.key.len())
                    .unwrap_or(u16::MAX)
                    .to_le_bytes(),
            );
            bytes.extend(
                u32::try_from(entry.content.len())
                    .unwrap_or(u32::MAX)
                    .to_le_bytes(),
            );
            bytes.extend(entry.expires_ms.to_le_bytes());
            bytes.extend(entry.written_ms.to_le_bytes());
            bytes.extend(entry.used_ms.to_le_bytes());
            bytes.extend(entry.key.as_bytes());
            bytes.extend(entry.content.as_ref());
        }
        bytes
    }

    /// How many bytes it has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.entries
            .iter()
            .fold(1, |sum, entry| entry.size().saturating_add(sum))
    }

    /// The entry of a key, where its lifetime is not over.
    #[must_use]
    pub fn alive(&self, key: &str, now_ms: u64) -> Option<&Entry<'a>> {
        self.entries
            .iter()
            .find(|entry| entry.key == key && !entry.is_over(now_ms))
    }

    /// Puts an entry in the place of the one of its key, if there is one.
    pub fn put(&mut self, entry: Entry<'a>) {
        match self.entries.iter_mut().find(|held| held.key == entry.key) {
            Some(held) => *held = entry,
            None => self.entries.push(entry),
        }
    }

    /// Removes the entry of a key.
    pub fn remove(&mut self, key: &str) {
        self.entries.retain(|entry| entry.key != key);
    }

    /// Removes the entries whose lifetime is over, and answers whether there were any.
    pub fn drop_over(&mut self, now_ms: u64) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| !entry.is_over(now_ms));
        self.entries.len() != before
    }

    /// Makes room: removes spare entries, the one written longest ago first, until there are at
    /// most `entries` and `bytes`. `keep` is the key that room is made for. Answers whether it
    /// was made.
    pub fn make_room(&mut self, entries: usize, bytes: usize, keep: &str) -> bool {
        while self.entries.len() > entries || self.size() > bytes {
            let spare = self
                .entries
                .iter()
                .enumerate()
                .filter(|(_, entry)| entry.spare && entry.key != keep)
                .min_by_key(|(_, entry)| entry.written_ms)
                .map(|(at, _)| at);
            match spare {
                Some(at) => drop(self.entries.swap_remove(at)),
                None => return false,
            }
        }
        true
    }
}

/// Bytes that are read from the front.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(head)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(key: &str, spare: bool, written_ms: u64) -> Entry<'static> {
        Entry {
            key: Cow::Owned(key.to_owned()),
            kind: Kind::Counter,
            spare,
            expires_ms: 0,
            written_ms,
            used_ms: 0,
            content: Cow::Borrowed(b"content"),
        }
    }

    #[test]
    fn room_is_made_of_what_can_be_counted_anew_and_was_written_longest_ago() {
        let mut group = Group {
            entries: vec![
                entry("record", false, 1),
                entry("old", true, 2),
                entry("new", true, 3),
            ],
        };
        assert!(group.make_room(2, 1_000, "new"));
        let left: Vec<&str> = group.entries.iter().map(|e| e.key.as_ref()).collect();
        assert_eq!(left.len(), 2);
        assert!(left.contains(&"record") && left.contains(&"new"));
        assert!(
            !group.make_room(1, 1_000, "new"),
            "a record is never given up"
        );
    }

    proptest! {
        #[test]
        fn entries_that_were_written_are_read_back(
            held in proptest::collection::btree_map("[a-z:{}/@]{1,40}", (any::<bool>(), any::<bool>(),
                any::<[u64; 3]>(), proptest::collection::vec(any::<u8>(), 0..200)), 1..9),
        ) {
            let entries: Vec<Entry<'_>> = held.iter().map(|(key, (counts, spare, at, content))| Entry {
                key: Cow::Borrowed(key.as_str()),
                kind: if *counts { Kind::Counter } else { Kind::Value },
                spare: *spare,
                expires_ms: at[0], written_ms: at[1], used_ms: at[2],
                content: Cow::Borrowed(content.as_slice()),
            }).collect();
            let group = Group { entries };
            let bytes = group.to_bytes();
            prop_assert_eq!(bytes.len(), group.size());
            prop_assert_eq!(Group::read(&bytes), group);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let _ = Group::read(&bytes);
            let _ = Group::read(&[&[MAGIC], bytes.as_slice()].concat());
        }
    }
}
