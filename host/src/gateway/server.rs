//! A gateway from its start to its stop.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use fusewire_core::Target;
use http::{HeaderName, HeaderValue, header};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::admin;
use super::call::{self, Provider, Route};
use super::config::{Config, ExchangeConfig, ProviderConfig, RolloutConfig, Secret, StoreConfig};
use super::exchange::{self, Terms};
use super::policy::{Policy, Replacing};
use super::upstream::Upstream;
use crate::engine::Engine;
use crate::guard::{Guard, Observer};
use crate::logging::TransitionLog;
use crate::metrics::{CONTENT_TYPE, Metrics};
use crate::policy::Rollout;
use crate::store::redis::{ClockWatch, RedisLimits};
use crate::store::{MemoryStore, MergedStore, RedisStore, Store, WatchedStore};

/// How long what was given up at the end of the grace may take to say so.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Why a gateway cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The policy cannot be loaded, and there is no other to start with.
    #[error("the policy cannot be loaded: {0}")]
    Policy(String),
    /// A setting cannot be used on this machine, as the text says.
    #[error("{setting}: {why}")]
    Setting {
        /// The setting, as in the configuration.
        setting: String,
        /// Why.
        why: String,
    },
}

fn unusable(setting: impl Into<String>) -> impl FnOnce(String) -> StartError {
    |why| StartError::Setting {
        setting: setting.into(),
        why,
    }
}

/// Runs a gateway until `shutdown` is done, and then stops it as [`Gateway::stop`] does.
///
/// # Errors
/// It cannot start.
pub async fn serve(config: Config, shutdown: impl Future<Output = ()>) -> Result<(), StartError> {
    let gateway = Gateway::builder(config).start().await?;
    let metrics = gateway.admin.unwrap_or(gateway.address);
    tracing::info!("listening on {}, metrics at {metrics}", gateway.address);
    shutdown.await;
    gateway.stop().await;
    Ok(())
}

/// A gateway that is listening. Dropping it stops it as well, without waiting for anything.
pub struct Gateway {
    address: SocketAddr,
    admin: Option<SocketAddr>,
    shared: Arc<Shared>,
    grace: Duration,
    phase: watch::Sender<Phase>,
    servers: JoinSet<io::Result<()>>,
    /// What looks for other policies, for as long as the gateway is there.
    _replacing: Option<Replacing>,
}

/// What the handlers share.
pub(super) struct Shared {
    pub(super) guard: Guard,
    pub(super) routes: Vec<Route>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) request_limit: usize,
    /// `None`: the policy was given by whoever built this.
    pub(super) rollout: Option<Rollout>,
    targets: Vec<Target>,
    phase: watch::Receiver<Phase>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Running,
    /// Nothing new is taken; what is in flight may go on.
    Stopping,
    /// What is still in flight is given up.
    OutOfGrace,
}

impl Shared {
    /// Waits until requests in flight are to be given up. Cancel-safe.
    pub(super) async fn out_of_grace(&self) {
        reached(self.phase.clone(), Phase::OutOfGrace).await;
    }
}

async fn reached(mut phase: watch::Receiver<Phase>, at_least: Phase) {
    // An error says that the gateway was dropped.
    let _ = phase.wait_for(|phase| *phase >= at_least).await;
}

/// What a gateway is made of, where it is not what the configuration says.
pub struct Builder {
    config: Config,
    engine: Option<Arc<dyn Engine>>,
    store: Option<Arc<dyn Store>>,
    observers: Vec<Arc<dyn Observer>>,
}

impl Builder {
    /// Uses this policy.
    #[must_use]
    pub fn engine(mut self, engine: Arc<dyn Engine>) -> Self {
        self.engine = Some(engine);
        self
    }

