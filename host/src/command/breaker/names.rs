//! Domains as they are named on a command line.

use std::collections::BTreeSet;

use fusewire::core::{Domain, Target};

/// What a domain's name looks like, for messages.
const FORM: &str = "write provider, provider@account or provider/operation, such as `geocoder`, \
                    `geocoder@team-1` or `geocoder/reverse`";

/// Checks a domain's name.
///
/// # Errors
/// A sentence that says what is wrong with it, and what would be right.
pub(super) fn check(name: &str) -> Result<(), String> {
    match Domain::parse(name) {
        Ok(_) => Ok(()),
        Err(why) => Err(format!("no domain can be called `{name}`: {why}; {FORM}")),
    }
}

/// The target whose domains are the provider's and, where it is another, this one.
pub(super) fn target(name: &str) -> Target {
    let Some(at) = name.find(['@', '/']) else {
        return Target::provider(name);
    };
    let (provider, part) = name.split_at(at);
    let target = Target::provider(provider);
    match part.strip_prefix('@') {
        Some(account) => Target {
            account: Some(account.to_owned()),
            ..target
        },
        None => Target {
            operation: part.strip_prefix('/').map(str::to_owned),
            ..target
        },
    }
}

/// The domain whose record is under this key, where it is one's.
pub(super) fn of_key(key: &str, begins: &str) -> Option<String> {
    let (provider, part) = key.strip_prefix(begins)?.split_once('}')?;
    let name = [provider, part].concat();
    Domain::parse(&name).is_ok().then_some(name)
}

/// What keys of records begin with.
pub(super) fn key_begins(prefix: &str) -> String {
    format!("{prefix}:s:{{")
}

/// Which domains are asked for.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    names: BTreeSet<String>,
    patterns: Vec<Pattern>,
}

impl Wanted {
    /// Reads names, and patterns with `*` and `?` in them. None: every domain.
    ///
    /// # Errors
    /// A sentence on the first that is neither.
    pub(super) fn read(arguments: &[String]) -> Result<Self, String> {
        let mut wanted = Self::default();
        for argument in arguments {
            let pattern = Pattern::read(argument);
            match pattern.name() {
                Some(name) => {
                    check(&name)?;
                    wanted.names.insert(name);
                }
                None => wanted.patterns.push(pattern),
            }
        }
        Ok(wanted)
    }

    /// Those that are shown whether they have a record or not.
    pub(super) fn names(&self) -> &BTreeSet<String> {
        &self.names
    }

    /// Whether the names alone say which they are.
    pub(super) fn is_by_name(&self) -> bool {
        !self.names.is_empty() && self.patterns.is_empty()
    }

    /// Whether every domain that has a record is meant.
    pub(super) fn is_everything(&self) -> bool {
        self.names.is_empty() && self.patterns.is_empty()
    }

    /// Whether this one is among them.
    pub(super) fn takes(&self, name: &str) -> bool {
        self.is_everything()
            || self.names.contains(name)
            || self.patterns.iter().any(|pattern| pattern.matches(name))
    }
}

/// A name in which `*` stands for any characters and `?` for one. After `\` each is itself.
#[derive(Debug)]
struct Pattern(Vec<Piece>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Is(char),
    One,
    Any,
}

impl Pattern {
    fn read(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            pieces.push(match c {
                '*' => Piece::Any,
                '?' => Piece::One,
                '\\' => Piece::Is(chars.next().unwrap_or(c)),
                c => Piece::Is(c),
            });
        }
        Self(pieces)
    }

    /// The name that it is, where it matches nothing else.
    fn name(&self) -> Option<String> {
        let char = |piece: &Piece| match piece {
            Piece::Is(c) => Some(*c),
            Piece::One | Piece::Any => None,
        };
        self.0.iter().map(char).collect()
    }

    /// In time of the product of both lengths at most: where it does not go on, the last `*` takes
    /// one character more, and those before stay as they are.
    fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut at, mut piece) = (0, 0);
        let mut last_any = None;
        while let Some(c) = name.get(at) {
            match self.0.get(piece) {
                Some(Piece::Any) => {
                    last_any = Some((piece, at));
                    piece += 1;
                }
                Some(Piece::One) => (at, piece) = (at + 1, piece + 1),
                Some(Piece::Is(is)) if is == c => (at, piece) = (at + 1, piece + 1),
                _ => {
                    let Some((any, from)) = last_any else {
                        return false;
                    };
                    last_any = Some((any, from + 1));
                    (at, piece) = (from + 1, any + 1);
                }
            }
        }
        self.0.iter().skip(piece).all(|rest| *rest == Piece::Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(arguments: &[&str]) -> Wanted {
        let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        Wanted::read(&arguments).expect("they are names and patterns")
    }

    #[test]
    fn a_pattern_takes_what_it_says_and_nothing_else() {
        for (pattern, takes, leaves) in [
            ("geo*", vec!["geo", "geocoder", "geocoder@a"], vec!["ageo"]),
            ("*@*", vec!["a@b", "geocoder@team"], vec!["geocoder", "a/b"]),
            ("a?c", vec!["abc", "a/c"], vec!["ac", "abbc"]),
            ("*aab", vec!["aab", "aaaab", "baab"], vec!["aaba"]),
            (r"a/\**", vec!["a/*", "a/*b"], vec!["a/b"]),
            ("*", vec!["a", "a@b"], vec![]),
        ] {
            let wanted = wanted(&[pattern]);
            assert!(!wanted.is_by_name(), "{pattern}");
            for name in takes {
                assert!(wanted.takes(name), "{pattern} {name}");
            }
            for name in leaves {
                assert!(!wanted.takes(name), "{pattern} {name}");
            }
        }
    }

    #[test]
    fn without_a_name_every_domain_is_meant() {
        let all = wanted(&[]);
        assert!(all.takes("a/b") && !all.is_by_name());
        let one = wanted(&["a"]);
        assert!(one.takes("a") && !one.takes("a/b") && one.is_by_name());
    }

    #[test]
    fn a_name_with_a_slip_is_told_with_what_would_be_right() {
        for (slip, why) in [
            ("", "the provider has no name"),
            ("geocoder@", "the account has no name"),
            ("@team", "the provider has no name"),
            ("a@b/c", "has `/` in it"),
            ("fusewire:s:{geocoder}", "has `{` in it"),
            ("a\nb", "control character"),
        ] {
            let said = Wanted::read(&[slip.to_owned()]).expect_err(slip);
            assert!(said.contains(why), "{slip}: {said}");
            assert!(said.contains("provider@account"), "{slip}: {said}");
        }
    }

    #[test]
    fn a_domain_and_its_key_and_its_target_belong_together() {
        let begins = key_begins("fleet");
        for name in ["a", "a@b", "a/b", "a/b@c/{d}"] {
            let domain = Domain::parse(name).expect("a domain");
            let found = of_key(&domain.record_key("fleet"), &begins);
            assert_eq!(found.as_deref(), Some(name));
            let target = target(name);
            let domains = target.domains().expect("a target");
            assert_eq!(domains.last().map(Domain::name).as_deref(), Some(name));
        }
        for other in ["fleet:w:{a}", "fleet:s:a", "fleet:s:{}", "other:s:{a}"] {
            assert_eq!(of_key(other, &begins), None, "{other}");
        }
    }
}
