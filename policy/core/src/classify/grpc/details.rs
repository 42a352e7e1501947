//! `grpc-status-details-bin`: a `google.rpc.Status` in base64, whose details may have a
//! `google.rpc.RetryInfo`.
//!
//! A walk over three small messages, in the encoding of Protocol Buffers. What is cut off or
//! broken ends it; nothing is kept by what a length claims.

/// The most that is decoded, in bytes: what servers take for all headers together.
const MOST_BYTES: usize = 8 * 1_024;

/// The wait in ms, where there is one.
pub(super) fn retry_delay_ms(base64: &str) -> Option<u64> {
    let bytes = decoded(base64.trim_ascii())?;
    // Status { 3: details }, Any { 1: type_url, 2: value }, RetryInfo { 1: retry_delay }.
    Fields(&bytes)
        .filter_map(|field| field.bytes(3))
        .filter(|any| {
            let type_url = Fields(any).filter_map(|field| field.bytes(1)).last();
            type_url.is_some_and(|url| url.ends_with(b"/google.rpc.RetryInfo"))
        })
        .filter_map(|any| Fields(any).filter_map(|field| field.bytes(2)).last())
        .filter_map(|info| Fields(info).filter_map(|field| field.bytes(1)).last())
        .find_map(duration_ms)
}

/// A `google.protobuf.Duration`, rounded up. One that is negative or outside its own bounds is
/// none.
fn duration_ms(message: &[u8]) -> Option<u64> {
    let number = |number| {
        Fields(message)
            .filter_map(|field| field.varint(number))
            .last()
            .unwrap_or(0)
    };
    // A negative number is one beyond the largest signed one.
    let (seconds, nanos) = (i64::try_from(number(1)).ok()?, number(2));
    let is_fraction = nanos < 1_000_000_000;
    is_fraction.then(|| {
        seconds
            .unsigned_abs()
            .saturating_mul(1_000)
            .saturating_add(nanos.div_ceil(1_000_000))
    })
}

/// The fields of a message, up to its end or to the first that is broken.
struct Fields<'a>(&'a [u8]);

struct MessageField<'a> {
    number: u64,
    value: Value<'a>,
}

enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Fixed,
}

impl<'a> MessageField<'a> {
    fn bytes(&self, number: u64) -> Option<&'a [u8]> {
        match self.value {
            Value::Bytes(bytes) if self.number == number => Some(bytes),
            _ => None,
        }
    }

    fn varint(&self, number: u64) -> Option<u64> {
        match self.value {
            Value::Varint(value) if self.number == number => Some(value),
            _ => None,
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = MessageField<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        // Cleared first, so that a broken field is the last.
        let (tag, rest) = varint(std::mem::take(&mut self.0))?;
        let (value, rest) = match tag & 7 {
            0 => {
                let (value, rest) = varint(rest)?;
                (Value::Varint(value), rest)
            }
            1 => (Value::Fixed, rest.get(8..)?),
            2 => {
                let (length, rest) = varint(rest)?;
                let (bytes, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                (Value::Bytes(bytes), rest)
            }
            5 => (Value::Fixed, rest.get(4..)?),
            // Groups, which none of these messages has.
            _ => return None,
        };
        self.0 = rest;
        Some(MessageField {
            number: tag >> 3,
            value,
        })
    }
}

/// At most ten bytes, the lowest seven bits first; bits beyond 64 are dropped.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    let mut rest = bytes;
    for shift in (0..64).step_by(7) {
        let (byte, tail) = rest.split_first()?;
        value |= u64::from(byte & 0x7f) << shift;
        rest = tail;
        if byte & 0x80 == 0 {
            return Some((value, rest));
        }
    }
    None
}

/// Base64 in both alphabets, with padding or without. `None` where it is none.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    if text.len().saturating_sub(digits.len()) > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len().min(MOST_BYTES));
    for group in digits.chunks(4) {
        let mut bits = 0u32;
        for digit in group {
            bits = (bits << 6) | u32::from(sextet(*digit)?);
        }
        match group.len() {
            4 => bytes.extend(bits.to_be_bytes().into_iter().skip(1)),
            3 => bytes.extend((bits >> 2).to_be_bytes().into_iter().skip(2)),
            2 => bytes.extend((bits >> 4).to_be_bytes().into_iter().skip(3)),
            _ => return None,
        }
        if bytes.len() >= MOST_BYTES {
            break;
        }
    }
    Some(bytes)
}

