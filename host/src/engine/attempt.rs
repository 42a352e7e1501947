//! Questions about attempts: to `attempts` where a policy exports that, otherwise to `breaker`, which
//! knows no limits and no timing.

use fusewire_core::{Context, Ending, Permit, Progress, Suspended, Target, Timing, Verdict};
use wasmtime::{Result, Store};

use super::imports::HostState;
use super::instance::Exports;
use super::{Answer, convert};

type Answered = Result<std::result::Result<Answer, Suspended>>;

pub(super) fn admit(
    exports: &Exports,
    store: &mut Store<HostState>,
    target: &Target,
    context: &Context,
) -> Answered {
    let (target, context) = (convert::target(target), convert::context(context));
    let admission = match &exports.attempts {
        Some(attempts) => attempts
            .call_admit(store, target, context)?
            .map(convert::limited_admission),
        None => exports
            .breaker
            .call_admit(store, target, context)?
            .map(convert::admission),
    };
    Ok(admission.map(Answer::Admission).map_err(convert::suspended))
}

pub(super) fn settle(
    exports: &Exports,
    store: &mut Store<HostState>,
    permit: &Permit,
    ending: &Ending,
    timing: Timing,
    context: &Context,
) -> Answered {
    let (permit, ending) = (convert::permit(permit), convert::ending(ending));
    let context = convert::context(context);
    let events = match &exports.attempts {
        Some(attempts) => attempts
            .call_settle(store, permit, ending, convert::timing(timing), context)?
            .map(convert::all_events),
        None => exports
            .breaker
            .call_settle(store, permit, ending, context)?
            .map(convert::events),
    };
    Ok(events.map(Answer::Settled).map_err(convert::suspended))
}

pub(super) fn overdue(
    exports: &Exports,
    store: &mut Store<HostState>,
    permit: &Permit,
    context: &Context,
) -> Answered {
    let Some(attempts) = &exports.attempts else {
        return Ok(Ok(Answer::Settled(Vec::new())));
    };
    let (permit, context) = (convert::permit(permit), convert::context(context));
    let events = attempts.call_overdue(store, permit, context)?;
    Ok(events
        .map(|events| Answer::Settled(convert::all_events(events)))
        .map_err(convert::suspended))
}

pub(super) fn next(
    exports: &Exports,
    store: &mut Store<HostState>,
    progress: &Progress,
    verdict: &Verdict,
    context: &Context,
) -> Answered {
    let step = exports.planner.call_next(
        store,
        convert::progress(progress),
        convert::judged(verdict),
        convert::context(context),
    )?;
    Ok(step
        .map(|step| Answer::Step(convert::step(step)))
        .map_err(convert::suspended))
}
