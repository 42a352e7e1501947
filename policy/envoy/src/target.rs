//! Whom a request is made to.
//!
//! A name that the policy cannot use as it is is written so that it can: a character that
//! separates parts of a domain, or is a control character, as in a URL (`%2F`), and a name that is
//! too long by its beginning and its digest. So a request without a provider's name is the only
//! one that has no target.

use fusewire_core::Target;
use fusewire_core::target::NAME_MAX_BYTES;
use sha2::{Digest, Sha256};

use crate::config::{AccountRule, OperationRule, ProviderRule, TargetRule};
use crate::host::{Host, Map};

/// Whom a request is made to; `None`: its provider has no name.
pub fn of<H: Host>(host: &H, rule: &TargetRule) -> Option<Target> {
    let provider = match &rule.provider {
        ProviderRule::Name(name) => name.clone(),
        ProviderRule::Cluster => reserved(&property(host, "xds\0cluster_name")?),
        ProviderRule::Route => reserved(&property(host, "xds\0route_name")?),
        ProviderRule::Authority => reserved(&header(host, ":authority")?.to_ascii_lowercase()),
        ProviderRule::Header(name) => reserved(&header(host, name)?),
    };
    let account = match &rule.account {
        None => None,
        Some(AccountRule::Name(name)) => Some(name.clone()),
        Some(AccountRule::Header { name, hashed: true }) => {
            header(host, name).map(|secret| digest(secret.as_bytes()))
        }
        Some(AccountRule::Header { name, .. }) => header(host, name).map(|name| reserved(&name)),
    };
    let operation = match &rule.operation {
        None => None,
        Some(OperationRule::Name(name)) => Some(name.clone()),
        Some(OperationRule::Header(name)) => header(host, name).map(|name| plain(&name)),
        Some(OperationRule::Path(template)) => {
            header(host, ":path").and_then(|path| template.operation(&path).map(plain))
        }
    };
    Some(Target {
        provider,
        account,
        operation,
    })
}

/// A property that is a text, where there is one that is not empty.
pub(crate) fn property<H: Host>(host: &H, path: &str) -> Option<String> {
    let text = host.property(path).ok().flatten();
    text.filter(|text| !text.is_empty())
}

/// A header field of the request, where there is one that is not empty.
pub(crate) fn header<H: Host>(host: &H, name: &str) -> Option<String> {
    let text = host.header(Map::RequestHeaders, name).ok().flatten();
    text.filter(|text| !text.is_empty())
}

/// A name in which some characters mean something else.
fn reserved(name: &str) -> String {
    written(name, |c| matches!(c, '{' | '}' | '@' | '/'))
}

/// A name in which every character is part of it.
fn plain(name: &str) -> String {
    written(name, |_| false)
}

fn written(name: &str, is_reserved: impl Fn(char) -> bool) -> String {
    let is_usual = |c: char| !c.is_control() && !is_reserved(c);
    if name.len() <= NAME_MAX_BYTES && name.chars().all(is_usual) {
        return name.to_owned();
    }
    /// What a long name is cut to, before its digest.
    const BEGINNING_BYTES: usize = NAME_MAX_BYTES - 1 - DIGEST_CHARS;
    let mut written = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_control() || is_reserved(c) {
            let mut buffer = [0; 4];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                written.push('%');
                written.push(HEX.get(usize::from(byte >> 4)).copied().unwrap_or('0'));
                written.push(HEX.get(usize::from(byte & 15)).copied().unwrap_or('0'));
            }
        } else {
            written.push(c);
        }
    }
    if written.len() <= NAME_MAX_BYTES {
        return written;
    }
    let digest = digest(written.as_bytes());
    let mut end = BEGINNING_BYTES;
    while !written.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    written.truncate(end);
    written.push('~');
    written.push_str(&digest);
    written
}

const HEX: [char; 16] = [
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
];

/// 128 bits: no two of a fleet's secrets have the same digest.
const DIGEST_CHARS: usize = 32;

/// A digest that says nothing of a secret that cannot be guessed.
fn digest(secret: &[u8]) -> String {
    let hash = Sha256::digest(secret);
    let mut text = String::with_capacity(DIGEST_CHARS);
    for byte in hash.iter().take(DIGEST_CHARS / 2) {
        for half in [byte >> 4, byte & 15] {
            let digit = HEX.get(usize::from(half)).copied().unwrap_or('0');
            text.push(digit.to_ascii_lowercase());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn characters_that_separate_are_written_as_in_a_url() {
        assert_eq!(reserved("outbound|80||a.b"), "outbound|80||a.b");
        assert_eq!(reserved("a/b@c{d}\n"), "a%2Fb%40c%7Bd%7D%0A");
        assert_eq!(plain("a/b@c{d}\n"), "a/b@c{d}%0A");
    }

    #[test]
    fn a_digest_is_the_first_128_bits_of_sha_256() {
        assert_eq!(digest(b"abc"), "ba7816bf8f01cfea414140de5dae2223");
    }

    proptest! {
        #[test]
        fn any_text_that_is_not_empty_names_a_target(provider in ".{1,300}", part in ".{1,300}") {
            let target = Target {
                provider: reserved(&provider),
                account: Some(reserved(&part)),
                operation: Some(plain(&part)),
            };
            prop_assert!(target.domains().is_ok(), "{target:?}");
        }
    }
}
