//! What may follow what: each change of a record is one of the few that a breaker makes.

use fusewire_core::Phase;

use super::super::journal::Answer;
use super::CLOCKS_AGREE_MS;
use super::chain::Chain;
use super::facts::{Facts, Write};
use super::problem::{Broken, Problems};
use super::record::Record;

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// A rule tripped: closed to open.
    Trip,
    /// The lease was taken. Whether it was an opening that was over, and whether the lease of one who
    /// did not come back.
    Grant { from_open: bool, from_lease: bool },
    /// The lease was given back, and nothing judged.
    Freed,
    /// A probe passed, and more are needed.
    Passed,
    /// A probe failed: half-open to open.
    Reopened,
    /// Enough probes passed: half-open to closed.
    Close,
    /// A record that was lost was put back with its epoch.
    PutBack,
    /// Nothing that matters here.
    Other,
    /// What it should not have: that is a problem of its own.
    Unlawful,
}

/// A write that took effect, and what it did.
pub(super) struct Link {
    /// Its place in [`Facts::writes`].
    pub(super) write: usize,
    pub(super) change: Change,
    /// The record before it, as the policy read it.
    pub(super) before: Record,
    pub(super) after: Record,
}

/// Goes through a chain and says what each write did.
pub(super) fn read(facts: &Facts<'_>, chain: &Chain, problems: &mut Problems) -> Vec<Link> {
    let mut links = Vec::new();
    for (before, at) in chain.links() {
        let write = &facts.writes[at];
        let Some(after) = write.after.clone() else {
            let says = format!(
                "{} put something that is no record: {:?}",
                facts.name(write.by),
                write.put
            );
            problems.add(Broken::UnlawfulChange, write.sent_us, says);
            continue;
        };
        let before = before
            .and_then(|before| facts.writes[before].after.clone())
            .filter(|record| record.counts(write.now_ms));
        let step = Step {
            facts,
            write,
            is_absent: before.is_none(),
            before: before.unwrap_or_else(Record::none),
            after,
        };
        let change = step.judge().unwrap_or_else(|(broken, why)| {
            let says = format!(
                "{} of {}: {why}. Before: {}. After: {}",
                facts.name(write.by),
                write.domain,
                write.expected.unwrap_or("nothing"),
                write.put.unwrap_or("nothing"),
            );
            problems.add(broken, write.sent_us, says);
            Change::Unlawful
        });
        links.push(Link {
            write: at,
            change,
            before: step.before,
            after: step.after,
        });
    }
    links
}

struct Step<'f> {
    facts: &'f Facts<'f>,
    write: &'f Write<'f>,
    is_absent: bool,
    before: Record,
    after: Record,
}

type Judged = Result<Change, (Broken, String)>;

