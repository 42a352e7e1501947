//! The text inside a permit: one part a domain, in the order of the target's domains, joined by
//! commas; then, where the slow limit is a learnt one, `;s=` and that limit in ms.
//!
//! A part has the fleet's stamp, this instance's own, or both with a `+` between them.
//!
//! | stamp | whose | under what the call was admitted |
//! |---|---|---|
//! | `c:1712` | the fleet's | closed, in epoch 1712 |
//! | `l:9f3a...` | the fleet's | half-open, with this lease |
//! | `u` | the fleet's | without the store, and nobody counts it |
//! | `x` | the fleet's | by an order, against or without the breaker's own word |
//! | `i:1712` | its own | closed, in this epoch of its own |
//! | `k:9f3a...` | its own | half-open, with this lease of its own |
//!
//! A forged text either parses, and then names an epoch or a lease that the store knows better
//! about, or it does not. An epoch that no close can have given yet does not.

use super::types::Permit;
use crate::record;
use crate::target::Domain;

/// Leases' tokens are sixteen hexadecimal digits.
const LEASE_TOKEN_LEN: usize = 16;

/// Under what one breaker admitted a call.
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

/// What one domain's breakers gave a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Stamps {
    /// The fleet's; `None`: it was not asked, since the store was out of reach.
    pub(super) fleet: Option<Stamp>,
    /// This instance's own; `None`: it was not asked.
    pub(super) own: Option<Stamp>,
}

impl Stamps {
    /// The fleet's alone.
    pub(super) fn fleet(stamp: Stamp) -> Self {
        Self {
            fleet: Some(stamp),
            own: None,
        }
    }
}

/// What a permit says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Read<'a> {
    pub(super) domains: Vec<(Domain<'a>, Stamps)>,
    /// From when on the call is slow, in ms, where that is a learnt limit.
    pub(super) slow_ms: Option<u64>,
}

pub(super) fn write(stamps: &[Stamps], slow_ms: Option<u64>) -> String {
    let mut text = String::new();
    for (at, Stamps { fleet, own }) in stamps.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        match fleet {
            Some(Stamp::Epoch(epoch)) => numbered(&mut text, "c:", *epoch),
            Some(Stamp::Lease(token)) => text.extend(["l:", token]),
            Some(Stamp::Unshared) => text.push('u'),
            Some(Stamp::Uncounted) => text.push('x'),
            None => {}
        }
        // An own breaker that counts nothing is as good as none, where the fleet's has a word.
        match own {
            Some(Stamp::Epoch(_) | Stamp::Lease(_)) if fleet.is_some() => text.push('+'),
            _ => {}
        }
        match own {
            Some(Stamp::Epoch(epoch)) => numbered(&mut text, "i:", *epoch),
            Some(Stamp::Lease(token)) => text.extend(["k:", token]),
            Some(Stamp::Unshared | Stamp::Uncounted) if fleet.is_none() => text.push('x'),
            _ => {}
        }
    }
    if let Some(slow_ms) = slow_ms {
        numbered(&mut text, ";s=", slow_ms);
    }
    text
}

fn numbered(text: &mut String, kind: &str, number: u64) {
    text.push_str(kind);
    text.push_str(itoa::Buffer::new().format(number));
}

/// The permit's domains with their stamps.
///
/// # Errors
/// A sentence that says why this is no permit of ours.
pub(super) fn read(permit: &Permit, now: u64) -> Result<Read<'_>, String> {
    let not_ours = || "the permit's text is not ours".to_owned();
    let (parts, slow) = match permit.token.split_once(';') {
        Some((parts, slow)) => (parts, Some(slow)),
        None => (permit.token.as_str(), None),
    };
    let slow_ms = match slow {
        None => None,
        Some(slow) => {
            let number = slow.strip_prefix("s=").and_then(|text| text.parse().ok());
            Some(number.ok_or_else(not_ours)?)
        }
    };
    let mut parts = parts.split(',');
    let mut domains = Vec::new();
    for domain in permit.target.domains()? {
        let stamps = stamps(parts.next().unwrap_or_default(), now).ok_or_else(not_ours)?;
        domains.push((domain, stamps));
    }
    if parts.next().is_some() {
        return Err("the permit has more stamps than its target has domains".into());
    }
    Ok(Read { domains, slow_ms })
}

