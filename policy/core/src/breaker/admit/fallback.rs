//! What is done while the store is out of reach, or refuses.

use super::super::event_of;
use super::super::types::{Decision, Event, EventKind, Limits, Refusal, RefusalReason};
use super::{Call, Decided, SOON_MS};
use crate::config::StoreFailure;
use crate::store::{Session, Stop};
use crate::target::Domain;

impl Call<'_> {
    /// What is done while the store is out of reach, or refuses.
    pub(super) fn without_store(
        &self,
        session: &mut Session<'_>,
        why: String,
        events: &mut Vec<Event>,
    ) -> Result<Decided, Stop> {
        let domain = self.domains.first();
        let mut told = |detail: &str| {
            let kind = EventKind::Store(why.clone());
            events.extend(domain.map(|d| event_of(d, self.context, kind, detail.into())));
        };
        let decision = match self.settings.breaker.store_failure {
            StoreFailure::Allow => {
                told("allowed, since the store did not answer");
                self.unshared()
            }
            StoreFailure::Deny => {
                told("refused, since the store did not answer");
                Decision::Refused(Refusal {
                    domain: domain.map(Domain::name).unwrap_or_default(),
                    reason: RefusalReason::Store,
                    retry_after_ms: SOON_MS,
                    detail: format!("{why}, and calls are refused without it"),
                })
            }
            StoreFailure::Local => {
                told("decided by this instance alone, since the store did not answer");
                let mut decided = self.ask(session, self.places(true), events)?;
                // The fleet has the word again as soon as the store is back.
                decided.holds_until_ms = self.context.now_ms;
                return Ok(decided);
            }
        };
        Ok(Decided {
            decision,
            holds_until_ms: self.context.now_ms,
            limits: Limits::default(),
        })
    }
}
