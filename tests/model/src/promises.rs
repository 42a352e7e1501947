//! What must hold of every step and of every state.
//!
//! That closed is reached from everywhere is a promise of the whole graph: [`crate::graph`].

use std::fmt;

use crate::call::{Call, Request};
use crate::model::Model;
use crate::state::{Attempt, State};
use crate::store::{Answer, Op, Slot, Slots, counter_of, record_of};
use crate::text::{FAR, Ms, NEVER, Phase, Stamp, Text};

/// The promises, by number as in issue 6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Promise {
    /// At most one live probe a domain.
    OneProbe,
    /// From every state, with a healthy provider and some traffic, closed is reached.
    NeverStuck,
    /// No outcome from an earlier epoch or of another lease changes what is later.
    NoStaleOutcome,
    /// An opening grows the cool-down once.
    GrowsOnce,
    /// A refused taker extends nothing.
    RefusedExtendsNothing,
}

/// Which form of a promise is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Promises {
    /// At most one live probe a domain; not where the store loses records.
    pub(crate) one_probe: bool,
    /// The store loses records, or they come to the end of their lives: an outcome can be told for
    /// stale only by a record that is there.
    pub(crate) forgets: bool,
    /// With a clock that is off: a live probe loses its lease to, or as, the instance with that
    /// clock, and to nobody else.
    pub(crate) leases_by_a_wrong_clock: bool,
}

impl Default for Promises {
    fn default() -> Self {
        Self {
            one_probe: true,
            forgets: false,
            leases_by_a_wrong_clock: false,
        }
    }
}

/// A promise that did not hold, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) promise: Promise,
    pub(crate) says: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.promise, self.says)
    }
}

fn hold(holds: bool, promise: Promise, says: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds {
        Ok(())
    } else {
        Err(Broken {
            promise,
            says: says(),
        })
    }
}

/// The token of the lease that a permit is of, in this domain.
fn leased(model: &Model, permit: &Text, domain: usize) -> Option<Ms> {
    match model.core.forms.of(permit).stamps.get(domain) {
        Some(Stamp::Lease(hole)) => Some(permit.holes[*hole]),
        _ => None,
    }
}

fn token_in(model: &Model, slots: &Slots, domain: usize) -> Option<Ms> {
    let text = slots.at(record_of(domain)).text()?;
    model.core.forms.field(&text, "lease.token")
}

/// The record of a domain, as a call with this clock reads it: one whose time is over is no record.
fn read(model: &Model, slots: &Slots, domain: usize, now: Ms) -> Option<Text> {
    let text = slots.at(record_of(domain)).text()?;
    let expires = model.core.forms.field(&text, "expires");
    Some(text).filter(|_| expires.is_none_or(|at| at == NEVER || at > now))
}

/// What must hold of a state.
pub(crate) fn of_a_state(model: &Model, state: &State) -> Result<(), Broken> {
    let promises = model.bounds.promises;
    if !promises.one_probe || promises.leases_by_a_wrong_clock {
        return Ok(());
    }
    for domain in 0..model.bounds.domains {
        let live = live_probes(model, state, domain).count();
        hold(live <= 1, Promise::OneProbe, || {
            format!("{live} live probes of {}", model.core.domain(domain))
        })?;
    }
    Ok(())
}

/// The live probes of a domain: whose, and with which lease.
pub(crate) fn live_probes<'a>(
    model: &'a Model,
    state: &'a State,
    domain: usize,
) -> impl Iterator<Item = (usize, Ms)> + 'a {
    state
        .attempts()
        .filter_map(move |(instance, attempt)| match attempt {
            Attempt::Made {
                permit,
                probing: Some(_),
            } => Some((instance, leased(model, permit, domain)?)),
            _ => None,
        })
}

/// What must hold of one operation of a call. `after` has the store as it is then, and no more the
/// attempt that the call is about.
pub(crate) fn of_an_operation(
    model: &Model,
    after: &State,
    before: &Slots,
    call: &Call,
    op: &Op,
    answer: &Answer,
) -> Result<(), Broken> {
    let has_succeeded = match op {
        Op::Get(_) => false,
        Op::Swap { .. } => *answer == Answer::Swapped(true),
        Op::Count(windows) => windows.iter().any(|w| !w.add.is_empty()),
    };
    if !has_succeeded || matches!(answer, Answer::Unavailable) {
        return hold(
            *before == after.store,
            Promise::RefusedExtendsNothing,
            || "an operation that was refused, or only reads, changed the store".into(),
        );
    }
    for domain in 0..model.bounds.domains {
        one_probe(model, after, before, call, domain)?;
        no_stale_outcome(model, &after.store, before, call, domain)?;
        grows_once(model, &after.store, before, call, domain)?;
    }
    Ok(())
}

/// A live probe's lease leaves the record by its own outcome alone.
fn one_probe(
    model: &Model,
    after: &State,
    before: &Slots,
    call: &Call,
    domain: usize,
) -> Result<(), Broken> {
    let (was, is) = (
        token_in(model, before, domain),
        token_in(model, &after.store, domain),
    );
    for (holder, token) in live_probes(model, after, domain) {
        if was != Some(token) || is == Some(token) {
            continue;
        }
        let skews = &model.bounds.skews;
        let is_off = |instance: usize| skews.get(instance).is_some_and(|skew| *skew != 0);
        let by_a_wrong_clock = is_off(holder) || is_off(call.instance.into());
        hold(
            model.bounds.promises.leases_by_a_wrong_clock && by_a_wrong_clock,
            Promise::OneProbe,
            || {
                format!(
                    "the live probe of {holder} lost its lease to {}",
                    call.instance
                )
            },
        )?;
    }
    Ok(())
}

