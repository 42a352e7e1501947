//! Durations as people write them: "250ms", "30s", "10m", "2h", "1d", and sums such as "1m30s".

/// What a duration looks like, for messages.
pub const FORM: &str = r#"a duration such as "250ms", "30s", "10m" or "1m30s""#;

/// Units, longest first so that a length is printed with the fewest.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Reads a duration as milliseconds. `None` where it is not one, or does not fit.
#[must_use]
pub fn parse_ms(text: &str) -> Option<u64> {
    let mut rest = text.trim_ascii();
    if rest.is_empty() {
        return None;
    }
    let mut total = 0u64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, tail) = rest.split_at_checked(digits)?;
        let unit_end = tail
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(unit_end)?;
        let (_, ms) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(*ms)?)?;
        rest = tail;
    }
    Some(total)
}

/// Writes milliseconds the way [`parse_ms`] reads them.
#[must_use]
pub fn format_ms(ms: u64) -> String {
    if ms == 0 {
        return "0s".into();
    }
    let mut rest = ms;
    let mut text = String::new();
    for (name, unit) in UNITS {
        let amount = rest.checked_div(unit).unwrap_or(0);
        rest = rest.checked_rem(unit).unwrap_or(0);
        if amount > 0 {
            text.push_str(&format!("{amount}{name}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, ms) in [
            ("250ms", 250),
            ("30s", 30_000),
            ("1m30s", 90_000),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
            ("0s", 0),
        ] {
            assert_eq!(parse_ms(text), Some(ms), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_duration_is_not_guessed_at() {
        for text in [
            "",
            "30",
            "s",
            "-3s",
            "1.5s",
            "30 s",
            "3e4ms",
            "1y",
            "99999999999999999999s",
            "ü",
            "1ü",
        ] {
            assert_eq!(parse_ms(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_duration_that_was_written_is_read_back(ms: u64) {
            prop_assert_eq!(parse_ms(&format_ms(ms)), Some(ms));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text: String) {
            let _ = parse_ms(&text);
        }
    }
}
