//! What is under a key: a value, a counter, or what is left of either.
//!
//! `wasi:keyvalue` has no lifetimes, so an entry says itself when it ends. The bytes: the kind, the
//! end in ms since the Unix epoch as 8 bytes, the greatest first (zero: there is none), and the
//! content.

use crate::counter::Counter;

/// What is under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// It was removed.
    Nothing,
    /// A value.
    Value(Vec<u8>),
    /// A windowed counter.
    Counter(Counter),
}

const NOTHING: u8 = 0;
const VALUE: u8 = 1;
const COUNTER: u8 = 2;

impl Entry {
    /// The entry as bytes, with the moment from which it is absent; zero: there is none.
    #[must_use]
    pub fn to_bytes(&self, ends_ms: u64) -> Vec<u8> {
        let (kind, content) = match self {
            Self::Nothing => (NOTHING, Vec::new()),
            Self::Value(value) => (VALUE, value.clone()),
            Self::Counter(counter) => (COUNTER, counter.to_bytes()),
        };
        [&[kind][..], &ends_ms.to_be_bytes(), &content].concat()
    }

    /// The entry that these bytes are at this moment; none where they are not one. One whose end
    /// has come is as if it had been removed.
    #[must_use]
    pub fn read(bytes: &[u8], now_ms: u64) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let (ends_ms, content) = rest.split_first_chunk()?;
        let ends_ms = u64::from_be_bytes(*ends_ms);
        if ends_ms > 0 && ends_ms <= now_ms {
            return Some(Self::Nothing);
        }
        match *kind {
            NOTHING => Some(Self::Nothing),
            VALUE => Some(Self::Value(content.to_vec())),
            COUNTER => Counter::read(content).map(Self::Counter),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_back_until_its_end_and_not_from_then_on() {
        let entry = Entry::Value(b"\0\xff".to_vec());
        let bytes = entry.to_bytes(1_000);
        assert_eq!(Entry::read(&bytes, 999), Some(entry.clone()));
        assert_eq!(Entry::read(&bytes, 1_000), Some(Entry::Nothing));
        assert_eq!(Entry::read(&entry.to_bytes(0), u64::MAX), Some(entry));
    }

    #[test]
    fn bytes_of_somebody_else_are_no_entry() {
        for bytes in [
            &b""[..],
            b"\x01",
            b"\x01\0\0\0\0\0\0\0",
            b"\x03\0\0\0\0\0\0\0\0",
            b"\x02\0\0\0\0\0\0\0\0\x01",
        ] {
            assert_eq!(Entry::read(bytes, 0), None, "{bytes:?}");
        }
    }
}
