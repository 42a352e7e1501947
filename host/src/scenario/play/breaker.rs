//! Admit, settle, plan: what the callers of the fleet do.

use fusewire_core::{
    Admission, Context, Decision, Ending, Observation, Permit, Progress, Target, Timing, Verdict,
};
use serde_json::json;

use super::turn::Turn;
use super::{Player, Stopped, Under, name};
use crate::engine::{Answer, Call};
use crate::scenario::runtime::Runtime;
use crate::scenario::script::{Asking, Ended, Expected, Planned, START_MS};
use crate::scenario::{check, words};

impl<R: Runtime> Player<'_, R> {
    pub(super) async fn admit(
        &mut self,
        now: &mut Turn<'_>,
        asking: &Asking,
    ) -> Result<(), Stopped> {
        now.doing = format!("{} asks for {}", now.context.instance, name(&asking.target));
        self.ask_to_admit(now, asking, asking.expect.as_ref())
            .await?;
        self.look_at(now, &asking.target).await
    }

    pub(super) async fn settle(
        &mut self,
        now: &mut Turn<'_>,
        call: &str,
        ended: &Ended,
    ) -> Result<(), Stopped> {
        now.doing = format!("{} settles `{call}`", now.context.instance);
        let Some((permit, fingerprint, overdue)) = self.under_way(call) else {
            let found = "it was refused, so there is nothing to settle".to_owned();
            now.differ("settle", Some((format!("`{call}` was admitted"), found)));
            return Ok(());
        };
        let target = permit.target.clone();
        now.context.fingerprint = fingerprint;
        let verdict = self.tell(now, permit, ended, overdue).await?;
        if let Some(under) = self.admitted.get_mut(call) {
            under.verdict = verdict;
        }
        self.look_at(now, &target).await
    }

    /// Tells that a call is still under way.
    pub(super) async fn overdue(&mut self, now: &mut Turn<'_>, call: &str) -> Result<(), Stopped> {
        now.doing = format!("{} still waits for `{call}`", now.context.instance);
        let Some((permit, fingerprint, _)) = self.under_way(call) else {
            let found = "it was refused, so it is not under way".to_owned();
            now.differ("overdue", Some((format!("`{call}` was admitted"), found)));
            return Ok(());
        };
        let target = permit.target.clone();
        now.home.clone_from(&target.provider);
        now.context.fingerprint = fingerprint;
        let answer = self
            .ask(now, Call::Overdue(permit, now.context.clone()))
            .await?;
        let Answer::Settled(events) = answer else {
            return Err(self.confused(now));
        };
        now.line.say("events", &events);
        now.happened(&events);
        if let Some(under) = self.admitted.get_mut(call) {
            under.overdue = true;
        }
        self.look_at(now, &target).await
    }

    /// The permit of a call, its request's fingerprint, and whether it was told of as overdue.
    fn under_way(&self, call: &str) -> Option<(Permit, Option<u64>, bool)> {
        let under = self.admitted.get(call)?;
        Some((under.permit.clone()?, under.fingerprint, under.overdue))
    }

    pub(super) async fn call(
        &mut self,
        now: &mut Turn<'_>,
        asking: &Asking,
        ended: Option<&Ended>,
    ) -> Result<(), Stopped> {
        now.doing = format!("{} calls {}", now.context.instance, name(&asking.target));
        let expect = asking.expect.as_ref().unwrap_or(&Expected::Admitted);
        let admission = self.ask_to_admit(now, asking, Some(expect)).await?;
        if let (Decision::Allowed(permit), Some(ended)) = (admission.decision, ended) {
            now.context.entropy = now.more_entropy;
            now.context.fingerprint = asking.fingerprint;
            let verdict = self.tell(now, permit, ended, false).await?;
            if let Some(under) = asking
                .name
                .as_ref()
                .and_then(|name| self.admitted.get_mut(name))
            {
                under.verdict = verdict;
            }
        }
        self.look_at(now, &asking.target).await
    }

    pub(super) async fn forge(
        &mut self,
        now: &mut Turn<'_>,
        permit: &Permit,
        ended: &Ended,
    ) -> Result<(), Stopped> {
        let (by, of) = (&now.context.instance, name(&permit.target));
        now.doing = format!("{by} settles a forged permit {:?} of {of}", permit.token);
        self.tell(now, permit.clone(), ended, false).await?;
        self.look_at(now, &permit.target).await
    }

    pub(super) async fn next(
        &mut self,
        now: &mut Turn<'_>,
        planned: &Planned,
    ) -> Result<(), Stopped> {
        let Planned { name: call, .. } = planned;
        now.doing = format!("{} asks what comes after `{call}`", now.context.instance);
        let under = self.admitted.get(call);
        let Some((permit, verdict)) =
            under.and_then(|under| Some((under.permit.clone()?, under.verdict.clone()?)))
        else {
            let found = "it was refused, dropped, or not settled yet".to_owned();
            now.differ("next", Some((format!("`{call}` has a verdict"), found)));
            return Ok(());
        };
        let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let progress = Progress {
            target: permit.target,
            attempts: small(planned.attempts),
            attempts_in_all: small(planned.attempts_in_all.unwrap_or(planned.attempts)),
            providers_left: small(planned.providers_left),
            probe: permit.probe,
            deadline_ms: planned.deadline_ms.map(|ms| START_MS.saturating_add(ms)),
        };
        let answer = self
            .ask(now, Call::Next(progress, verdict, now.context.clone()))
            .await?;
        let Answer::Step(step) = answer else {
            return Err(self.confused(now));
        };
        now.line.say("next", &step);
        now.said.push(check::step(&step));
        if let Some(expected) = planned.expect {
            now.differ("expect", check::next_step(expected, &step));
        }
        Ok(())
    }

    async fn ask_to_admit(
        &mut self,
        now: &mut Turn<'_>,
        asking: &Asking,
        expect: Option<&Expected>,
    ) -> Result<Admission, Stopped> {
        now.home.clone_from(&asking.target.provider);
        let context = Context {
            call_limit_ms: asking.call_limit_ms,
            fingerprint: asking.fingerprint,
            ..now.context.clone()
        };
        let answer = self
            .ask(now, Call::Admit(asking.target.clone(), context))
            .await?;
        let Answer::Admission(admission) = answer else {
            return Err(self.confused(now));
        };
        now.line.say("admission", &admission);
        now.said.push(words::admission(&admission));
        now.happened(&admission.events);
        if let Some(expected) = expect {
            now.differ("expect", check::admission(expected, &admission));
        }
        if let Some(ms) = asking.holds_until_ms {
            now.differ("holds-until", check::holds_until(ms, &admission));
        }
        now.differ(
            "limits",
            check::fields(&asking.limits, &json!(admission.limits)),
        );
        if let Some(name) = &asking.name {
            let permit = match &admission.decision {
                Decision::Allowed(permit) => Some(permit.clone()),
                Decision::Refused(_) => None,
            };
            self.admitted.insert(
                name.clone(),
                Under {
                    permit,
                    verdict: None,
                    fingerprint: asking.fingerprint,
                    overdue: false,
                },
            );
        }
        Ok(admission)
    }

    /// Tells the policy how a call ended that was admitted under this permit. Answers its own
    /// verdict on that; `None`: the call was dropped.
    async fn tell(
        &mut self,
        now: &mut Turn<'_>,
        permit: Permit,
        ended: &Ended,
        overdue: bool,
    ) -> Result<Option<Verdict>, Stopped> {
        now.home.clone_from(&permit.target.provider);
        let verdict = self.judge(now, &permit.target, ended).await?;
        let ending = verdict.clone().map_or(Ending::Dropped, Ending::Judged);
        let timing = Timing {
            latency_ms: ended.observation.as_ref().map(|seen| seen.latency_ms),
            overdue,
        };
        let context = now.context.clone();
        let answer = self
            .ask(now, Call::Settle(permit, ending, timing, context))
            .await?;
        let Answer::Settled(events) = answer else {
            return Err(self.confused(now));
        };
        now.line.say("events", &events);
        now.happened(&events);
        Ok(verdict)
    }

    async fn judge(
        &self,
        now: &mut Turn<'_>,
        target: &Target,
        ended: &Ended,
    ) -> Result<Option<Verdict>, Stopped> {
        let Some(observation) = &ended.observation else {
            now.said.push("dropped".into());
            return Ok(None);
        };
        let observation = Observation {
            now_ms: now.context.now_ms,
            ..observation.clone()
        };
        let verdict = self.runtime.classify(target, &observation).await;
        let verdict = verdict.map_err(|why| self.fault(now, &why))?;
        now.line.say("verdict", &verdict);
        now.said.push(words::verdict(&verdict));
        now.differ("verdict", check::fields(&ended.verdict, &json!(verdict)));
        Ok(Some(verdict))
    }
}
