//! Which fleet, and who gives it orders.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use fusewire::gateway::config::{self, Secret};
use fusewire::guard::DEFAULT_PREFIX;
use fusewire::policy::fleet::{Operator, Order};
use fusewire::store::RedisStore;

use crate::command::environment;

/// Which fleet: that of a store and a prefix.
#[derive(Args)]
pub(super) struct PlaceArgs {
    /// The fleet's store, such as redis://127.0.0.1:6379; the environment variable FUSEWIRE_STORE
    /// where left out
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    store: Option<String>,
    /// What the keys of the policies begin with
    #[arg(long, value_name = "PREFIX", default_value = DEFAULT_PREFIX, conflicts_with = "config")]
    prefix: String,
    /// A gateway's configuration, to take both from
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Who gives an order.
#[derive(Args)]
pub(super) struct ByArgs {
    /// Who gives the order; where left out, the environment variable FUSEWIRE_WHO, or else USER@HOST
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

/// Who gives an order, and what there is to say of it.
#[derive(Args)]
pub(super) struct SigningArgs {
    #[command(flatten)]
    by: ByArgs,
    /// What there is to say of it, for those who look at the status
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

impl PlaceArgs {
    /// Connects to the fleet's store.
    pub(super) async fn operator(&self) -> anyhow::Result<Operator> {
        let (url, prefix) = self.url_and_prefix()?;
        let store = RedisStore::connect(&url).await?;
        Ok(Operator::new(Arc::new(store), &prefix))
    }

    fn url_and_prefix(&self) -> anyhow::Result<(String, String)> {
        let Some(file) = &self.config else {
            let url = self.store.clone().filter(|url| !url.is_empty());
            let url = url.or_else(environment::store).with_context(|| {
                let variable = environment::STORE;
                format!("where is the fleet's store? --store redis://…, --config fusewire.toml, or {variable}")
            })?;
            return Ok((url, self.prefix.clone()));
        };
        let config = config::load(file)?;
        let Some(url) = config.store.url.as_ref().map(Secret::reveal) else {
            let file = file.display();
            bail!("{file}: a gateway without `store.url` is in no fleet");
        };
        let url = url.map_err(|why| anyhow!("{}: store.url: {why}", file.display()))?;
        Ok((url, config.policy.prefix))
    }
}

impl ByArgs {
    pub(super) fn name(&self) -> String {
        self.by.clone().unwrap_or_else(environment::someone)
    }
}

impl SigningArgs {
    pub(super) fn order(&self) -> Order {
        Order {
            by: self.by.name(),
            note: self.note.clone(),
            canary: None,
        }
    }
}
