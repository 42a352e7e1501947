//! The canonical form of a state.
//!
//! Times are counted from the present, so that a state that comes again later is the same state. Of
//! what goes further back than any clock and any call under way, only that is kept which the core
//! can still tell apart. Likewise for revisions, of which the order counts, and the names of
//! instances and leases, which could as well be others.

use crate::bounds::Bounds;
use crate::call::Request;
use crate::core::Core;
use crate::learn::LOTS;
use crate::state::{Attempt, Instance, State};
use crate::store::{Answer, Counter, Key, Slot, is_own};
use crate::text::{FAR, Forms, Kind, Ms, NEVER, Text};

impl State {
    /// The canonical form.
    pub(crate) fn settle_down(&mut self, bounds: &Bounds, core: &Core) {
        let forms = &core.forms;
        let slowest = bounds.skews.iter().copied().min().unwrap_or(0).min(0);
        let earliest = self
            .calls()
            .map(|call| call.now)
            .fold(slowest - bounds.lag, Ms::min);
        self.forget_times(earliest, bounds, forms);
        self.forget_counts(earliest, bounds, core);
        self.number_revisions(forms);
        self.sort(bounds, core);
        self.name_leases(forms);
        self.store.trim();
        self.instances.iter_mut().for_each(|i| i.own.trim());
    }

    /// Times that are over by every clock are equally over. Epochs that are older than the quiet
    /// time keep their order alone.
    fn forget_times(&mut self, earliest: Ms, bounds: &Bounds, forms: &Forms) {
        let old = earliest - if bounds.quiet == FAR { 0 } else { bounds.quiet };
        let mut epochs: Vec<Ms> = Vec::new();
        let mut note = |epoch: Ms| {
            if epoch != NEVER && !epochs.contains(&epoch) {
                epochs.push(epoch);
            }
        };
        self.epochs_mut(&mut |epoch| note(*epoch));
        self.texts_mut(&mut |text| {
            for (kind, hole) in forms.of(text).kinds.iter().zip(&mut text.holes) {
                match kind {
                    Kind::Epoch => note(*hole),
                    Kind::Until if *hole != NEVER => *hole = (*hole).max(earliest),
                    Kind::Times => *hole = (*hole).min(bounds.times),
                    _ => {}
                }
            }
        });
        epochs.sort_unstable();
        let ranks: Vec<Ms> = epochs
            .iter()
            .map(|epoch| {
                if *epoch < old {
                    let later = epochs.iter().filter(|e| *e > epoch && **e < old).count();
                    return old - 1 - later as Ms;
                }
                // Between two steps of time the order counts alone, unless one that was lost counts
                // on from an earlier one.
                let begins = epoch.div_euclid(bounds.tick) * bounds.tick;
                if bounds.promises.forgets || begins < old {
                    return *epoch;
                }
                let earlier = epochs
                    .iter()
                    .filter(|e| (begins..*epoch).contains(*e))
                    .count();
                begins + earlier as Ms
            })
            .collect();
        let rename = |epoch: &mut Ms| {
            if let Some(at) = epochs.iter().position(|e| e == epoch) {
                *epoch = ranks[at];
            }
        };
        self.epochs_mut(&mut |epoch| rename(epoch));
        self.texts_mut(&mut |text| {
            for (kind, hole) in forms.of(text).kinds.iter().zip(&mut text.holes) {
                if *kind == Kind::Epoch {
                    rename(hole);
                }
            }
        });
    }

    /// Buckets that no window reaches back to are gone; of amounts, what is more than enough for
    /// any rule is as good as enough.
    fn forget_counts(&mut self, earliest: Ms, bounds: &Bounds, core: &Core) {
        let enough = |lane: u8| bounds.enough(core.lane(lane));
        for slot in self.slots_mut() {
            let Slot::Counter(Counter { epoch, cells, .. }) = slot else {
                continue;
            };
            cells.retain_mut(|cell| {
                cell.amount = cell.amount.min(enough(cell.lane));
                cell.amount > 0 && cell.bucket >= earliest - bounds.window
            });
            if cells.is_empty() && *epoch == NEVER {
                *slot = Slot::Empty;
            }
        }
        for call in self.calls_mut() {
            for answer in &mut call.answers {
                if let Answer::Counted(tallies) = answer {
                    for (_, lanes) in tallies {
                        lanes.retain_mut(|(lane, amount)| {
                            *amount = (*amount).min(enough(*lane));
                            *amount > 0
                        });
                    }
                }
            }
        }
    }

    /// Revisions are renumbered from one on, in their order, those of each key apart.
    fn number_revisions(&mut self, forms: &Forms) {
        let mut met: Vec<(Option<Key>, Ms)> = Vec::new();
        self.keyed_texts_mut(&mut |key, text| {
            met.extend(revision(text, forms).map(|hole| (key, *hole)));
        });
        met.sort_unstable();
        met.dedup();
        self.keyed_texts_mut(&mut |key, text| {
            if let Some(hole) = revision(text, forms) {
                let of_key = met.iter().filter(|(k, _)| *k == key);
                *hole = of_key.take_while(|(_, r)| *r < *hole).count() as Ms + 1;
            }
        });
    }

