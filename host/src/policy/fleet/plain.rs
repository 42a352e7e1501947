//! Texts of others, so that they can be shown: in a log, on a terminal, in a report.

/// A text without what moves a cursor or begins a line, and with at most `longest` characters.
///
/// What is in the store was written by anybody who reaches it, and a name that holds an escape
/// sequence would write over the operator's screen.
pub(super) fn plain(text: &str, longest: usize) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().nth(longest).is_none() {
        return text.chars().map(shown).collect();
    }
    let kept = longest.saturating_sub(1);
    text.chars().take(kept).map(shown).chain(['…']).collect()
}

/// A host by the id that it was given.
pub(super) fn id(instance: &str) -> String {
    /// As long as an id may be that is configured.
    const LONGEST: usize = 128;
    plain(instance, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn what_is_shown_moves_no_cursor_and_begins_no_line() {
        assert_eq!(plain("a\u{1b}[2Jb\r\nc\u{9b}d", 99), "a [2Jb  c d");
    }

    #[test]
    fn what_is_shown_is_as_long_as_there_is_room_for() {
        assert_eq!(plain("fünf!", 5), "fünf!");
        assert_eq!(plain("fünf!!", 5), "fünf…");
        assert_eq!(plain("", 5), "");
    }
}
