//! The gateway's configuration: a TOML file, checked as a whole, every problem at its place.
//!
//! | module | subject |
//! |---|---|
//! | [`finding`] | a problem or a warning, at its line and column |
//! | [`mod@load`] | from a file to a [`Config`], or to all that is wrong with it |
//! | [`secret`] | a value that may be in the environment, and is never printed |
//! | `read` | the file as a whole, and its smaller sections |
//! | `providers`, `routes`, [`rollout`] | its larger ones |
//!
//! `host/fusewire.example.toml` shows every setting, and a test keeps it valid.

pub mod finding;
pub mod load;
mod providers;
mod read;
pub mod rollout;
mod routes;
pub mod secret;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use fusewire_core::Target;
use http::{HeaderName, Method};

use super::routes::Pattern;
use super::template::Template;
use super::upstream::Limits;
use crate::policy::Digest;

pub use self::finding::{CheckError, Finding};
pub use self::load::{load, parse};
pub use self::rollout::RolloutConfig;
pub use self::secret::Secret;

/// Everything that `fusewire serve` is configured with.
#[derive(Debug, Clone)]
pub struct Config {
    /// What it was read from; `None`: no file.
    pub source: Option<Source>,
    /// Where callers come in.
    pub listen: SocketAddr,
    /// Where `/metrics` is; `None`: where the callers come in.
    pub admin: Option<SocketAddr>,
    /// This host's id, distinct in the fleet; `None`: a random one.
    pub instance: Option<String>,
    /// The longest body of a request, in bytes.
    pub request_limit: usize,
    /// How long requests in flight may go on once the gateway is to stop.
    pub grace: Duration,
    /// How many domains this process keeps something of.
    pub live_domains: usize,
    /// The fleet's store.
    pub store: StoreConfig,
    /// The policy.
    pub policy: PolicyConfig,
    /// Whose policies may run, and how one takes the place of another.
    pub rollout: RolloutConfig,
    /// Whether and where filters in Envoy exchange records and counts with the fleet's store.
    pub exchange: Option<ExchangeConfig>,
    /// The providers, in order of their names.
    pub providers: Vec<ProviderConfig>,
    /// The routes, as in the file.
    pub routes: Vec<RouteConfig>,
    /// What is not wrong, and likely not meant.
    pub warnings: Vec<Finding>,
}

/// What a configuration was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub file: PathBuf,
    /// The digest of its text. Not the text: it may have a password in it.
    pub text: Digest,
}

/// The fleet's store.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// Where Redis is; `None`: this process alone, in memory.
    pub url: Option<Secret>,
    /// How long a question to the store may take.
    pub timeout: Duration,
    /// How far this host's clock may be off the store's before it is said.
    pub clock_warning: Duration,
}

/// Where filters in Envoy exchange records and counts with the fleet's store.
#[derive(Debug, Clone)]
pub struct ExchangeConfig {
    /// The path.
    pub path: String,
    /// What they have to know, as a bearer token; `None`: nothing, so whoever reaches the address
    /// can change what the fleet believes.
    pub token: Option<Secret>,
}

/// The policy.
#[derive(Debug, Clone)]
pub struct PolicyConfig {
    /// The component's file; `None`: the built-in one.
    pub component: Option<PathBuf>,
    /// Its configuration, a JSON text.
    pub json: String,
    /// What its keys begin with.
    pub prefix: String,
    /// Why the component cannot be used, where it cannot: a host that has kept its last good policy
    /// starts with that one.
    pub problems: Vec<Finding>,
}

/// One provider.
#[derive(Debug, Clone)]
pub struct ProviderConfig {
    /// Its failure domains. The provider's name there is its name in the file.
    pub target: Target,
    /// Where it is asked.
    pub url: Template,
    /// Its time limits.
    pub limits: Limits,
    /// Fields that every request to it has, in place of the caller's.
    pub headers: Vec<(HeaderName, Secret)>,
    /// How many redirects are followed.
    pub redirects: usize,
    /// How many bytes of an answer are kept back, so that one which breaks off within them is the
    /// next provider's turn.
    pub buffer: usize,
}

/// One route.
#[derive(Debug, Clone)]
pub struct RouteConfig {
    /// Which paths it takes.
    pub path: Pattern,
    /// The providers in the order in which they are asked, as places in [`Config::providers`].
    pub chain: Vec<usize>,
    /// Which methods it takes; `None`: all.
    pub methods: Option<Vec<Method>>,
    /// The longest that the whole call may last; `None`: as long as its attempts.
    pub deadline: Option<Duration>,
}

impl Config {
    /// Whom a route asks, in order.
    pub fn chain<'a>(
        &'a self,
        route: &'a RouteConfig,
    ) -> impl Iterator<Item = &'a ProviderConfig> + 'a {
        route.chain.iter().filter_map(|at| self.providers.get(*at))
    }
}