/// What a settle under a permit of an earlier epoch, or of another lease, may not do: anything.
fn no_stale_outcome(
    model: &Model,
    after: &Slots,
    before: &Slots,
    call: &Call,
    domain: usize,
) -> Result<(), Broken> {
    let Request::Settle(permit, _) = &call.request else {
        return Ok(());
    };
    let forms = &model.core.forms;
    let record = read(model, before, domain, call.now);
    let same_record = before.at(record_of(domain)) == after.at(record_of(domain));
    let (is_stale, epoch) = match forms.of(permit).stamps[domain] {
        Stamp::None => (true, None),
        Stamp::Lease(hole) => (
            token_in(model, before, domain) != Some(permit.holes[hole]),
            None,
        ),
        Stamp::Epoch(hole) => {
            // The store had forgotten when it last closed: nobody can tell then. Nor can a call that
            // found the record behind its counter, and has put it back.
            let has_put_back = call.answers.iter().any(|a| matches!(a, Answer::Swapped(_)));
            let Some(record) = record.filter(|_| !model.bounds.promises.forgets || !has_put_back)
            else {
                return Ok(());
            };
            let epoch = forms.field(&record, "epoch").unwrap_or(NEVER);
            (epoch > permit.holes[hole], Some(epoch))
        }
    };
    let counts = |slots: &Slots| match slots.at(counter_of(domain)) {
        Slot::Counter(counter) if epoch.is_none_or(|e| counter.epoch >= e) => Some(counter.clone()),
        _ => None,
    };
    let same_counts = counts(before) == counts(after);
    hold(
        !is_stale || (same_record && same_counts),
        Promise::NoStaleOutcome,
        || {
            let what = if same_record { "counter" } else { "record" };
            format!("an outcome under {} changed the {what}", forms.fill(permit))
        },
    )
}

/// Openings in a row grow with an opening, by one, and an opening lasts as long as it was made to.
fn grows_once(
    model: &Model,
    after: &Slots,
    before: &Slots,
    call: &Call,
    domain: usize,
) -> Result<(), Broken> {
    let forms = &model.core.forms;
    if before.at(record_of(domain)) == after.at(record_of(domain)) {
        return Ok(());
    }
    let was = read(model, before, domain, call.now);
    let Some(is) = after.at(record_of(domain)).text() else {
        return Ok(());
    };
    let openings = |text: &Text| forms.field(text, "openings").unwrap_or(0);
    let until = |text: &Text| forms.field(text, "until").unwrap_or(NEVER);
    let phase_was = was.map_or(Phase::Closed, |w| forms.phase(&w));
    let openings_were = was.as_ref().map_or(0, openings);
    let says = |what: &str| {
        let was = was.map_or("nothing".into(), |w| forms.fill(&w));
        format!("{what}: {was} became {}", forms.fill(&is))
    };
    let opened = forms.phase(&is) == Phase::Open && phase_was != Phase::Open;
    let stays_open = forms.phase(&is) == Phase::Open && phase_was == Phase::Open;
    if opened {
        let closed_at = was.map_or(NEVER, |w| forms.field(&w, "epoch").unwrap_or(NEVER));
        let quiet =
            model.bounds.quiet != FAR && call.now.saturating_sub(closed_at) >= model.bounds.quiet;
        let first = phase_was == Phase::Closed && (quiet || closed_at == NEVER);
        let grown = openings(&is) == openings_were + 1 || (first && openings(&is) == 1);
        return hold(grown, Promise::GrowsOnce, || {
            says("an opening did not grow by one")
        });
    }
    hold(openings(&is) == openings_were, Promise::GrowsOnce, || {
        says("openings changed without an opening")
    })?;
    if stays_open {
        return hold(
            was.as_ref().map(until) == Some(until(&is)),
            Promise::GrowsOnce,
            || says("an opening was lengthened"),
        );
    }
    let over = was.as_ref().map_or(NEVER, until) <= call.now;
    hold(phase_was != Phase::Open || over, Promise::GrowsOnce, || {
        says("an opening was shortened")
    })
}

/// What must hold of an admission that ended in a refusal.
pub(crate) fn of_a_refusal(model: &Model, slots: &Slots, call: &Call) -> Result<(), Broken> {
    if model.bounds.domains == 1 {
        let wrote = call.answers.contains(&Answer::Swapped(true));
        return hold(!wrote, Promise::RefusedExtendsNothing, || {
            "a refused call has written".into()
        });
    }
    // The lease of one is given back where the other's is not to be had.
    let Request::Admit(bits) = call.request else {
        return Ok(());
    };
    let each = model.core.forms.tokens.each as Ms;
    let is_own = |token: Ms| token / each == Ms::from(bits);
    let mut domains = 0..model.bounds.domains;
    let keeps = domains.any(|domain| token_in(model, slots, domain).is_some_and(is_own));
    hold(!keeps, Promise::RefusedExtendsNothing, || {
        "a refused call keeps a lease".into()
    })
}
