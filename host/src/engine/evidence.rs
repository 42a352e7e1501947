//! What a policy looks at (`wit/evidence.wit`): asked for once a target, and kept.
//!
//! A policy that does not say is handed over all header fields and trailers, and no body
//! ([`unsaid`]). So is one that fails while it is asked: no call is lost for that.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use fusewire_core::classify::{BEGINNING, BODY_MAX};
use fusewire_core::{Media, Observation, Target, Wanted, target::NAME_MAX_BYTES};

use super::Fault;

/// The most of a body that a policy may want, in bytes: `wit/evidence.wit`.
pub const BODY_BYTES_MAX: u32 = BODY_MAX as u32;

/// How much of a body is handed over at least where a caller says what it expects, in bytes: enough
/// for a policy to see whether that is what came.
pub const EXPECTED_BYTES: u32 = BEGINNING as u32;

/// The most targets that are kept. A gateway has as many as are configured; a service that guards
/// its own calls may name others without end.
const TARGETS_MAX: usize = 1024;

/// How long a policy that failed while it was asked is left alone with that target.
const LEFT_ALONE: Duration = Duration::from_secs(30);

/// What is handed over to a policy that does not say what it looks at.
#[must_use]
pub fn unsaid() -> Arc<Wanted> {
    static UNSAID: LazyLock<Arc<Wanted>> = LazyLock::new(|| {
        Arc::new(Wanted {
            body_bytes: 0,
            headers: None,
            trailers: true,
        })
    });
    Arc::clone(&UNSAID)
}

/// Whether a header field of this name is looked at.
#[must_use]
pub fn wants_header(wanted: &Wanted, name: &str) -> bool {
    let Some(names) = &wanted.headers else {
        return true;
    };
    // Asked of every field of every answer: lengths tell most names apart.
    names
        .iter()
        .any(|wanted| wanted.len() == name.len() && wanted.eq_ignore_ascii_case(name))
}

/// How much of this observation's body is looked at, in bytes.
pub(super) fn body_bytes(wanted: &Wanted, observation: &Observation) -> usize {
    let least = match observation.expect {
        Media::Any => 0,
        _ => EXPECTED_BYTES,
    };
    wanted.body_bytes.max(least) as usize
}

/// What either of two policies looks at.
#[must_use]
pub fn both(one: &Arc<Wanted>, other: &Arc<Wanted>) -> Arc<Wanted> {
    if one == other {
        return Arc::clone(one);
    }
    let headers = match (&one.headers, &other.headers) {
        (Some(one), Some(other)) => {
            let mut names = one.clone();
            names.extend(other.iter().filter(|name| !one.contains(name)).cloned());
            Some(names)
        }
        _ => None,
    };
    Arc::new(Wanted {
        body_bytes: one.body_bytes.max(other.body_bytes),
        headers,
        trailers: one.trailers || other.trailers,
    })
}

/// What is known of one policy with one configuration, by target.
#[derive(Debug, Default)]
pub(crate) struct Kept(RwLock<HashMap<Target, Known>>);

#[derive(Debug)]
struct Known {
    wanted: Arc<Wanted>,
    /// `None`: for as long as the policy is there.
    until: Option<Instant>,
}

impl Kept {
    /// What is known of this target.
    pub(crate) fn get(&self, target: &Target) -> Option<Arc<Wanted>> {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let known = kept.get(target)?;
        let holds = known.until.is_none_or(|until| Instant::now() < until);
        holds.then(|| Arc::clone(&known.wanted))
    }

    /// Keeps what is known of this target, for good.
    pub(crate) fn put(&self, target: &Target, wanted: &Arc<Wanted>) {
        self.keep(target, wanted, None);
    }

    /// Forgets what is known of this target.
    pub(crate) fn forget(&self, target: &Target) {
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        kept.remove(target);
    }

    /// What is known of this target, or what is answered now. After a failure it is [`unsaid`] for a
    /// while: a policy that fails each time is not to hold up each call.
    pub(super) fn get_or_ask(
        &self,
        target: &Target,
        ask: impl FnOnce() -> Result<Wanted, Fault>,
    ) -> Result<Arc<Wanted>, Fault> {
        if let Some(known) = self.get(target) {
            return Ok(known);
        }
        match ask().map(Arc::new) {
            Ok(wanted) => {
                self.put(target, &wanted);
                Ok(wanted)
            }
            Err(fault) => {
                self.keep(target, &unsaid(), Some(LEFT_ALONE));
                Err(fault)
            }
        }
    }

    fn keep(&self, target: &Target, wanted: &Arc<Wanted>, span: Option<Duration>) {
        let parts = [
            Some(&target.provider),
            target.account.as_ref(),
            target.operation.as_ref(),
        ];
        // No breaker admits a call under a longer name.
        if parts
            .into_iter()
            .flatten()
            .any(|name| name.len() > NAME_MAX_BYTES)
        {
            return;
        }
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= TARGETS_MAX && !kept.contains_key(target) {
            // Whoever still calls is asked about again, which takes microseconds.
            kept.clear();
        }
        let known = Known {
            wanted: Arc::clone(wanted),
            until: span.map(|span| Instant::now() + span),
        };
        kept.insert(target.clone(), known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(body_bytes: u32, headers: Option<&[&str]>) -> Arc<Wanted> {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Arc::new(Wanted {
            body_bytes,
            headers: headers.map(own),
            trailers: false,
        })
    }

    #[test]
    fn what_either_policy_looks_at_is_gathered() {
        let one = wanted(10, Some(&["a", "b"]));
        let other = wanted(20, Some(&["b", "c"]));
        assert_eq!(*both(&one, &other), *wanted(20, Some(&["a", "b", "c"])));
        assert!(
            Arc::ptr_eq(&both(&one, &one.clone()), &one),
            "nothing is made anew"
        );
        let all = both(&one, &unsaid());
        assert_eq!(
            (all.body_bytes, &all.headers, all.trailers),
            (10, &None, true)
        );
    }

    #[test]
    fn a_field_is_looked_at_by_its_name_in_either_case() {
        let some = wanted(0, Some(&["retry-after"]));
        assert!(wants_header(&some, "Retry-After"));
        assert!(!wants_header(&some, "Date"));
        assert!(wants_header(&unsaid(), "Date"));
        assert!(!wants_header(&wanted(0, Some(&[])), "Date"));
    }

    #[test]
    fn targets_without_end_are_not_kept_without_end() {
        let kept = Kept::default();
        let some = wanted(1, None);
        for n in 0..3 * TARGETS_MAX {
            kept.put(&Target::provider(format!("p{n}")), &some);
            assert!(kept.0.read().unwrap().len() <= TARGETS_MAX);
        }
        kept.put(&Target::provider("x".repeat(NAME_MAX_BYTES + 1)), &some);
        let last = Target::provider(format!("p{}", 3 * TARGETS_MAX - 1));
        assert_eq!(kept.get(&last), Some(some), "what came last is there");
    }

    #[test]
    fn a_policy_that_failed_is_not_asked_again_at_once() {
        let (kept, target) = (Kept::default(), Target::provider("p"));
        let fails = || Err(Fault::Trap("on purpose".into()));
        assert!(kept.get_or_ask(&target, fails).is_err(), "it is told once");
        let again = kept.get_or_ask(&target, || panic!("it is left alone"));
        assert_eq!(again, Ok(unsaid()));
    }
}
