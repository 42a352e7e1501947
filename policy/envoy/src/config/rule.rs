//! Where a target's names come from.

use fusewire_core::Target;
use fusewire_core::config::Reader;

use super::template::{FORM, Template};

/// Where a target's names come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetRule {
    /// The provider's.
    pub provider: ProviderRule,
    /// The account's, where accounts are told apart.
    pub account: Option<AccountRule>,
    /// The operation's, where operations are told apart.
    pub operation: Option<OperationRule>,
}

/// Where the provider's name comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderRule {
    /// The cluster that the route leads to.
    Cluster,
    /// The route's name.
    Route,
    /// The request's authority, in lower case.
    Authority,
    /// It is always the same.
    Name(String),
    /// A header field of the request.
    Header(String),
}

/// Where the account's name comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountRule {
    /// It is always the same.
    Name(String),
    /// A header field of the request; where it is a secret, by its digest.
    Header {
        /// The field's name.
        name: String,
        /// Whether the name is a digest of the value.
        hashed: bool,
    },
}

/// Where the operation's name comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperationRule {
    /// It is always the same.
    Name(String),
    /// A header field of the request.
    Header(String),
    /// A segment of the path.
    Path(Template),
}

impl TargetRule {
    pub(super) fn read(at: &Reader<'_>) -> Self {
        let read = Self {
            provider: Self::provider(at),
            account: Self::account(at),
            operation: Self::operation(at),
        };
        at.finish();
        read
    }

    fn provider(at: &Reader<'_>) -> ProviderRule {
        if !at.has("provider") {
            let _ = at.value("provider");
            return ProviderRule::Cluster;
        }
        let rule = at.object("provider");
        let from = rule.word("from", &[("cluster", 0), ("route", 1), ("authority", 2)], 0);
        let name = name(&rule, |name| Target::provider(name));
        let header = header(&rule);
        one_of(at, "provider", &rule, &["from", "name", "header"]);
        rule.finish();
        match (name, header, from) {
            (Some(name), _, _) => ProviderRule::Name(name),
            (_, Some(header), _) => ProviderRule::Header(header),
            (_, _, 1) => ProviderRule::Route,
            (_, _, 2) => ProviderRule::Authority,
            _ => ProviderRule::Cluster,
        }
    }

    fn account(at: &Reader<'_>) -> Option<AccountRule> {
        if !at.has("account") {
            let _ = at.value("account");
            return None;
        }
        let rule = at.object("account");
        let name = name(&rule, |name| Target {
            account: Some(name.to_owned()),
            ..Target::provider("p")
        });
        let header = header(&rule);
        let hashed = rule.flag("hashed", false);
        if hashed && !rule.has("header") {
            rule.problem(
                "hashed",
                "there is no `header` to take a digest of",
                "remove it",
            );
        }
        one_of(at, "account", &rule, &["name", "header"]);
        rule.finish();
        match (name, header) {
            (Some(name), _) => Some(AccountRule::Name(name)),
            (None, Some(name)) => Some(AccountRule::Header { name, hashed }),
            (None, None) => None,
        }
    }

    fn operation(at: &Reader<'_>) -> Option<OperationRule> {
        if !at.has("operation") {
            let _ = at.value("operation");
            return None;
        }
        let rule = at.object("operation");
        let name = name(&rule, |name| Target {
            operation: Some(name.to_owned()),
            ..Target::provider("p")
        });
        let header = header(&rule);
        let path = rule
            .text("path")
            .and_then(|text| match Template::parse(&text) {
                Ok(template) => Some(template),
                Err(wrong) => {
                    rule.problem("path", format!("this is no template: {wrong}"), FORM);
                    None
                }
            });
        one_of(at, "operation", &rule, &["path", "header", "name"]);
        rule.finish();
        match (name, header, path) {
            (Some(name), _, _) => Some(OperationRule::Name(name)),
            (_, Some(header), _) => Some(OperationRule::Header(header)),
            (_, _, Some(path)) => Some(OperationRule::Path(path)),
            _ => None,
        }
    }
}

/// A fixed name, of which the policy must be able to make a domain.
fn name(rule: &Reader<'_>, target: impl FnOnce(&str) -> Target) -> Option<String> {
    let name = rule.text("name")?;
    if let Err(wrong) = target(&name).domains() {
        rule.problem("name", wrong, "");
        return None;
    }
    Some(name)
}

/// The name of a header field, in lower case.
fn header(rule: &Reader<'_>) -> Option<String> {
    /// What may be in the name of a field (RFC 9110, section 5.6.2), beside letters and digits.
    const ALSO: &[u8] = b"!#$%&'*+-.^_`|~";
    let name = rule.text("header")?.to_ascii_lowercase();
    let token = name.strip_prefix(':').unwrap_or(&name);
    let is_token = !token.is_empty()
        && token
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || ALSO.contains(&b));
    if !is_token {
        rule.problem(
            "header",
            "this is no name of a header field",
            "write one such as `x-tenant`",
        );
        return None;
    }
    Some(name)
}

fn one_of(at: &Reader<'_>, key: &str, rule: &Reader<'_>, keys: &[&str]) {
    let given = keys.iter().filter(|key| rule.has(key)).count();
    if given != 1 && at.value(key).is_some_and(serde_json::Value::is_object) {
        let list = keys.join("`, `");
        at.problem(
            key,
            if given == 0 {
                "it does not say where the name comes from"
            } else {
                "it has more than one source"
            },
            format!("write one of `{list}`"),
        );
    }
}
