//! The text inside a permit: one stamp a domain, in the order of the target's domains.
//!
//! `c:1712` counts in epoch 1712, `l:9f3a` holds the lease 9f3a, `u` was admitted without the
//! store, `x` counts nowhere; joined by commas. A forged text either parses, and then names an
//! epoch or a lease that the store knows better about, or it does not. An epoch that no close can
//! have given yet does not.

use super::types::Permit;
use crate::record;
use crate::target::Domain;

/// Leases' tokens are sixteen hexadecimal digits.
const LEASE_TOKEN_LEN: usize = 16;

/// Under what one domain admitted a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stamp {
    /// Closed, in this epoch.
    Epoch(u64),
    /// Half-open, with this lease.
    Lease(String),
    /// The store did not answer.
    Unshared,
    /// Admitted by an operator's order, against or without the breaker's own word.
    Uncounted,
}

pub(super) fn write(stamps: &[Stamp]) -> String {
    let mut text = String::new();
    for stamp in stamps {
        if !text.is_empty() {
            text.push(',');
        }
        match stamp {
            Stamp::Epoch(epoch) => {
                text.push_str("c:");
                text.push_str(itoa::Buffer::new().format(*epoch));
            }
            Stamp::Lease(token) => {
                text.push_str("l:");
                text.push_str(token);
            }
            Stamp::Unshared => text.push('u'),
            Stamp::Uncounted => text.push('x'),
        }
    }
    text
}

/// The permit's domains with their stamps.
///
/// # Errors
/// A sentence that says why this is no permit of ours.
pub(super) fn read(permit: &Permit, now: u64) -> Result<Vec<(Domain<'_>, Stamp)>, String> {
    let mut texts = permit.token.split(',');
    let mut stamped = Vec::new();
    for domain in permit.target.domains()? {
        let text = texts.next().unwrap_or_default();
        let stamp = match text.split_once(':') {
            Some(("c", epoch)) => epoch
                .parse()
                .ok()
                .filter(|at| record::is_epoch(*at, now))
                .map(Stamp::Epoch),
            Some(("l", token)) if is_token(token) => Some(Stamp::Lease(token.into())),
            None if text == "u" => Some(Stamp::Unshared),
            None if text == "x" => Some(Stamp::Uncounted),
            _ => None,
        };
        match stamp {
            Some(stamp) => stamped.push((domain, stamp)),
            None => return Err("the permit's text is not ours".into()),
        }
    }
    if texts.next().is_some() {
        return Err("the permit has more stamps than its target has domains".into());
    }
    Ok(stamped)
}

pub(super) fn lease_token(bits: u64) -> String {
    format!("{bits:016x}")
}

fn is_token(text: &str) -> bool {
    text.len() == LEASE_TOKEN_LEN && text.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;
    use proptest::prelude::*;

    #[test]
    fn stamps_that_were_written_are_read_back() {
        let stamps = [
            Stamp::Epoch(7),
            Stamp::Lease(lease_token(9)),
            Stamp::Unshared,
        ];
        let target = Target {
            provider: "p".into(),
            account: Some("a".into()),
            operation: Some("o".into()),
        };
        let permit = Permit {
            target,
            probe: true,
            token: write(&stamps),
        };
        let read: Vec<Stamp> = read(&permit, 0)
            .unwrap()
            .into_iter()
            .map(|(_, stamp)| stamp)
            .collect();
        assert_eq!(read, stamps);
    }

    proptest! {
        #[test]
        fn a_forged_permit_is_survived(token: String, provider: String, account: Option<String>) {
            let _ = read(&Permit { target: Target { provider, account, operation: None }, probe: false, token }, 1);
        }
    }
}