fn sextet(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => digit.checked_sub(b'A'),
        b'a'..=b'z' => digit.checked_sub(b'a')?.checked_add(26),
        b'0'..=b'9' => digit.checked_sub(b'0')?.checked_add(52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A field of bytes.
    fn nested(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut field = vec![number << 3 | 2];
        let mut length = bytes.len();
        while length > 0x7f {
            field.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
            length >>= 7;
        }
        field.push(u8::try_from(length).unwrap());
        field.extend(bytes);
        field
    }

    fn number(number: u8, mut value: u64) -> Vec<u8> {
        let mut field = vec![number << 3];
        while value > 0x7f {
            field.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        field.push(value as u8);
        field
    }

    fn encoded(bytes: &[u8]) -> String {
        const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        bytes
            .chunks(3)
            .flat_map(|group| {
                let at = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
                let bits = at(0) << 16 | at(1) << 8 | at(2);
                let digits = group.len() + 1;
                (0..digits).map(move |i| ALPHABET[(bits >> (18 - 6 * i) & 63) as usize] as char)
            })
            .collect()
    }

    fn status(type_url: &str, delay: &[u8]) -> Vec<u8> {
        let info = nested(1, delay);
        let any = [nested(1, type_url.as_bytes()), nested(2, &info)].concat();
        [number(1, 8), nested(2, b"quota"), nested(3, &any)].concat()
    }

    pub(in crate::classify::grpc) fn retry_info(seconds: u64, nanos: u64) -> String {
        let delay = [number(1, seconds), number(2, nanos)].concat();
        encoded(&status("type.googleapis.com/google.rpc.RetryInfo", &delay))
    }

    #[test]
    fn the_wait_of_a_retry_info_is_found() {
        // As google-cloud libraries print it: code 8, message "q", RetryInfo of 4 s.
        let known = "CAgSAXEaMAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIECgIIBA";
        for padding in ["", "=", "=="] {
            let text = [known, padding].concat();
            assert_eq!(retry_delay_ms(&text), Some(4_000), "{text}");
        }
        for (seconds, nanos, ms) in [
            (0, 0, 0),
            (4, 0, 4_000),
            (0, 1, 1),
            (1, 500_000_000, 1_500),
            (1, 999_999_999, 2_000),
            (u64::MAX / 2, 0, u64::MAX),
        ] {
            assert_eq!(retry_delay_ms(&retry_info(seconds, nanos)), Some(ms));
        }
        let url_alphabet = retry_info(1, 999_999_999)
            .replace('+', "-")
            .replace('/', "_");
        assert_eq!(retry_delay_ms(&url_alphabet), Some(2_000));
    }

    #[test]
    fn other_details_are_passed_over_in_any_order_and_with_unknown_fields() {
        let debug = nested(1, &nested(1, &[b'x'; 300]));
        let other = [
            nested(2, &debug),
            nested(1, b"type.googleapis.com/google.rpc.DebugInfo"),
        ]
        .concat();
        let wait = [
            nested(2, &nested(1, &number(1, 7))),
            nested(1, b"x/google.rpc.RetryInfo"),
        ]
        .concat();
        let bytes = [
            vec![9 << 3 | 1, 0, 0, 0, 0, 0, 0, 0, 0],
            nested(3, &other),
            vec![9 << 3 | 5, 0, 0, 0, 0],
            nested(3, &wait),
        ]
        .concat();
        assert_eq!(retry_delay_ms(&encoded(&bytes)), Some(7_000));
    }

    #[test]
    fn what_is_no_wait_is_none() {
        for text in [
            "",
            "=",
            "A",
            "AAAAA",
            "CAg!",
            "CAgSAXEa===",
            "CAgS AXEa",
            "ü",
            "////////",
        ] {
            assert_eq!(retry_delay_ms(text), None, "{text}");
        }
        let negative = u64::MAX - 3;
        assert_eq!(retry_delay_ms(&retry_info(negative, 0)), None);
        assert_eq!(retry_delay_ms(&retry_info(0, negative)), None);
        assert_eq!(retry_delay_ms(&retry_info(1, 1_000_000_000)), None);
        let url = "type.googleapis.com/google.rpc.QuotaFailure";
        assert_eq!(retry_delay_ms(&encoded(&status(url, &number(1, 4)))), None);
        // A length beyond the end, and beyond any memory.
        let huge = [vec![3 << 3 | 2], vec![0xff; 9], vec![1]].concat();
        assert_eq!(retry_delay_ms(&encoded(&huge)), None);
        let endless = vec![0xff; 40];
        assert_eq!(retry_delay_ms(&encoded(&endless)), None);
    }

    #[test]
    fn no_more_than_eight_kibibytes_are_decoded() {
        let all = "A".repeat(1 << 20);
        assert!(decoded(&all).unwrap().len() <= MOST_BYTES + 2);
        let late = [
            nested(2, &[b'x'; 9_000]),
            status("/google.rpc.RetryInfo", &number(1, 4)),
        ]
        .concat();
        assert_eq!(retry_delay_ms(&encoded(&late)), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_walk_panic(text: String) {
            let _ = retry_delay_ms(&text);
        }

        #[test]
        fn no_message_makes_the_walk_panic(bytes: Vec<u8>) {
            let _ = retry_delay_ms(&encoded(&bytes));
        }

        #[test]
        fn no_broken_message_makes_the_walk_panic(at in 0usize..60, byte: u8, cut in 0usize..60) {
            let mut bytes = status("type.googleapis.com/google.rpc.RetryInfo", &number(1, 4));
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            bytes.truncate(cut);
            let _ = retry_delay_ms(&encoded(&bytes));
        }

        #[test]
        fn what_was_encoded_is_decoded(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(decoded(&encoded(&bytes)), Some(bytes));
        }

        #[test]
        fn a_wait_is_rounded_up(seconds in 0u64..100_000, nanos in 0u64..1_000_000_000) {
            let ms = retry_delay_ms(&retry_info(seconds, nanos));
            prop_assert_eq!(ms, Some(seconds * 1_000 + nanos.div_ceil(1_000_000)));
        }
    }
}
