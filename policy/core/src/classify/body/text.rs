//! Phrases, and where a text begins.

/// A body of fewer bytes is short.
const SHORT: usize = 64;

/// Whether a body has this phrase in it, without regard to ASCII case. An empty phrase is in none.
pub(crate) fn contains(body: &[u8], phrase: &str) -> bool {
    after(body, phrase).is_some()
}

/// What follows the first place where a phrase stands, without regard to ASCII case.
///
/// Takes the product of both lengths at worst; phrases have at most 200 bytes, by configuration, and
/// what differs differs within a few letters.
pub(crate) fn after<'b>(body: &'b [u8], phrase: &str) -> Option<&'b [u8]> {
    let (last, before) = phrase.as_bytes().split_last()?;
    if body.len() < SHORT || before.is_empty() {
        return after_first(body, phrase);
    }
    // Horspool's search: the byte under the phrase's last letter tells how far the phrase has to be
    // moved for that byte to be met by a letter of it. Most of a body is never looked at.
    let far = u8::try_from(phrase.len()).unwrap_or(u8::MAX);
    let mut moves = [far; 256];
    for (letter, left) in before.iter().zip((1..=before.len()).rev()) {
        for byte in [letter.to_ascii_lowercase(), letter.to_ascii_uppercase()] {
            if let Some(to) = moves.get_mut(usize::from(byte)) {
                *to = u8::try_from(left).unwrap_or(u8::MAX);
            }
        }
    }
    let mut left = body;
    loop {
        let under = left.get(before.len())?;
        if under.eq_ignore_ascii_case(last) && starts(left, before) {
            return left.get(phrase.len()..);
        }
        let by = moves.get(usize::from(*under)).copied().unwrap_or(1);
        left = left.get(usize::from(by)..)?;
    }
}

/// The same without a table, which would take longer to make than a short body to search.
fn after_first<'b>(body: &'b [u8], phrase: &str) -> Option<&'b [u8]> {
    let (first, rest) = phrase.as_bytes().split_first()?;
    let mut left = body;
    while let Some(at) = left.iter().position(|b| b.eq_ignore_ascii_case(first)) {
        left = left.get(at.saturating_add(1)..).unwrap_or_default();
        if starts(left, rest) {
            return left.get(rest.len()..);
        }
    }
    None
}

/// Whether a body begins so, without regard to ASCII case.
pub(crate) fn starts(body: &[u8], with: &[u8]) -> bool {
    body.get(..with.len())
        .is_some_and(|beginning| beginning.eq_ignore_ascii_case(with))
}

/// A body without a byte order mark and white space before its first character.
pub(crate) fn trimmed(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(body)
        .trim_ascii_start()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_phrase_is_found_in_any_letter_case_and_an_empty_one_nowhere() {
        assert!(contains(
            b"<title>Bandwidth LIMIT exceeded",
            "bandwidth limit"
        ));
        assert!(contains(b"aaab", "aab") && contains(b"x", "X"));
        assert!(!contains(b"abc", "abcd") && !contains(b"", "a") && !contains(b"abc", ""));
    }

    proptest! {
        #[test]
        fn it_finds_what_the_standard_library_finds(body in "[abAB]{0,12}", phrase in "[abAB]{1,4}") {
            let plain = body.to_ascii_lowercase().contains(&phrase.to_ascii_lowercase());
            prop_assert_eq!(contains(body.as_bytes(), &phrase), plain);
        }

        #[test]
        fn so_it_does_in_a_long_body(body in "[abAB-]{64,200}", phrase in "[abAB-]{1,7}") {
            let plain = body.to_ascii_lowercase();
            let at = plain.find(&phrase.to_ascii_lowercase());
            let behind = at.map(|at| &body.as_bytes()[at + phrase.len()..]);
            prop_assert_eq!(after(body.as_bytes(), &phrase), behind);
        }

        #[test]
        fn no_phrase_is_too_long_to_be_found(before in "[ab]{0,300}", phrase in "[ab]{1,300}", behind in "[c]{64}") {
            let body = [&before, &phrase, &behind].map(String::as_str).concat();
            prop_assert!(contains(body.as_bytes(), &phrase));
            prop_assert!(!contains(body.as_bytes(), &[phrase.as_str(), "cd"].concat()));
        }
    }
}
