//! Names as the contract wants them (`wit/package.wit`, "Units and names"), and the keys that
//! follow from them.

use crate::bindings::exports::fusewire::policy::classifier::Target;
use crate::config::Config;

/// The longest name, in bytes.
const NAME_MAX_BYTES: usize = 128;
/// What has a meaning in a domain's name or in a key.
const RESERVED: [char; 4] = ['{', '}', '@', '/'];

/// Checks all the names of a target. The error is a sentence.
pub(crate) fn check_target(target: &Target) -> Result<(), String> {
    check_provider(&target.provider)?;
    if let Some(account) = &target.account {
        check("account", account, &RESERVED)?;
    }
    match &target.operation {
        Some(operation) => check("operation", operation, &[]),
        None => Ok(()),
    }
}

/// Checks a provider's name. The error is a sentence.
pub(crate) fn check_provider(name: &str) -> Result<(), String> {
    check("provider", name, &RESERVED)
}

fn check(what: &str, name: &str, reserved: &[char]) -> Result<(), String> {
    if name.is_empty() || name.len() > NAME_MAX_BYTES {
        let length = name.len();
        return Err(format!(
            "the {what}'s name has {length} bytes, and must have 1 to {NAME_MAX_BYTES}"
        ));
    }
    if name.chars().any(char::is_control) {
        return Err(format!("the {what}'s name has a control character in it"));
    }
    match name.chars().find(|c| reserved.contains(c)) {
        Some(bad) => Err(format!("the {what}'s name has `{bad}` in it")),
        None => Ok(()),
    }
}

// The keys. Other policies keep theirs under the same prefix (the built-in one under `:s:` and
// `:w:`), so these have letters of their own. The braces are literal: Redis Cluster's hash tag, for
// one slot per provider.

/// Where a provider's calls are counted.
pub(crate) fn counter_key(config: &Config, provider: &str) -> String {
    key(config, ":t:{", provider)
}

/// Where an operator's order for a provider is kept.
pub(crate) fn order_key(config: &Config, provider: &str) -> String {
    key(config, ":o:{", provider)
}

fn key(config: &Config, kind: &str, provider: &str) -> String {
    [&config.prefix, kind, provider, "}"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(provider: &str, account: Option<&str>, operation: Option<&str>) -> Target {
        Target {
            provider: provider.into(),
            account: account.map(Into::into),
            operation: operation.map(Into::into),
        }
    }

    #[test]
    fn names_are_accepted_and_rejected_as_the_contract_says() {
        let long = "x".repeat(128);
        for good in [
            target("nominatim", None, None),
            target("ünïcode 1", Some("team-a"), Some("/v1/{layer}@2x")),
            target(&long, Some(&long), Some(&long)),
        ] {
            assert_eq!(check_target(&good), Ok(()));
        }
        for bad in [
            target("", None, None),
            target("a/b", None, None),
            target("a", Some("b@c"), None),
            target("a", Some(""), None),
            target("a", None, Some("new\nline")),
            target(&format!("{long}x"), None, None),
        ] {
            assert!(check_target(&bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_longest_names_make_a_key_that_the_contract_allows() {
        let json = format!(r#"{{"prefix": "{}"}}"#, "p".repeat(64));
        let config = Config::read(&json).unwrap();
        let key = counter_key(&config, &"x".repeat(NAME_MAX_BYTES));
        assert!(key.len() <= 512 && key.ends_with("x}"), "{key}");
    }
}
