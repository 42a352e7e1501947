//! All decisions behind one value: the exports of `wit/`, over one configuration.

use serde::{Deserialize, Serialize};

use crate::breaker::{
    self, Admission, Context, DomainState, Ending, Event, Fact, OverrideError, OverrideOrder,
    Permit, Timing,
};
use crate::classify::{self, Explanation};
use crate::config::{Config, Problem};
use crate::observation::{Observation, Verdict, Wanted};
use crate::plan::{self, Progress, Step};
use crate::record;
use crate::store::{KeyValue, Suspended};
use crate::target::Target;

/// Who a policy is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Description {
    /// The policy's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The newest record schema that it reads and writes.
    pub record_schema: u32,
}

/// Fusewire's policy with a configuration.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    config: Config,
}

impl Policy {
    /// Who this policy is.
    #[must_use]
    pub fn describe() -> Description {
        Description {
            name: "fusewire".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            record_schema: record::SCHEMA,
        }
    }

    /// Sets the policy up with a JSON text. Where there is any problem nothing changes.
    pub fn configure(&mut self, json: &str) -> Vec<Problem> {
        match Config::from_json(json) {
            Ok(config) => {
                self.config = config;
                Vec::new()
            }
            Err(problems) => problems,
        }
    }

    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Judges one attempt.
    #[must_use]
    pub fn classify(&self, target: &Target, observation: &Observation) -> Verdict {
        classify::classify(self.config.settings(&target.provider), observation)
    }

    /// Judges one attempt as [`Policy::classify`] does, and tells which rules were tried.
    #[must_use]
    pub fn explain(&self, target: &Target, observation: &Observation) -> Explanation {
        classify::explain(self.config.settings(&target.provider), observation)
    }

    /// What [`Policy::classify`] looks at in the answers of this target.
    #[must_use]
    pub fn wanted(&self, target: &Target) -> Wanted {
        classify::wanted(self.config.settings(&target.provider))
    }

    /// Asks whether a call may be made now.
    ///
    /// # Errors
    /// [`Suspended`] where the store has not answered yet.
    pub fn admit(
        &self,
        store: &mut dyn KeyValue,
        target: &Target,
        context: &Context,
    ) -> Result<Admission, Suspended> {
        breaker::admit(&self.config, store, target, context)
    }

    /// Tells how an admitted call ended.
    ///
    /// # Errors
    /// [`Suspended`] where the store has not answered yet.
    pub fn settle(
        &self,
        store: &mut dyn KeyValue,
        permit: &Permit,
        ending: &Ending,
        timing: &Timing,
        context: &Context,
    ) -> Result<Vec<Event>, Suspended> {
        breaker::settle(&self.config, store, permit, ending, timing, context)
    }

    /// Tells that an admitted call is still under way [`Limits::overdue_ms`](breaker::Limits) after
    /// it was admitted.
    ///
    /// # Errors
    /// [`Suspended`] where the store has not answered yet.
    pub fn overdue(
        &self,
        store: &mut dyn KeyValue,
        permit: &Permit,
        context: &Context,
    ) -> Result<Vec<Event>, Suspended> {
        breaker::overdue(&self.config, store, permit, context)
    }

    /// Reads the state of a target's domains.
    ///
    /// # Errors
    /// [`Suspended`] where the store has not answered yet.
    pub fn inspect(
        &self,
        store: &mut dyn KeyValue,
        target: &Target,
        context: &Context,
    ) -> Result<Vec<DomainState>, Suspended> {
        breaker::inspect(&self.config, store, target, context)
    }

    /// Gives an operator's order for one domain; `None` clears it.
    ///
    /// # Errors
    /// The domain or the order is not valid, or the store did not do its part.
    pub fn order(
        &self,
        store: &mut dyn KeyValue,
        domain: &str,
        order: Option<&OverrideOrder>,
        context: &Context,
    ) -> Result<Vec<Event>, OverrideError> {
        breaker::order(&self.config, store, domain, order, context)
    }

    /// Tells why a domain stands as it does.
    ///
    /// # Errors
    /// The domain is not valid, or the store did not do its part.
    pub fn explain_domain(
        &self,
        store: &mut dyn KeyValue,
        domain: &str,
        context: &Context,
    ) -> Result<Vec<Fact>, OverrideError> {
        breaker::explain(&self.config, store, domain, context)
    }

    /// Decides the next step of a logical call.
    ///
    /// # Errors
    /// None yet: [`Suspended`] is for budgets that the fleet shares.
    pub fn next(
        &self,
        progress: &Progress,
        verdict: &Verdict,
        context: &Context,
    ) -> Result<Step, Suspended> {
        let settings = self.config.settings(&progress.target.provider);
        Ok(plan::next(settings, progress, verdict, context))
    }
}
