//! What a policy carries besides its code: its scenarios, in custom sections.
//!
//! A scenario that is carried is a custom section of the component itself, named
//! `fusewire:scenario`. In it are the scenario's file name, a line feed, and its text. There is a
//! section for each, in the order in which they are played. Custom sections mean nothing to those
//! who do not know them, so a policy with scenarios runs wherever one without them does.
//!
//! Bytes from anywhere may be read: whatever they are, the answer is a scenario or a sentence, and
//! takes no more time or memory than the bytes are long.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects
    )
)]

mod read;
mod write;

pub use self::read::scenarios;
pub use self::write::with_scenarios;

/// The name of a section that holds a scenario.
pub const SECTION: &str = "fusewire:scenario";

/// The most scenarios that a policy can carry.
pub const MOST: usize = 256;

/// The most bytes of all of them together, their names included.
pub const LARGEST: usize = 256 << 10;

/// The most bytes of a scenario's file name.
pub const LONGEST_NAME: usize = 128;

/// Whether this may be the name of a scenario: that of a file, not a path, printable, and ending in
/// `.toml`. It is shown to people, and may become a file's name.
fn name_is_good(name: &str) -> bool {
    name.len() <= LONGEST_NAME
        && name.ends_with(".toml")
        && !name.starts_with('.')
        && !name.contains(['/', '\\'])
        && !name.chars().any(char::is_control)
}

/// Whether these are few and small enough to be carried, and told apart by their names.
fn check(scenarios: &[(String, String)]) -> Result<(), String> {
    if scenarios.len() > MOST {
        return Err(format!(
            "more than the {MOST} scenarios that a policy may carry"
        ));
    }
    let size = scenarios.iter().fold(0usize, |size, (name, text)| {
        size.saturating_add(name.len()).saturating_add(text.len())
    });
    if size > LARGEST {
        return Err(format!(
            "the scenarios have {size} bytes together, more than the {LARGEST} that a policy may \
             carry"
        ));
    }
    let mut names: Vec<&str> = scenarios.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    for (name, next) in names.iter().zip(names.iter().skip(1)) {
        if name == next {
            return Err(format!("two scenarios have the name `{name}`"));
        }
    }
    match names.iter().find(|name| !name_is_good(name)) {
        None => Ok(()),
        Some(name) => Err(format!(
            "{name:?} is no name for a scenario: it is a file's name that ends in `.toml`, without a \
             path, and has {LONGEST_NAME} bytes at most"
        )),
    }
}
