//! The file as a whole, and its smaller sections.
//!
//! Each reads what it can and notes what it cannot, so that one pass finds everything. What a
//! section answers is complete, with defaults in place of what is wrong; it is used only where
//! nothing was.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use fusewire_core::Problem;
use fusewire_core::config::Reader;
use serde_json::Value;

use super::providers::{near, providers};
use super::routes::routes;
use super::{
    Config, ExchangeConfig, PolicyConfig, ProviderConfig, RolloutConfig, RouteConfig, Secret,
    StoreConfig,
};
use crate::guard::STORE_PATIENCE;
use crate::live::LIVE_DOMAINS;
use crate::store::redis::CLOCK_WARNING;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
pub(super) const HOUR: u64 = 60 * MINUTE;

/// Where callers come in by default: this machine alone.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8700);
/// Where exchanges are answered by default.
const EXCHANGE_PATH: &str = "/fusewire/exchange";
/// What the gateway answers in any case.
const OWN_PATHS: [&str; 2] = ["/healthz", "/metrics"];
/// The longest body of a request by default, in bytes: it is kept for the next attempt.
const REQUEST_LIMIT: u64 = 1 << 20;
/// The most that may be set for either, in bytes: each request in flight may need it.
const IN_MEMORY_MAX: u64 = 64 << 20;

/// Below, a chain of a few providers with accounts would not fit; above, it is gigabytes.
const LIVE_DOMAINS_SPAN: RangeInclusive<u64> = 100..=10_000_000;

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

    pub(super) fn warn(&self, path: String, wrong: String, right: &str) {
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
pub(super) fn config(
    root: &Reader<'_>,
    policy: PolicyConfig,
    rollout: RolloutConfig,
    findings: &Findings,
) -> Config {
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
    let live_domains = root.whole("live-domains", LIVE_DOMAINS as u64, LIVE_DOMAINS_SPAN);
    let store = store(root, findings);
    let exchange = root
        .has("exchange")
        .then(|| exchange(root, listen, findings));
    if exchange.is_none() {
        // A name that may stand there.
        let _ = root.value("exchange");
    }
    let providers = providers(root, findings);
    let routes = routes(root, &providers, findings);
    look_for_leftovers(&providers, &routes, &policy, findings);
    Config {
        source: None,
        listen,
        admin,
        instance,
        request_limit,
        grace,
        live_domains: usize::try_from(live_domains).unwrap_or(usize::MAX),
        store,
        policy,
        rollout,
        exchange,
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
    let warning = u64::try_from(CLOCK_WARNING.as_millis()).unwrap_or(u64::MAX);
    let clock_warning = span(&section, "clock-warning", warning, 10..=24 * HOUR);
    section.finish();
    StoreConfig {
        url,
        timeout,
        clock_warning,
    }
}

fn exchange(root: &Reader<'_>, listen: SocketAddr, findings: &Findings) -> ExchangeConfig {
    let section = root.object("exchange");
    let path = section.text("path").unwrap_or(EXCHANGE_PATH.into());
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~".contains(&b);
    if !path.starts_with('/') || path.len() < 2 || !path.bytes().all(plain) {
        let wrong = format!("{path:?} is not a path that can be used here");
        let right = format!("write one such as {EXCHANGE_PATH:?}, of letters, digits and -._~/");
        section.problem("path", wrong, right);
    } else if OWN_PATHS.contains(&path.as_str()) {
        section.problem("path", "the gateway answers here", "choose another");
    }
    let token = section.text("token").map(Secret::new);
    match token.as_ref().map(Secret::reveal) {
        Some(Err(unset)) => findings.warn(section.path("token"), unset, "set it before `serve`"),
        Some(Ok(token)) if token.is_empty() => {
            section.problem("token", "it is empty", "write a token, or leave it out");
        }
        None if !listen.ip().is_loopback() => findings.warn(
            section.path("token"),
            format!("whoever reaches {listen} can change what the fleet believes"),
            "set a token, the same as in the filters",
        ),
        _ => {}
    }
    section.finish();
    ExchangeConfig { path, token }
}

fn is_redis(url: &str) -> bool {
    redis::parse_redis_url(url).is_some()
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

/// A time, with bounds in ms.
pub(super) fn span(
    section: &Reader<'_>,
    key: &str,
    default_ms: u64,
    bounds: RangeInclusive<u64>,
) -> Duration {
    Duration::from_millis(section.duration_ms(key, default_ms, bounds))
}

/// A number of bytes that are kept in memory.
pub(super) fn bytes(section: &Reader<'_>, key: &str, default: u64) -> usize {
    usize::try_from(section.whole(key, default, 0..=IN_MEMORY_MAX)).unwrap_or(usize::MAX)
}
