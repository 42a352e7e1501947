//! The sections of the file.
//!
//! Each reads what it can and notes what it cannot, so that one pass finds everything. What a
//! section answers is complete, with defaults in place of what is wrong; it is used only where
//! nothing was.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use fusewire_core::config::reader::close;
use fusewire_core::config::{Reader, duration};
use fusewire_core::{Problem, Target};
use http::{HeaderName, Method};
use serde_json::Value;

use super::{Config, PolicyConfig, ProviderConfig, RouteConfig, Secret, StoreConfig};
use crate::gateway::routes::{Pattern, RESERVED};
use crate::gateway::template::Template;
use crate::gateway::upstream::Limits;
use crate::guard::STORE_PATIENCE;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// Where callers come in by default: this machine alone.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8700);
/// The longest body of a request by default, in bytes: it is kept for the next attempt.
const REQUEST_LIMIT: u64 = 1 << 20;
/// How much of an answer is kept back by default, in bytes: most answers of web APIs whole.
const BUFFER: u64 = 256 << 10;
/// The most that may be set for either, in bytes: each request in flight may need it.
const IN_MEMORY_MAX: u64 = 64 << 20;
/// How many redirects are followed by default: one to the right spelling, one to a slash, and
/// some to spare.
const REDIRECTS: u64 = 5;

/// What was found besides what the [`Reader`] notes by itself.
#[derive(Default)]
pub(super) struct Findings {
    problems: RefCell<Vec<Problem>>,
    warnings: RefCell<Vec<Problem>>,
}

impl Findings {
    pub(super) fn problem(&self, problem: Problem) {
        self.problems.borrow_mut().push(problem);
    }

    fn warn(&self, path: String, wrong: String, right: &str) {
        let right = right.into();
        self.warnings
            .borrow_mut()
            .push(Problem { path, wrong, right });
    }

    /// The problems and the warnings.
    pub(super) fn into_parts(self) -> (Vec<Problem>, Vec<Problem>) {
        (self.problems.into_inner(), self.warnings.into_inner())
    }
}

/// The whole file but the policy.
pub(super) fn config(root: &Reader<'_>, policy: PolicyConfig, findings: &Findings) -> Config {
    let listen = address(root, "listen").unwrap_or(LISTEN);
    let admin = address(root, "admin");
    if admin == Some(listen) && listen.port() != 0 {
        root.problem(
            "admin",
            "callers come in at this address",
            "choose another, or leave it out",
        );
    }
    let instance = root.text("instance");
    if instance
        .as_ref()
        .is_some_and(|id| id.is_empty() || id.len() > 128)
    {
        root.problem(
            "instance",
            "this cannot name a host",
            "write 1 to 128 bytes",
        );
    }
    let request_limit = bytes(root, "request-limit", REQUEST_LIMIT);
    let grace = span(root, "grace", 10 * SECOND, 0..=HOUR);
    let store = store(root, findings);
    let providers = providers(root, findings);
    let routes = routes(root, &providers, findings);
    look_for_leftovers(&providers, &routes, &policy, findings);
    Config {
        listen,
        admin,
        instance,
        request_limit,
        grace,
        store,
        policy,
        providers,
        routes,
        warnings: Vec::new(),
    }
}

fn address(root: &Reader<'_>, key: &str) -> Option<SocketAddr> {
    let text = root.text(key)?;
    let address = text.parse().ok();
    if address.is_none() {
        let wrong = format!("{text:?} is not an address");
        let right = r#"write an IP address and a port such as "127.0.0.1:8700" or "[::1]:8700""#;
        root.problem(key, wrong, right);
    }
    address
}

fn store(root: &Reader<'_>, findings: &Findings) -> StoreConfig {
    let section = root.object("store");
    let url = section.text("url").map(Secret::new);
    if let Some(url) = &url {
        match url.reveal() {
            Err(unset) => findings.warn(section.path("url"), unset, "set it before `serve`"),
            Ok(url) if !is_redis(&url) => {
                let right = r#"write one such as "redis://127.0.0.1:6379/0""#;
                section.problem("url", "this is not the URL of a Redis server", right);
            }
            Ok(_) => {}
        }
    }
    let patience = u64::try_from(STORE_PATIENCE.as_millis()).unwrap_or(u64::MAX);
    let timeout = span(&section, "timeout", patience, 1..=MINUTE);
    section.finish();
    StoreConfig { url, timeout }
}

fn is_redis(url: &str) -> bool {
    redis::parse_redis_url(url).is_some()
}

