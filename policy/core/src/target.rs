//! Whom a call is made to, and the failure domains that follow.

use serde::{Deserialize, Serialize};

use crate::entropy;

/// The longest name of a provider, account or operation, in bytes. Long enough for a host name
/// with a path, short enough that three of them and a prefix stay a small key.
pub const NAME_MAX_BYTES: usize = 128;

/// Whom a call is made to: up to three failure domains, admitted together and blamed apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Target {
    /// The outside service, such as `nominatim`.
    pub provider: String,
    /// Whose credential is used there.
    #[serde(default)]
    pub account: Option<String>,
    /// What is asked for there: a layer, an endpoint, a tenant.
    #[serde(default)]
    pub operation: Option<String>,
}

/// Which part of a target a domain stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Provider,
    Account,
    Operation,
}

/// One failure domain: `provider`, `provider@account` or `provider/operation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Domain<'a> {
    pub(crate) scope: Scope,
    provider: &'a str,
    /// The account's or the operation's name; empty for the provider itself.
    part: &'a str,
}

impl Target {
    /// A target that is a provider alone.
    #[must_use]
    pub fn provider(name: impl Into<String>) -> Self {
        Self {
            provider: name.into(),
            account: None,
            operation: None,
        }
    }

    /// The target's domains, the provider's first.
    ///
    /// # Errors
    /// A sentence that says which name is not valid, and why.
    pub fn domains(&self) -> Result<Vec<Domain<'_>>, String> {
        let provider = self.provider.as_str();
        check_name("provider", provider, RESERVED)?;
        let mut domains = vec![Domain {
            scope: Scope::Provider,
            provider,
            part: "",
        }];
        if let Some(part) = &self.account {
            check_name("account", part, RESERVED)?;
            domains.push(Domain {
                scope: Scope::Account,
                provider,
                part,
            });
        }
        if let Some(part) = &self.operation {
            check_name("operation", part, &[])?;
            domains.push(Domain {
                scope: Scope::Operation,
                provider,
                part,
            });
        }
        Ok(domains)
    }
}

impl<'a> Domain<'a> {
    /// Reads a domain's name: `provider`, `provider@account` or `provider/operation`.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn parse(name: &'a str) -> Result<Self, String> {
        let cut = name.find(['@', '/']);
        let (provider, rest) = cut
            .and_then(|at| name.split_at_checked(at))
            .unwrap_or((name, ""));
        check_name("provider", provider, RESERVED)?;
        let (scope, part) = if let Some(account) = rest.strip_prefix('@') {
            check_name("account", account, RESERVED)?;
            (Scope::Account, account)
        } else if let Some(operation) = rest.strip_prefix('/') {
            check_name("operation", operation, &[])?;
            (Scope::Operation, operation)
        } else {
            (Scope::Provider, "")
        };
        Ok(Self {
            scope,
            provider,
            part,
        })
    }

    /// The domain's name.
    #[must_use]
    pub fn name(&self) -> String {
        [self.provider, self.separator(), self.part].concat()
    }

    /// The provider that the domain belongs to.
    #[must_use]
    pub fn provider(&self) -> &'a str {
        self.provider
    }

    /// The key of the domain's record. The braces are Redis Cluster's hash tag, so that all of a
    /// provider's keys share a slot.
    #[must_use]
    pub fn record_key(&self, prefix: &str) -> String {
        self.key(prefix, ":s:{")
    }

    /// The key of the domain's windowed counter.
    #[must_use]
    pub fn window_key(&self, prefix: &str) -> String {
        self.key(prefix, ":w:{")
    }

    /// The key of the record of one instance's own breaker: of interest to nobody else, so a host
    /// may keep it to itself.
    #[must_use]
    pub fn own_record_key(&self, prefix: &str, instance: &str) -> String {
        self.own_key(prefix, ":local:s:{", instance)
    }

    /// The key of the counter of one instance's own breaker.
    #[must_use]
    pub fn own_window_key(&self, prefix: &str, instance: &str) -> String {
        self.own_key(prefix, ":local:w:{", instance)
    }

    /// The key of what is counted of latencies.
    #[must_use]
    pub fn latency_key(&self, prefix: &str) -> String {
        self.key(prefix, ":l:{")
    }

    // An operation's name may have anything in it, so what ends the key has always the same length.
    fn own_key(&self, prefix: &str, kind: &str, instance: &str) -> String {
        let mut key = self.key(prefix, kind);
        key.push('!');
        let digest = entropy::digest(instance.as_bytes());
        for shift in (0..64).step_by(4).rev() {
            let digit = u32::try_from((digest >> shift) & 0xf).unwrap_or(0);
            key.push(char::from_digit(digit, 16).unwrap_or('0'));
        }
        key
    }

    // Put together rather than formatted: every call needs a key or two.
    fn key(&self, prefix: &str, kind: &str) -> String {
        [
            prefix,
            kind,
            self.provider,
            "}",
            self.separator(),
            self.part,
        ]
        .concat()
    }

    fn separator(&self) -> &'static str {
        match self.scope {
            Scope::Provider => "",
            Scope::Account => "@",
            Scope::Operation => "/",
        }
    }
}

/// Characters that have a meaning in a domain's name or key.
const RESERVED: &[char] = &['{', '}', '@', '/'];

/// Checks one name.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub(crate) fn check_name(what: &str, name: &str, reserved: &[char]) -> Result<(), String> {
    if name.is_empty() {
        return Err(format!("the {what} has no name"));
    }
    if name.len() > NAME_MAX_BYTES {
        return Err(format!(
            "the {what}'s name has {} bytes, and may have {NAME_MAX_BYTES}",
            name.len()
        ));
    }
    if let Some(bad) = name.chars().find(|c| c.is_control()) {
        return Err(format!(
            "the {what}'s name has the control character U+{:04X} in it",
            u32::from(bad)
        ));
    }
    if let Some(bad) = name.chars().find(|c| reserved.contains(c)) {
        return Err(format!(
            "the {what}'s name has `{bad}` in it, which separates parts of a domain"
        ));
    }
    Ok(())
}

/// Checks a provider's name.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub fn check_provider(name: &str) -> Result<(), String> {
    check_name("provider", name, RESERVED)
}
