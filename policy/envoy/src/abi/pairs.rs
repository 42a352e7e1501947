//! Lists of header fields as the ABI writes them: their number; for each the lengths of its name
//! and value; then each name and value, each followed by a zero byte. All numbers have four bytes,
//! the lowest first.

use fusewire_core::Field;

/// Writes a list of fields.
pub(super) fn write<N: AsRef<str>, V: AsRef<str>>(fields: &[(N, V)]) -> Vec<u8> {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
    let mut bytes = Vec::new();
    bytes.extend(number(fields.len()));
    for (name, value) in fields {
        bytes.extend(number(name.as_ref().len()));
        bytes.extend(number(value.as_ref().len()));
    }
    for (name, value) in fields {
        bytes.extend(name.as_ref().as_bytes());
        bytes.push(0);
        bytes.extend(value.as_ref().as_bytes());
        bytes.push(0);
    }
    bytes
}

/// Reads a list of fields; `None` where it is none. No bytes at all are a list of none.
pub(super) fn read(bytes: &[u8]) -> Option<Vec<Field>> {
    if bytes.is_empty() {
        return Some(Vec::new());
    }
    let (count, rest) = number(bytes)?;
    let lengths_end = count.checked_mul(8)?;
    let (mut lengths, mut texts) = rest.split_at_checked(lengths_end)?;
    let mut fields = Vec::with_capacity(count);
    for _ in 0..count {
        let (name_len, after) = number(lengths)?;
        let (value_len, after) = number(after)?;
        lengths = after;
        let (name, after) = text(texts, name_len)?;
        let (value, after) = text(after, value_len)?;
        texts = after;
        fields.push(Field { name, value });
    }
    Some(fields)
}

fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    Some((usize::try_from(u32::from_le_bytes(*head)).ok()?, rest))
}

fn text(bytes: &[u8], len: usize) -> Option<(String, &[u8])> {
    let (text, rest) = bytes.split_at_checked(len)?;
    let (_zero, rest) = rest.split_first()?;
    Some((super::lossy(text), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_list_is_four_zero_bytes_or_none() {
        assert_eq!(write::<&str, &str>(&[]), [0; 4]);
        assert_eq!(read(&[]), Some(Vec::new()));
        assert_eq!(read(&[0; 4]), Some(Vec::new()));
    }

    proptest! {
        #[test]
        fn fields_that_were_written_are_read_back(fields in proptest::collection::vec((".{0,20}", ".{0,20}"), 0..9)) {
            let read: Vec<(String, String)> = read(&write(&fields)).unwrap()
                .into_iter().map(|field| (field.name, field.value)).collect();
            prop_assert_eq!(read, fields);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>, count in 0..4_u32) {
            let _ = read(&bytes);
            let _ = read(&[count.to_le_bytes().as_slice(), &bytes].concat());
        }
    }
}