fn providers(root: &Reader<'_>, findings: &Findings) -> Vec<ProviderConfig> {
    let read: Vec<ProviderConfig> = root
        .objects("providers")
        .into_iter()
        .map(|(name, section)| {
            let is_token = name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.len() <= fusewire_core::target::NAME_MAX_BYTES
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
            if !is_token {
                findings.problem(Problem {
                    path: section.path("").trim_end_matches('/').into(),
                    wrong: format!("{name:?} cannot name a provider, since it stands in headers"),
                    right: "write a letter, then letters, digits, `-`, `_` or `.`".into(),
                });
            }
            provider(name, &section, findings)
        })
        .collect();
    if read.is_empty() && !root.has("providers") {
        let right = r#"write [providers.NAME] with a `url`"#;
        root.problem("providers", "there is no provider", right);
    }
    read
}

fn provider(name: String, section: &Reader<'_>, findings: &Findings) -> ProviderConfig {
    let account = section.text("account");
    let operation = section.text("operation");
    let target = Target {
        provider: name,
        account,
        operation,
    };
    for (key, part) in [
        ("account", &target.account),
        ("operation", &target.operation),
    ] {
        if let Some(part) = part {
            let mut alone = Target::provider("provider");
            match key {
                "account" => alone.account = Some(part.clone()),
                _ => alone.operation = Some(part.clone()),
            }
            if let Err(wrong) = alone.domains() {
                section.problem(key, wrong, "");
            }
        }
    }
    let read = ProviderConfig {
        target,
        url: url(section),
        limits: limits(section),
        headers: headers(section, findings),
        redirects: usize::try_from(section.whole("redirects", REDIRECTS, 0..=20)).unwrap_or(0),
        buffer: bytes(section, "buffer", BUFFER),
    };
    section.finish();
    read
}

fn url(section: &Reader<'_>) -> Template {
    if !section.has("url") {
        let right = r#"write a URL such as "https://geo.example/search?q={q}""#;
        section.problem("url", "`url` is missing", right);
    }
    match section.text("url").as_deref().map(Template::parse) {
        Some(Ok(template)) => template,
        Some(Err(malformed)) => {
            section.problem("url", malformed.wrong, malformed.right);
            Template::default()
        }
        None => Template::default(),
    }
}

fn limits(section: &Reader<'_>) -> Limits {
    let default = Limits::default();
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let total = span(section, "total", ms(default.total), 1..=HOUR);
    // What is not set shrinks with the total, so that setting the total alone is enough.
    let limit = |key, default: Duration| span(section, key, ms(default.min(total)), 1..=HOUR);
    let limits = Limits {
        connect: limit("connect", default.connect),
        read: limit("read", default.read),
        probe: limit("probe", total / 2),
        total,
    };
    for (key, limit) in [
        ("connect", limits.connect),
        ("read", limits.read),
        ("probe", limits.probe),
    ] {
        if limit > total {
            let total = duration::format_ms(ms(total));
            let wrong = format!("this limit would never fire: the total is {total}");
            section.problem(key, wrong, "lower it, or raise `total`");
        }
    }
    limits
}

fn headers(section: &Reader<'_>, findings: &Findings) -> Vec<(HeaderName, Secret)> {
    let table = section.object("headers");
    let names = section.value("headers").and_then(Value::as_object);
    let mut headers = Vec::new();
    for name in names.into_iter().flat_map(|names| names.keys()) {
        let Some(value) = table.text(name).map(Secret::new) else {
            continue;
        };
        match value.reveal() {
            Err(unset) => findings.warn(table.path(name), unset, "set it before `serve`"),
            Ok(value) if http::HeaderValue::from_str(&value).is_err() => {
                table.problem(
                    name,
                    "the value has a character in it that no field may have",
                    "",
                );
            }
            Ok(_) => {}
        }
        match HeaderName::try_from(name) {
            Ok(name) => headers.push((name, value)),
            Err(_) => table.problem(name, format!("{name:?} cannot name a field"), ""),
        }
    }
    headers
}

fn routes(
    root: &Reader<'_>,
    providers: &[ProviderConfig],
    findings: &Findings,
) -> Vec<RouteConfig> {
    if !root.has("routes") {
        let right = r#"write [[routes]] with a `path` and a `chain`"#;
        root.problem("routes", "there is no route", right);
    }
    let mut routes: Vec<RouteConfig> = Vec::new();
    for section in root.list("routes") {
        let path = path(&section, &routes);
        let route = RouteConfig {
            path,
            chain: chain(&section, providers, findings),
            methods: methods(&section),
            deadline: section
                .duration_ms_opt("deadline", 1..=HOUR)
                .map(Duration::from_millis),
        };
        section.finish();
        routes.push(route);
    }
    routes
}