    /// Every record with its key; those of instances' own breakers have none in common.
    fn keyed_texts_mut(&mut self, visit: &mut dyn FnMut(Option<Key>, &mut Text)) {
        for (key, slot) in self.store.0.iter_mut().enumerate() {
            if let Slot::Record(held) = slot {
                visit(Some(key as Key), &mut held.text);
            }
        }
        for slot in self.instances.iter_mut().flat_map(|i| &mut i.own.0) {
            if let Slot::Record(held) = slot {
                visit(None, &mut held.text);
            }
        }
        for call in self.calls_mut() {
            for answer in &mut call.answers {
                if let Answer::Got(texts) = answer {
                    for (key, text) in texts {
                        let key = Some(*key).filter(|key| !is_own(*key));
                        if let Some(text) = text {
                            visit(key, text);
                        }
                    }
                }
            }
        }
    }

    /// Instances with the same clock are interchangeable, and so are an instance's attempts.
    fn sort(&mut self, bounds: &Bounds, core: &Core) {
        let forms = &core.forms;
        let owner = self.store.0.iter().find_map(|slot| {
            let text = slot.text()?;
            forms.field(&text, "lease.owner")
        });
        let blind_text = |text: &mut Text| {
            for (kind, hole) in forms.of(text).kinds.iter().zip(&mut text.holes) {
                if matches!(kind, Kind::Token | Kind::Owner) {
                    *hole = 0;
                }
            }
        };
        let blind = |attempt: &Attempt| {
            let mut attempt = attempt.clone();
            match &mut attempt {
                Attempt::Made { permit, .. } => blind_text(permit),
                Attempt::Asking(call) | Attempt::Telling(call) => {
                    call.texts_mut(&mut |text| blind_text(text));
                    call.instance = 0;
                    if let Request::Admit(bits) = &mut call.request {
                        *bits %= LOTS;
                    }
                }
            }
            attempt
        };
        let taken = std::mem::take(&mut self.instances);
        let mut order: Vec<_> = taken
            .into_iter()
            .enumerate()
            .map(|(at, instance)| {
                let mut attempts: Vec<_> = instance
                    .attempts
                    .into_iter()
                    .map(|a| (blind(&a), a))
                    .collect();
                attempts.sort();
                let (key, attempts): (Vec<_>, Vec<_>) = attempts.into_iter().unzip();
                let own = instance.own;
                let mut blind_own = own.clone();
                let own_texts = blind_own.0.iter_mut().filter_map(|slot| match slot {
                    Slot::Record(held) => Some(&mut held.text),
                    _ => None,
                });
                own_texts.for_each(&blind_text);
                let key = (bounds.class(at), key, blind_own, owner != Some(at as Ms));
                (key, at, Instance { attempts, own })
            })
            .collect();
        order.sort_by(|a, b| a.0.cmp(&b.0));
        let mut place = vec![0; order.len()];
        for (to, (_, from, instance)) in order.into_iter().enumerate() {
            place[from] = to as Ms;
            self.instances.push(instance);
        }
        for (at, instance) in self.instances.iter_mut().enumerate() {
            for call in instance.attempts.iter_mut().filter_map(Attempt::call_mut) {
                call.instance = at as u8;
            }
        }
        self.texts_mut(&mut |text| {
            for (kind, hole) in forms.of(text).kinds.iter().zip(&mut text.holes) {
                if *kind == Kind::Owner {
                    *hole = place[*hole as usize];
                }
            }
        });
        self.rename_witnesses(&place, &core.witnesses);
    }

    /// What instances have said in lanes of their own goes with them to their new places.
    fn rename_witnesses(&mut self, place: &[Ms], witnesses: &[u8]) {
        let rename = |lane: &mut u8| {
            if let Some(instance) = witnesses.iter().position(|w| w == lane) {
                *lane = witnesses[place[instance] as usize];
            }
        };
        for slot in self.store.0.iter_mut() {
            if let Slot::Counter(counter) = slot {
                counter
                    .cells
                    .iter_mut()
                    .for_each(|cell| rename(&mut cell.lane));
                counter.cells.sort_unstable();
            }
        }
        for call in self.calls_mut() {
            for answer in &mut call.answers {
                if let Answer::Counted(tallies) = answer {
                    for (_, lanes) in tallies {
                        lanes.iter_mut().for_each(|(lane, _)| rename(lane));
                        lanes.sort_unstable();
                    }
                }
            }
        }
    }

    /// Random bits are numbered in the order in which they are met, those of each lot apart.
    fn name_leases(&mut self, forms: &Forms) {
        let each = forms.tokens.each as Ms;
        let mut met: Vec<Ms> = Vec::new();
        let mut number = |bits: Ms| {
            let at = met.iter().position(|m| *m == bits).unwrap_or_else(|| {
                met.push(bits);
                met.len() - 1
            });
            at as Ms * Ms::from(LOTS) + bits % Ms::from(LOTS)
        };
        self.texts_mut(&mut |text| {
            for (kind, hole) in forms.of(text).kinds.iter().zip(&mut text.holes) {
                if *kind == Kind::Token {
                    *hole = number(*hole / each) * each + *hole % each;
                }
            }
        });
        for call in self.calls_mut() {
            if let Request::Admit(bits) = &mut call.request {
                *bits = number((*bits).into()) as u8;
            }
        }
    }
}

/// The hole of a record's revision.
fn revision<'a>(text: &'a mut Text, forms: &Forms) -> Option<&'a mut Ms> {
    let kinds = &forms.of(text).kinds;
    let at = kinds.iter().position(|kind| *kind == Kind::Revision)?;
    Some(&mut text.holes[at])
}
