//! Lists of header fields as the ABI writes them: their number; for each the lengths of its name
//! and value; then each name and value, each followed by a zero byte. All numbers have four bytes,
//! the lowest first.

use fusewire_core::Field;

/// Writes a list of fields.
pub fn write<N: AsRef<str>, V: AsRef<str>>(fields: &[(N, V)]) -> Vec<u8> {
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
pub fn read(bytes: &[u8]) -> Option<Vec<Field>> {
    read_some(bytes, |_| true)
}

/// Reads those fields of a list whose names are wanted; `None` where it is no list. The others are
/// passed over, and not copied.
pub fn read_some(bytes: &[u8], is_wanted: impl Fn(&[u8]) -> bool) -> Option<Vec<Field>> {
    if bytes.is_empty() {
        return Some(Vec::new());
    }
    let (count, rest) = number(bytes)?;
    let (mut lengths, mut texts) = rest.split_at_checked(count.checked_mul(8)?)?;
    let mut fields = Vec::new();
    for _ in 0..count {
        let (name_len, after) = number(lengths)?;
        let (value_len, after) = number(after)?;
        lengths = after;
        let (name, after) = text(texts, name_len)?;
        let (value, after) = text(after, value_len)?;
        texts = after;
        if is_wanted(name) {
            let (name, value) = (lossy(name), lossy(value));
            fields.push(Field { name, value });
        }
    }
    Some(fields)
}

fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    Some((usize::try_from(u32::from_le_bytes(*head)).ok()?, rest))
}

/// A text, and what comes after it and its zero byte.
fn text(bytes: &[u8], len: usize) -> Option<(&[u8], &[u8])> {
    let (text, rest) = bytes.split_at_checked(len)?;
    let (_zero, rest) = rest.split_first()?;
    Some((text, rest))
}

/// The value of the first field of this name, which is in lower case, in a list of fields.
#[must_use]
pub fn find<'b>(bytes: &'b [u8], name: &[u8]) -> Option<&'b [u8]> {
    let (count, rest) = number(bytes)?;
    let (mut lengths, mut texts) = rest.split_at_checked(count.checked_mul(8)?)?;
    for _ in 0..count {
        let (name_len, after) = number(lengths)?;
        let (value_len, after) = number(after)?;
        lengths = after;
        let (found, after) = text(texts, name_len)?;
        let (value, after) = text(after, value_len)?;
        texts = after;
        if found == name {
            return Some(value);
        }
    }
    None
}

/// Bytes as a text; what is not UTF-8 is replaced.
#[must_use]
pub fn lossy(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
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
            let bytes = write(&fields);
            let read: Vec<(String, String)> = read(&bytes).unwrap()
                .into_iter().map(|field| (field.name, field.value)).collect();
            for (name, _) in &fields {
                let first = fields.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_bytes());
                prop_assert_eq!(find(&bytes, name.as_bytes()), first);
            }
            let short = |name: &[u8]| name.len() < 5;
            let some: Vec<(String, String)> = read_some(&bytes, short).unwrap()
                .into_iter().map(|field| (field.name, field.value)).collect();
            let expected = fields.iter().filter(|(name, _)| short(name.as_bytes()));
            prop_assert_eq!(some, expected.cloned().collect::<Vec<_>>());
            prop_assert_eq!(find(&bytes, b"a name that is longer than any of them"), None);
            prop_assert_eq!(read, fields);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>, count in 0..4_u32) {
            let _ = (read(&bytes), find(&bytes, b"a"));
            let _ = read(&[count.to_le_bytes().as_slice(), &bytes].concat());
        }
    }
}
