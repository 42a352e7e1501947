//! Which route a request takes.

/// Paths of the gateway's own, which no route can take.
pub const RESERVED: [&str; 2] = ["/metrics", "/healthz"];

/// Which paths a route takes: one, or all that begin alike.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pattern {
    /// Without the `*`.
    path: String,
    open: bool,
}

impl Pattern {
    /// Reads a pattern: `/geocode`, or `/tiles/*`. `None` where it is neither.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (path, open) = match text.strip_suffix("/*") {
            Some(path) => (format!("{path}/"), true),
            None => (text.to_owned(), false),
        };
        let is_path = path.starts_with('/')
            && path
                .chars()
                .all(|c| c.is_ascii_graphic() && !"*?#{}\"<>\\^`|".contains(c));
        is_path.then_some(Self { path, open })
    }

    /// Whether it takes this one path alone.
    #[must_use]
    pub fn is_exactly(&self, path: &str) -> bool {
        !self.open && self.path == path
    }

    /// The rest of a path that it takes. Compared as it is written: `%41` is not `A`.
    #[must_use]
    pub fn rest<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(self.path.as_str())
            .filter(|rest| self.open || rest.is_empty())
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.path)?;
        f.write_str(if self.open { "*" } else { "" })
    }
}

/// The place of the pattern that takes a path, and the rest of the path: the longest, and of two
/// that are equally long the one for this path alone.
#[must_use]
pub fn find<'p, 'a>(
    patterns: impl IntoIterator<Item = &'p Pattern>,
    path: &'a str,
) -> Option<(usize, &'a str)> {
    patterns
        .into_iter()
        .enumerate()
        .filter_map(|(at, pattern)| Some((at, pattern, pattern.rest(path)?)))
        .max_by_key(|(_, pattern, _)| (pattern.path.len(), !pattern.open))
        .map(|(at, _, rest)| (at, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_pattern_that_takes_a_path_wins() {
        let patterns: Vec<Pattern> = ["/*", "/tiles/*", "/tiles/", "/tiles/sea/*", "/geocode"]
            .iter()
            .map(|text| Pattern::parse(text).unwrap())
            .collect();
        for (path, found) in [
            ("/", Some((0, ""))),
            ("/tiles", Some((0, "tiles"))),
            ("/tiles/", Some((2, ""))),
            ("/tiles/3/4", Some((1, "3/4"))),
            ("/tiles/sea/3", Some((3, "3"))),
            ("/geocode", Some((4, ""))),
            ("/geocode/", Some((0, "geocode/"))),
            ("*", None),
        ] {
            assert_eq!(find(&patterns, path), found, "{path}");
        }
    }

    #[test]
    fn what_is_not_a_path_is_no_pattern() {
        for text in ["", "*", "geocode", "/a?b", "/a*", "/a/*/b", "/{x}", "/a b"] {
            assert_eq!(Pattern::parse(text), None, "{text}");
        }
        assert_eq!(
            Pattern::parse("/tiles/*").unwrap().to_string(),
            "/tiles/*".to_owned()
        );
    }
}