    /// Uses this store.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Adds someone who is told what happens, besides the metrics and the log.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observers.push(observer);
        self
    }

    /// Starts to listen. Once this is done, a request that comes in is answered.
    ///
    /// # Errors
    /// An address is taken, the policy cannot be loaded, or a setting cannot be used here.
    pub async fn start(self) -> Result<Gateway, StartError> {
        let config = self.config;
        let (listener, address) = bind(config.listen).await?;
        let admin = match config.admin {
            Some(admin) => Some(bind(admin).await?),
            None => None,
        };
        let (engine, policy) = match self.engine {
            Some(engine) => (engine, None),
            None => {
                let policy = Policy::load(&config).await?;
                (policy.engine(), Some(policy))
            }
        };
        let (store, watched) = match self.store {
            Some(store) => (store, None),
            None => store(&config.store, config.live_domains).await?,
        };
        let targets: Vec<Target> = config.providers.iter().map(|p| p.target.clone()).collect();
        let metrics = Metrics::new(&targets, Arc::clone(&store), watched);
        let metrics = Arc::new(metrics.live_domains(config.live_domains));

        let mut guard = Guard::builder(engine, store)
            .prefix(&config.policy.prefix)
            .patience(config.store.timeout)
            .observer(Arc::clone(&metrics) as Arc<dyn Observer>)
            .observer(Arc::new(TransitionLog));
        if let Some(instance) = &config.instance {
            guard = guard.instance(instance.as_str());
        }
        let guard = self
            .observers
            .into_iter()
            .fold(guard, |guard, observer| guard.observer(observer))
            .build();

        let replacing = policy.map(|policy| policy.begin(&guard, &config));
        if let Some(replacing) = &replacing {
            metrics.follow(replacing.rollout.watch());
        }
        let rollout = replacing.as_ref().map(|r| r.rollout.clone());

        let (sender, phase) = watch::channel(Phase::Running);
        let shared = Arc::new(Shared {
            guard,
            routes: routes(&config)?,
            metrics,
            request_limit: config.request_limit,
            rollout,
            targets,
            phase,
        });
        let mut servers = JoinSet::new();
        let mut router = callers(&shared, admin.is_none());
        if let Some(exchange) = &config.exchange {
            router = router.merge(exchanges(&shared, exchange, &config.policy.prefix)?);
        }
        run(&mut servers, listener, router, &shared);
        let operators = operators(&shared).merge(replacement(&shared, &config.rollout)?);
        let admin = admin.map(|(listener, address)| {
            run(&mut servers, listener, operators, &shared);
            address
        });
        Ok(Gateway {
            address,
            admin,
            shared,
            grace: config.grace,
            phase: sender,
            servers,
            _replacing: replacing,
        })
    }
}

impl Gateway {
    /// Begins a gateway.
    #[must_use]
    pub fn builder(config: Config) -> Builder {
        Builder {
            config,
            engine: None,
            store: None,
            observers: Vec::new(),
        }
    }

    /// Where callers come in. With port 0 configured, the port that was free.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where operators come in, if that is elsewhere.
    #[must_use]
    pub fn admin(&self) -> Option<SocketAddr> {
        self.admin
    }

    /// What guards its calls.
    #[must_use]
    pub fn guard(&self) -> &Guard {
        &self.shared.guard
    }

    /// What replaces its policy; `None`: it was given one.
    #[must_use]
    pub fn rollout(&self) -> Option<&Rollout> {
        self.shared.rollout.as_ref()
    }

    /// What it counts.
    #[must_use]
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.shared.metrics
    }

    /// Stops in good order: takes nothing new, lets what is in flight end within the grace, gives
    /// up the rest (which reports it as dropped), and waits until the policy knows of everything.
    pub async fn stop(mut self) {
        self.phase.send_replace(Phase::Stopping);
        let mut ended = async || while self.servers.join_next().await.is_some() {};
        if tokio::time::timeout(self.grace, ended()).await.is_err() {
            tracing::warn!("requests in flight are given up: the grace is over");
            self.phase.send_replace(Phase::OutOfGrace);
            let _ = tokio::time::timeout(LAST_WORDS, ended()).await;
        }
        self.shared.guard.settled().await;
    }
}

async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let bound = async {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        Ok((listener, bound))
    };
    bound
        .await
        .map_err(|error| StartError::Listen { address, error })
}

fn run(
    servers: &mut JoinSet<io::Result<()>>,
    listener: TcpListener,
    router: Router,
    shared: &Shared,
) {
    let stopping = reached(shared.phase.clone(), Phase::Stopping);
    let server = axum::serve(listener, router).with_graceful_shutdown(stopping);
    servers.spawn(server.into_future());
}

fn callers(shared: &Arc<Shared>, with_metrics: bool) -> Router {
    let mut router = Router::new().route("/healthz", get(health));
    if with_metrics {
        router = router.route("/metrics", get(metrics));
    }
    router.fallback(call::handle).with_state(Arc::clone(shared))
}