fn stamps(part: &str, now: u64) -> Option<Stamps> {
    let mut stamps = Stamps::default();
    for (at, text) in part.split('+').enumerate() {
        let epoch = |text: &str| {
            let epoch = text.parse().ok();
            epoch.filter(|at| record::is_epoch(*at, now))
        };
        match text.split_once(':') {
            Some(("c", number)) if at == 0 => stamps.fleet = Some(Stamp::Epoch(epoch(number)?)),
            Some(("l", token)) if at == 0 && is_token(token) => {
                stamps.fleet = Some(Stamp::Lease(token.into()));
            }
            None if at == 0 && text == "u" => stamps.fleet = Some(Stamp::Unshared),
            None if at == 0 && text == "x" => stamps.fleet = Some(Stamp::Uncounted),
            Some(("i", number)) if stamps.own.is_none() => {
                stamps.own = Some(Stamp::Epoch(epoch(number)?));
            }
            Some(("k", token)) if stamps.own.is_none() && is_token(token) => {
                stamps.own = Some(Stamp::Lease(token.into()));
            }
            _ => return None,
        }
    }
    Some(stamps)
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

    fn permit(token: String) -> Permit {
        let target = Target {
            provider: "p".into(),
            account: Some("a".into()),
            operation: Some("o".into()),
        };
        Permit {
            target,
            probe: true,
            token,
        }
    }

    #[test]
    fn stamps_that_were_written_are_read_back() {
        let both = |fleet, own| Stamps { fleet, own };
        let lease = || Some(Stamp::Lease(lease_token(9)));
        for stamps in [
            [
                Stamps::fleet(Stamp::Epoch(7)),
                Stamps::fleet(Stamp::Lease(lease_token(9))),
                Stamps::fleet(Stamp::Unshared),
            ],
            [
                both(Some(Stamp::Epoch(7)), Some(Stamp::Epoch(8))),
                both(None, Some(Stamp::Epoch(0))),
                both(None, lease()),
            ],
            [
                both(lease(), lease()),
                both(Some(Stamp::Epoch(1)), lease()),
                Stamps::fleet(Stamp::Uncounted),
            ],
        ] {
            for slow_ms in [None, Some(1_500)] {
                let permit = permit(write(&stamps, slow_ms));
                let read = read(&permit, 0).unwrap();
                let found: Vec<Stamps> = read.domains.into_iter().map(|(_, s)| s).collect();
                assert_eq!((found.as_slice(), read.slow_ms), (&stamps[..], slow_ms));
            }
        }
    }

    #[test]
    fn an_own_breaker_that_counts_nothing_is_told_of_only_where_it_is_alone() {
        let own = |own| Stamps { fleet: None, own };
        let uncounted = Some(Stamp::Uncounted);
        assert_eq!(write(&[own(uncounted.clone())], None), "x");
        let both = Stamps {
            fleet: Some(Stamp::Epoch(7)),
            own: uncounted,
        };
        assert_eq!(write(&[both, own(None)], None), "c:7,");
    }

    #[test]
    fn a_text_that_is_nearly_ours_is_not_taken_for_it() {
        for text in [
            "c:0",
            "c:0,c:0,c:0,c:0",
            "c:0,c:0,c:0;",
            "c:0,c:0,c:0;s=x",
            "c:0,c:0,c:0;t=1",
            "c:0,c:0,i:0+i:0",
            "c:0,c:0,i:0+c:0",
            "c:0,c:0,c:0+u",
            "c:0,c:0,c:0+",
            "c:0,c:0,l:9",
            "c:0,c:0,k:9",
            "c:0,c:0,i:0+k:000000000000000f",
            "c:0,c:0,",
            "c:0,c:0,c:9999999999",
        ] {
            assert!(read(&permit(text.into()), 1).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_forged_permit_is_survived(token: String, provider: String, account: Option<String>) {
            let _ = read(&Permit { target: Target { provider, account, operation: None }, probe: false, token }, 1);
        }
    }
}
