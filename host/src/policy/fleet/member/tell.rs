//! What a host tells: the other hosts and operators through the store, people through the log.

use super::{Host, Member, Seen};
use crate::policy::fleet::access::{get_all, json};
use crate::policy::fleet::report::{
    HostReport, REPORT_EVERY_MS, REPORT_TTL_MS, Runs, Saying, Step, list_with,
};
use crate::policy::fleet::wanted::{Mark, Wanted};
use crate::store::StoreError;

impl<H: Host> Member<H> {
    /// Writes the report, where there is something new in it or the last is getting old.
    pub(super) async fn report(
        &mut self,
        seen: &Seen,
        wanted: Option<&Wanted>,
        saying: Saying,
    ) -> Result<(), StoreError> {
        // After a restart what was said before is in the store.
        let stored = || {
            seen.own
                .as_deref()
                .and_then(|own| HostReport::read(own).ok())
        };
        let before = self.reported.take().or_else(stored);
        let serving = self.host.status().serving;
        let runs = Runs {
            digest: serving.digest,
            name: serving.name,
            version: serving.version,
            generation: serving.generation,
        };
        let now_ms = self.store.now_ms();
        let report = HostReport::new(
            &self.instance,
            runs,
            wanted,
            saying,
            before.as_ref(),
            now_ms,
        );
        let is_news = seen.own.is_none()
            || before.as_ref().is_none_or(|before| {
                !report.says_the_same_as(before) || now_ms.abs_diff(before.at_ms) >= REPORT_EVERY_MS
            });
        if !is_news {
            self.reported = before;
            return Ok(());
        }
        let Ok(bytes) = json(&report) else {
            // Its texts are short, so that it fits.
            return Ok(());
        };
        let key = self.keys.host(&self.instance);
        let swap = self
            .store
            .swap(key, seen.own.clone(), Some(bytes), REPORT_TTL_MS);
        // Where it was replaced meanwhile (by another host with the same id), the next look
        // writes it again.
        if swap.wait().await? {
            self.reported = Some(report);
        }
        Ok(())
    }

    /// Puts this host into the list, where it is missing. Those that are gone are left out.
    pub(super) async fn enlist(&mut self, seen: &Seen) -> Result<(), StoreError> {
        if seen.hosts.contains(&self.instance) {
            return Ok(());
        }
        let keys = seen.hosts.iter().map(|host| self.keys.host(host)).collect();
        let reports = get_all(&self.store, keys).await?;
        let live = seen
            .hosts
            .iter()
            .zip(reports)
            .filter(|(_, report)| report.is_some());
        let live = live.map(|(host, _)| host.clone()).collect();
        let Some(list) = list_with(live, &self.instance) else {
            self.said.no_room();
            return Ok(());
        };
        let swap = self
            .store
            .swap(self.keys.hosts(), seen.listed.clone(), Some(list), 0);
        swap.wait().await.map(|_| ())
    }
}

/// What was logged last: each is logged again when it changes.
#[derive(Default)]
pub(super) struct Said {
    of_store: Option<String>,
    of_wanted: Option<(Option<Mark>, Step, String)>,
    no_room: bool,
}

impl Said {
    /// The store is away, for this reason, or there.
    pub(super) fn of_store(&mut self, trouble: Option<String>) {
        match (&trouble, &self.of_store) {
            (Some(why), None) => tracing::warn!("what the fleet is to run is not known: {why}"),
            (None, Some(_)) => tracing::info!("what the fleet is to run is known again"),
            _ => {}
        }
        self.of_store = trouble;
    }

    fn no_room(&mut self) {
        if !std::mem::replace(&mut self.no_room, true) {
            tracing::warn!("the fleet's list has no room for this host: its status is not shown");
        }
    }

    /// How far this host is: what the rollout itself knows nothing of.
    pub(super) fn of(&mut self, wanted: Option<&Wanted>, saying: &Saying) {
        let said = (wanted.map(Wanted::mark), saying.step, saying.why.clone());
        if self.of_wanted.as_ref() == Some(&said) {
            return;
        }
        let before = self.of_wanted.replace(said);
        let step = saying.step.name();
        if let Some(wanted) = wanted
            && before.is_none_or(|(mark, ..)| mark != Some(wanted.mark()))
        {
            tracing::info!(
                policy = %wanted.policy.digest.short(),
                revision = wanted.revision,
                by = wanted.by,
                "the fleet is to run {}",
                wanted.policy.title()
            );
        }
        match saying.step {
            Step::Waiting | Step::Held => tracing::info!("{step}: {}", saying.why),
            Step::Fetching | Step::Unreadable | Step::Replaced => {
                tracing::warn!("{step}: {}", saying.why);
            }
            _ => {}
        }
    }
}