fn path(section: &Reader<'_>, before: &[RouteConfig]) -> Pattern {
    const FORM: &str = r#"write one such as "/geocode", or "/tiles/*" for all that begins so"#;
    if !section.has("path") {
        section.problem("path", "`path` is missing", FORM);
    }
    let Some(text) = section.text("path") else {
        return Pattern::default();
    };
    let Some(path) = Pattern::parse(&text) else {
        section.problem("path", format!("{text:?} is not a path"), FORM);
        return Pattern::default();
    };
    if RESERVED.iter().any(|own| path.is_exactly(own)) {
        section.problem(
            "path",
            format!("{text} is the gateway's own"),
            "choose another",
        );
    }
    if before.iter().any(|route| route.path == path) {
        section.problem(
            "path",
            format!("{text} has a route already"),
            "keep one of them",
        );
    }
    path
}

fn chain(section: &Reader<'_>, providers: &[ProviderConfig], findings: &Findings) -> Vec<usize> {
    const FORM: &str = r#"write providers in the order they are asked, such as ["photon"]"#;
    if !section.has("chain") {
        section.problem("chain", "`chain` is missing", FORM);
    }
    let names = section.texts("chain");
    if names.as_ref().is_some_and(Vec::is_empty) {
        section.problem("chain", "there is nobody to ask", FORM);
    }
    let mut chain = Vec::new();
    for (at, name) in names.unwrap_or_default().iter().enumerate() {
        let wrong = |wrong: String, right: String| {
            let path = format!("{}/{at}", section.path("chain"));
            findings.problem(Problem { path, wrong, right });
        };
        match providers.iter().position(|p| p.target.provider == *name) {
            Some(provider) if chain.contains(&provider) => {
                wrong(
                    format!("{name} is in this chain already"),
                    "leave it out".into(),
                );
            }
            Some(provider) => chain.push(provider),
            None => wrong(
                format!("no provider is called {name:?}"),
                near(name, providers),
            ),
        }
    }
    chain
}

fn near(name: &str, providers: &[ProviderConfig]) -> String {
    let names: Vec<&str> = providers
        .iter()
        .map(|p| p.target.provider.as_str())
        .collect();
    match names.iter().find(|known| close(known, name)) {
        Some(near) => format!("did you mean {near:?}?"),
        None if names.is_empty() => "write [providers.NAME] first".into(),
        None => format!("known here: {}", names.join(", ")),
    }
}

fn methods(section: &Reader<'_>) -> Option<Vec<Method>> {
    const FORM: &str = r#"write methods in capitals, such as ["GET", "POST"]"#;
    let names = section.texts("methods")?;
    if names.is_empty() {
        section.problem("methods", "this route would take nothing", FORM);
    }
    let mut methods = Vec::new();
    for name in &names {
        match Method::from_bytes(name.as_bytes()) {
            Ok(method) if name.chars().all(|c| c.is_ascii_uppercase()) => methods.push(method),
            _ => section.problem("methods", format!("{name:?} is not a method"), FORM),
        }
    }
    Some(methods)
}

/// What nobody uses is likely a name that was changed in one place alone.
fn look_for_leftovers(
    providers: &[ProviderConfig],
    routes: &[RouteConfig],
    policy: &PolicyConfig,
    findings: &Findings,
) {
    let known = |name: &str| providers.iter().any(|p| p.target.provider == name);
    for (at, provider) in providers.iter().enumerate() {
        if !routes.iter().any(|route| route.chain.contains(&at)) {
            let name = &provider.target.provider;
            let right = "add it to a chain, or leave it out";
            findings.warn(
                format!("/providers/{}", escape(name)),
                "no route asks it".into(),
                right,
            );
        }
    }
    let settings: Value = serde_json::from_str(&policy.json).unwrap_or_default();
    let overrides = settings.get("providers").and_then(Value::as_object);
    for name in overrides.into_iter().flat_map(|names| names.keys()) {
        if !known(name) {
            let path = format!("/policy/providers/{}", escape(name));
            let wrong = format!("no provider is called {name:?}");
            findings.warn(path, wrong, &near(name, providers));
        }
    }
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn span(
    section: &Reader<'_>,
    key: &str,
    default_ms: u64,
    bounds: std::ops::RangeInclusive<u64>,
) -> Duration {
    Duration::from_millis(section.duration_ms(key, default_ms, bounds))
}

fn bytes(section: &Reader<'_>, key: &str, default: u64) -> usize {
    usize::try_from(section.whole(key, default, 0..=IN_MEMORY_MAX)).unwrap_or(usize::MAX)
}