impl Step<'_> {
    fn judge(&self) -> Judged {
        let (before, after) = (&self.before, &self.after);
        if before.says_the_same(after) {
            return Ok(Change::Other);
        }
        let call = self.facts.calls.get(&self.write.by);
        // One that has given up waiting for the store goes by its own breaker, and may have taken a
        // lease that it does not know of.
        let refused = call.filter(|call| call.refused.is_some() && !call.is_own());
        if refused.is_some() {
            let why = "it was refused, and changed the record".to_owned();
            return Err((Broken::RefusedTakerWrote, why));
        }
        match (before.phase, after.phase) {
            (Phase::Closed, Phase::Open) => self.tripped(),
            (Phase::Closed, Phase::Closed) => self.put_back(),
            (Phase::Open, Phase::HalfOpen) => self.taken(),
            (Phase::HalfOpen, Phase::HalfOpen) => match (before.token(), after.token()) {
                (_, None) => self.given_back(),
                (had, has) if had != has => self.taken(),
                _ => self.extended(),
            },
            (Phase::HalfOpen, Phase::Open) => self.reopened(),
            (Phase::HalfOpen, Phase::Closed) => self.closed(),
            (Phase::Open, Phase::Open) => Err((
                Broken::Growth,
                "an opening was changed by something that came later".to_owned(),
            )),
            (Phase::Open, Phase::Closed) | (Phase::Closed, Phase::HalfOpen) => {
                unlawful("one does not follow the other")
            }
        }
    }

    fn tripped(&self) -> Judged {
        let quiet_ms = self.facts.story.rules.quiet_ms;
        let closed_for = self.write.now_ms.saturating_sub(self.before.epoch);
        let grown = self.before.openings + 1;
        // To the millisecond the policy alone knows how long it had been quiet.
        let lawful = if self.is_absent || closed_for >= quiet_ms + CLOCKS_AGREE_MS {
            vec![1]
        } else if closed_for + CLOCKS_AGREE_MS <= quiet_ms {
            vec![grown]
        } else {
            vec![1, grown]
        };
        self.opening(&lawful)?;
        if !self.is_absent {
            self.same_epoch()?;
        }
        Ok(Change::Trip)
    }

    fn reopened(&self) -> Judged {
        self.by_the_holder()?;
        self.opening(&[self.before.openings + 1])?;
        self.same_epoch()?;
        Ok(Change::Reopened)
    }

    /// An opening has one of these numbers, and lasts as long as that says.
    fn opening(&self, lawful: &[u32]) -> Result<(), (Broken, String)> {
        let after = &self.after;
        if !lawful.contains(&after.openings) {
            let why = format!(
                "this is opening {} in a row, and should be one of {lawful:?}",
                after.openings
            );
            return Err((Broken::Growth, why));
        }
        let lasts = after.until.saturating_sub(self.write.now_ms);
        let should = self.facts.story.rules.cool_down_ms(after.openings);
        if lasts.abs_diff(should) > CLOCKS_AGREE_MS / 4 {
            let why = format!("it lasts {lasts} ms, and should last {should} ms");
            return Err((Broken::Growth, why));
        }
        if after.lease.is_some() || after.passed != 0 {
            return unlawful("an opening has neither a lease nor probes that passed").map(drop);
        }
        Ok(())
    }

    fn taken(&self) -> Judged {
        let (before, after, now_ms) = (&self.before, &self.after, self.write.now_ms);
        let from_open = before.phase == Phase::Open;
        if from_open && now_ms < before.until {
            let early = before.until - now_ms;
            let why = format!("the lease was taken {early} ms before the cool-down was over");
            return Err((Broken::EarlyProbe, why));
        }
        if let Some(lease) = &before.lease
            && now_ms < lease.expires_ms
        {
            let early = lease.expires_ms - now_ms;
            let why = format!(
                "it took the lease of {} {early} ms before that was over",
                lease.owner
            );
            return Err((Broken::TwoProbes, why));
        }
        if after.openings != before.openings || after.passed != before.passed {
            return unlawful("who takes the lease changes nothing else");
        }
        self.same_epoch()?;
        let lasts = after
            .lease
            .as_ref()
            .map_or(0, |lease| lease.expires_ms.saturating_sub(now_ms));
        if lasts > self.facts.story.rules.lease_ms {
            let why = format!("the lease lasts {lasts} ms");
            return Err((Broken::LeaseExtended, why));
        }
        Ok(Change::Grant {
            from_open,
            from_lease: before.lease.is_some(),
        })
    }

    fn given_back(&self) -> Judged {
        self.by_the_holder()?;
        self.same_epoch()?;
        let (before, after) = (&self.before, &self.after);
        if after.openings != before.openings {
            let why = "a probe that did not fail grew the cool-down".to_owned();
            return Err((Broken::Growth, why));
        }
        match after.passed.checked_sub(before.passed) {
            Some(0) => Ok(Change::Freed),
            Some(1) => Ok(Change::Passed),
            _ => unlawful("one probe counts once"),
        }
    }

    fn extended(&self) -> Judged {
        let expires = |record: &Record| record.lease.as_ref().map(|lease| lease.expires_ms);
        if expires(&self.before) != expires(&self.after) {
            let why = "the same lease ends at another time".to_owned();
            return Err((Broken::LeaseExtended, why));
        }
        unlawful("nothing changes while a lease is held")
    }

    fn closed(&self) -> Judged {
        self.by_the_holder()?;
        let (before, after) = (&self.before, &self.after);
        if after.epoch <= before.epoch {
            let why = format!("epoch {} follows epoch {}", after.epoch, before.epoch);
            return Err((Broken::Epoch, why));
        }
        if before.passed + 1 < self.facts.story.rules.probes {
            return unlawful("it takes more probes to close it");
        }
        if after.openings != before.openings {
            let why = "closing does not forget the openings: a quiet time does".to_owned();
            return Err((Broken::Growth, why));
        }
        Ok(Change::Close)
    }

    fn put_back(&self) -> Judged {
        let (before, after) = (&self.before, &self.after);
        // Also one that nobody has had an answer to: others may have seen it before it was lost.
        let mut closes = self.facts.writes.iter().filter(|write| {
            let from = write.before.as_ref();
            write.domain == self.write.domain
                && write.answer != Answer::NotDone
                && from.is_some_and(|from| from.phase == Phase::HalfOpen)
        });
        let began = closes.any(|write| {
            let to = write.after.as_ref();
            to.is_some_and(|to| to.phase == Phase::Closed && to.epoch == after.epoch)
        });
        if after.epoch <= before.epoch || !began {
            let why = format!(
                "epoch {} follows epoch {}, and no close began it",
                after.epoch, before.epoch
            );
            return Err((Broken::Epoch, why));
        }
        Ok(Change::PutBack)
    }

    fn same_epoch(&self) -> Result<(), (Broken, String)> {
        if self.before.epoch == self.after.epoch {
            return Ok(());
        }
        let why = format!(
            "epoch {} follows epoch {} without a close",
            self.after.epoch, self.before.epoch
        );
        Err((Broken::Epoch, why))
    }

    /// The lease was given to the very call whose outcome this is.
    fn by_the_holder(&self) -> Result<(), (Broken, String)> {
        let token = self.before.token();
        let call = self.facts.calls.get(&self.write.by);
        let own = call.is_some_and(|call| {
            let mut granted = call.writes.iter().filter_map(|at| {
                let write = self.facts.writes.get(*at)?;
                write.grants()
            });
            token.is_some() && granted.any(|granted| Some(granted) == token)
        });
        if own {
            return Ok(());
        }
        let why = "its outcome was taken for that of another call, which holds the lease";
        Err((Broken::ForeignOutcome, why.to_owned()))
    }
}

fn unlawful(why: &str) -> Judged {
    Err((Broken::UnlawfulChange, why.to_owned()))
}
