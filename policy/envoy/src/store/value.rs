//! A value that is swapped, and what the fleet has for it.

use super::group::Bytes;

/// One key's value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Value {
    /// What this Envoy has; `None`: it is absent.
    pub local: Option<Vec<u8>>,
    /// What the fleet had when it was last asked; `None`: nothing, or it was never asked.
    pub base: Option<Vec<u8>>,
    /// Whether what this Envoy has is what it learnt from the fleet.
    pub learned: bool,
}

const LOCAL: u8 = 1;
const BASE: u8 = 2;
/// The two are the same, and written once.
const SAME: u8 = 4;
const LEARNED: u8 = 8;

impl Value {
    /// Whether the fleet is to be told.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.local != self.base
    }

    /// Writes it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let same = self.local.is_some() && self.local == self.base;
        let mut flags = 0;
        for (is, flag) in [
            (self.local.is_some(), LOCAL),
            (self.base.is_some(), BASE),
            (same, SAME),
            (self.learned, LEARNED),
        ] {
            if is {
                flags |= flag;
            }
        }
        let local = self.local.as_deref().unwrap_or_default();
        let base = self.base.as_deref().filter(|_| !same).unwrap_or_default();
        let mut bytes =
            Vec::with_capacity(local.len().saturating_add(base.len()).saturating_add(5));
        bytes.push(flags);
        bytes.extend(u32::try_from(local.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend(local);
        bytes.extend(base);
        bytes
    }

    /// Reads it; `None` where it is none.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut at = Bytes(bytes);
        let flags = at.byte()?;
        let len = usize::try_from(u32::from_le_bytes(at.array()?)).ok()?;
        let local = at.take(len)?;
        let base = if flags & SAME == 0 { at.0 } else { local };
        Some(Self {
            local: (flags & LOCAL != 0).then(|| local.to_vec()),
            base: (flags & BASE != 0).then(|| base.to_vec()),
            learned: flags & LEARNED != 0,
        })
    }

    /// Reads what this Envoy has, and nothing else.
    #[must_use]
    pub fn local_of(bytes: &[u8]) -> Option<&[u8]> {
        let mut at = Bytes(bytes);
        let flags = at.byte()?;
        let len = usize::try_from(u32::from_le_bytes(at.array()?)).ok()?;
        at.take(len).filter(|_| flags & LOCAL != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_value_that_was_written_is_read_back(local: Option<Vec<u8>>, base: Option<Vec<u8>>, same: bool, learned: bool) {
            let base = if same { local.clone() } else { base };
            let value = Value { local, base, learned };
            let bytes = value.to_bytes();
            prop_assert_eq!(Value::local_of(&bytes), value.local.as_deref());
            prop_assert_eq!(Value::read(&bytes), Some(value));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let _ = (Value::read(&bytes), Value::local_of(&bytes));
        }
    }
}
