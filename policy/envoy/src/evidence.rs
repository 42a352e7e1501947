//! What is looked at in the answers of each provider.
//!
//! The policy says so, and says the same for as long as its configuration is the same: it is asked
//! once for each provider, and what it said is shared by the streams to that provider.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use fusewire_core::{Policy, Target, Wanted};

/// The most providers of which the answer is kept.
const PROVIDERS_MAX: usize = 1_024;

/// What is looked at, in one worker.
#[derive(Debug, Default)]
pub struct Evidence {
    wanted: RefCell<BTreeMap<String, Rc<Wanted>>>,
}

impl Evidence {
    /// What the policy looks at in the answers of this target, and of a body no more than `limit`
    /// bytes.
    pub fn wanted(&self, policy: &Policy, target: &Target, limit: u32) -> Rc<Wanted> {
        let Ok(mut all) = self.wanted.try_borrow_mut() else {
            return asked(policy, target, limit);
        };
        if let Some(known) = all.get(&target.provider) {
            return Rc::clone(known);
        }
        if all.len() >= PROVIDERS_MAX {
            all.clear();
        }
        let wanted = asked(policy, target, limit);
        all.insert(target.provider.clone(), Rc::clone(&wanted));
        wanted
    }
}

fn asked(policy: &Policy, target: &Target, limit: u32) -> Rc<Wanted> {
    let wanted = policy.wanted(target);
    Rc::new(Wanted {
        body_bytes: wanted.body_bytes.min(limit),
        ..wanted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_providers_takes_bounded_room() {
        let evidence = Evidence::default();
        for n in 0..5_000 {
            let target = Target::provider(n.to_string());
            evidence.wanted(&Policy::default(), &target, 0);
        }
        assert!(evidence.wanted.borrow().len() <= PROVIDERS_MAX);
    }

    #[test]
    fn what_the_policy_said_of_a_provider_is_shared() {
        let evidence = Evidence::default();
        let target = Target::provider("atlas");
        let first = evidence.wanted(&Policy::default(), &target, 0);
        let again = evidence.wanted(&Policy::default(), &target, 0);
        assert!(Rc::ptr_eq(&first, &again));
        assert_eq!(first.body_bytes, 0, "the limit");
    }
}