/// Where filters in Envoy come in.
fn exchanges(
    shared: &Arc<Shared>,
    config: &ExchangeConfig,
    prefix: &str,
) -> Result<Router, StartError> {
    let token = config.token.as_ref().map(Secret::reveal).transpose();
    let terms = Arc::new(Terms {
        prefix: prefix.to_owned(),
        token: token.map_err(unusable("exchange.token"))?,
    });
    Ok(Router::new()
        .route(&config.path, post(exchange::handle))
        .with_state((Arc::clone(shared), terms)))
}

fn operators(shared: &Arc<Shared>) -> Router {
    Router::new()
        .route("/healthz", get(health))
        .route("/metrics", get(metrics))
        .with_state(Arc::clone(shared))
}

/// A gateway without its store still does its work, so it is healthy, and says so.
async fn health(State(shared): State<Arc<Shared>>) -> ([(HeaderName, &'static str); 1], String) {
    let guard = &shared.guard;
    let generation = guard.generations().active();
    let policy = generation.describe();
    let state = json!({
        "status": "ok",
        "store": guard.store().mode().name(),
        "instance": guard.instance(),
        "policy": format!("{} {}", policy.name, policy.version),
    });
    (
        [(header::CONTENT_TYPE, "application/json")],
        state.to_string(),
    )
}

async fn metrics(State(shared): State<Arc<Shared>>) -> ([(HeaderName, &'static str); 1], String) {
    let metrics = &shared.metrics;
    metrics.look(&shared.guard, &shared.targets).await;
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], metrics.text())
}

/// Where operators look at the policy, and replace it.
fn replacement(shared: &Arc<Shared>, config: &RolloutConfig) -> Result<Router, StartError> {
    let Some(rollout) = &shared.rollout else {
        return Ok(Router::new());
    };
    let token = config.token.as_ref().map(Secret::reveal).transpose();
    let token = token.map_err(unusable("rollout.token"))?;
    Ok(admin::router(rollout.clone(), token, config.largest))
}

/// The store, and again as what watches it where it is not in this process.
type Stores = (Arc<dyn Store>, Option<Arc<WatchedStore>>);

async fn store(config: &StoreConfig, live_domains: usize) -> Result<Stores, StartError> {
    let Some(url) = &config.url else {
        let memory = MemoryStore::new().live_domains(live_domains);
        return Ok((Arc::new(memory), None));
    };
    let url = url.reveal().map_err(unusable("store.url"))?;
    let clock = ClockWatch {
        warning: config.clock_warning,
        ..ClockWatch::default()
    };
    let redis = RedisStore::connect_with(&url, RedisLimits::default(), clock)
        .await
        .map_err(|error| unusable("store.url")(error.to_string()))?;
    let watched = WatchedStore::new(Arc::new(redis), config.timeout);
    let watched = Arc::new(watched);
    let merged = MergedStore::new(Arc::clone(&watched) as Arc<dyn Store>);
    Ok((Arc::new(merged), Some(watched)))
}

fn routes(config: &Config) -> Result<Vec<Route>, StartError> {
    let providers: Vec<Arc<Provider>> = config
        .providers
        .iter()
        .map(|config| provider(config).map(Arc::new))
        .collect::<Result<_, _>>()?;
    let route = |route: &super::config::RouteConfig| Route {
        path: route.path.clone(),
        chain: route
            .chain
            .iter()
            .filter_map(|at| providers.get(*at).cloned())
            .collect(),
        methods: route.methods.clone(),
        deadline: route.deadline,
    };
    Ok(config.routes.iter().map(route).collect())
}

fn provider(config: &ProviderConfig) -> Result<Provider, StartError> {
    let name = &config.target.provider;
    let field = |(field, secret): &(HeaderName, Secret)| {
        let setting = format!("providers.{name}.headers.{field}");
        let value = secret.reveal().and_then(|value| {
            HeaderValue::from_str(&value).map_err(|_| "no field may have this value".to_owned())
        });
        let mut value = value.map_err(unusable(setting))?;
        value.set_sensitive(true);
        Ok((field.clone(), value))
    };
    let upstream = Upstream::new(
        config.url.is_tls(),
        config.limits,
        config.redirects,
        config.buffer,
    );
    Ok(Provider {
        target: config.target.clone(),
        url: config.url.clone(),
        headers: config
            .headers
            .iter()
            .map(field)
            .collect::<Result<_, StartError>>()?,
        upstream: upstream
            .map_err(|failure| unusable(format!("providers.{name}"))(failure.cause))?,
    })
}
