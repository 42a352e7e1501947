//! Which fleet is meant, and its policy.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use fusewire::core;
use fusewire::engine::{ComponentEngine, Limits, LoadError};
use fusewire::gateway::config::{self, Secret};
use fusewire::guard::DEFAULT_PREFIX;
use fusewire::policy::Artefact;
use serde_json::json;

use crate::command::environment::{self, STORE};

/// The configuration that is taken where none is named.
const DEFAULT_CONFIG: &str = "fusewire.toml";

/// Which fleet: that of a store and a prefix.
#[derive(Args)]
pub(super) struct PlaceArgs {
    /// The fleet's store, such as redis://127.0.0.1:6379
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    redis: Option<String>,
    /// What the fleet's keys begin with, where only a URL is given; `fusewire` where left out
    #[arg(long, value_name = "PREFIX", conflicts_with = "config")]
    prefix: Option<String>,
    /// A gateway's configuration, for its store, its prefix and its policy. Without this and
    /// --redis: the URL in the environment variable FUSEWIRE_STORE, or else ./fusewire.toml
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// What is to be known of a fleet.
pub(super) struct Place {
    pub(super) url: String,
    pub(super) prefix: String,
    /// The providers that its configuration names; none where there is no configuration.
    pub(super) providers: Vec<String>,
    pub(super) policy: Policy,
}

/// A fleet's policy, which decides nothing here but reads and writes what the fleet's hosts do.
pub(super) struct Policy {
    /// Its component; `None`: the one built in.
    component: Option<Artefact>,
    settings: String,
    limits: Limits,
}

impl Policy {
    /// Starts it. Blocks: it is compiled first.
    pub(super) fn start(&self) -> Result<ComponentEngine, LoadError> {
        match &self.component {
            None => ComponentEngine::built_in(&self.settings),
            Some(artefact) => {
                ComponentEngine::from_bytes(artefact.bytes(), &self.settings, self.limits)
            }
        }
    }
}

impl PlaceArgs {
    /// Finds out. Blocks: a policy of a configuration's is tried first.
    pub(super) fn find(&self) -> anyhow::Result<Place> {
        if let Some(file) = &self.config {
            return configured(file);
        }
        let url = self.redis.clone().filter(|url| !url.is_empty());
        if let Some(url) = url.or_else(environment::store) {
            return plain(url, self.prefix.as_deref().unwrap_or(DEFAULT_PREFIX));
        }
        let file = Path::new(DEFAULT_CONFIG);
        if !file.is_file() {
            bail!(
                "where is the fleet's store? --redis redis://…, --config FILE, {STORE}, \
                 or a {DEFAULT_CONFIG} in this folder"
            );
        }
        if self.prefix.is_some() {
            bail!(
                "--prefix goes with --redis: {DEFAULT_CONFIG}, which is used here, says itself \
                 what the keys begin with"
            );
        }
        configured(file)
    }
}

/// A fleet of which only its store is known: its settings are taken to be the usual ones.
fn plain(url: String, prefix: &str) -> anyhow::Result<Place> {
    let settings = json!({ "prefix": prefix });
    // The built-in policy is made of the same core as this host.
    if let Err(problems) = core::Config::from_value(&settings) {
        let why: Vec<String> = problems.iter().map(ToString::to_string).collect();
        bail!("--prefix {prefix:?}: {}", why.join("; "));
    }
    Ok(Place {
        url,
        prefix: prefix.to_owned(),
        providers: Vec::new(),
        policy: Policy {
            component: None,
            settings: settings.to_string(),
            limits: Limits::default(),
        },
    })
}

fn configured(file: &Path) -> anyhow::Result<Place> {
    let config = config::load(file)?;
    let named = file.display();
    let Some(url) = config.store.url.as_ref().map(Secret::reveal) else {
        bail!(
            "{named}: it has no `store.url`, so its breakers are in that gateway's own process, \
             where nobody else sees them"
        );
    };
    let url = url.map_err(|why| anyhow!("{named}: store.url: {why}"))?;
    if let Some(problem) = config.policy.problems.first() {
        bail!("{named}:{problem}");
    }
    let (rollout, policy) = (config.rollout, config.policy);
    let read = |file: &PathBuf| Artefact::read(file, rollout.largest);
    let component = policy.component.as_ref().map(read).transpose();
    let providers = config.providers.into_iter();
    Ok(Place {
        url,
        prefix: policy.prefix,
        providers: providers.map(|one| one.target.provider).collect(),
        policy: Policy {
            component: component.with_context(|| named.to_string())?,
            settings: policy.json,
            limits: rollout.limits,
        },
    })
}
