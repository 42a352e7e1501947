//! The harm itself.

use std::cell::{Cell, RefCell};
use std::hint::black_box;

use fusewire_core::config::Config;
use fusewire_core::store::{KeyValue, StoreError, Window};
use fusewire_policy_bindings::HostStore;
use fusewire_policy_bindings::contract::exports::fusewire::policy::attempts;
use fusewire_policy_bindings::contract::exports::fusewire::policy::breaker::{
    Admission, Decision, Event, EventKind, Permit, Refusal, RefusalReason, Suspended, Target,
};
use fusewire_policy_bindings::contract::exports::fusewire::policy::operator::Fact;

use crate::mode::{self, Mode};

/// What a leak takes with each call, in bytes.
const LEAK: usize = 64 << 10;

thread_local! {
    static ADMISSIONS: Cell<u64> = const { Cell::new(0) };
    static PREFIX: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What it does when an instance is made.
pub(crate) fn at_start() {
    match mode::told() {
        Mode::EndlessStart => forever(),
        Mode::GreedyStart => loop {
            keep(1 << 20);
        },
        Mode::TrapAtStart => trap(),
        _ => {}
    }
}

pub(crate) fn forever() -> ! {
    loop {
        black_box(());
    }
}

/// Runs for a millisecond or two.
fn for_a_while() {
    for n in 0..1_000_000_u32 {
        black_box(n);
    }
}

pub(crate) fn trap() -> ! {
    std::process::abort()
}

/// Takes memory and does not give it back.
fn keep(bytes: usize) {
    std::mem::forget(black_box(vec![1_u8; bytes]));
}

pub(crate) fn leak() {
    keep(LEAK);
}

#[expect(unconditional_recursion, reason = "that is the harm")]
pub(crate) fn recurse(depth: u64) -> u64 {
    black_box(recurse(black_box(depth + 1)) + 1)
}

/// How many admissions this instance was asked for, this one included.
pub(crate) fn count_admission() -> u64 {
    ADMISSIONS.set(ADMISSIONS.get() + 1);
    ADMISSIONS.get()
}

/// Notes what the keys begin with that it may touch.
pub(crate) fn configured(json: &str) {
    if let Ok(config) = Config::from_json(json) {
        PREFIX.set(config.prefix);
    }
}

fn own_key(name: &str) -> String {
    PREFIX.with_borrow(|prefix| {
        let prefix = if prefix.is_empty() {
            "fusewire"
        } else {
            prefix
        };
        format!("{prefix}:{name}")
    })
}

/// Touches what others keep in the store. It does not mind being refused.
pub(crate) fn touch_foreign_keys() -> Result<(), Suspended> {
    for (answered, key) in (0..).zip(["someone-elses", "fusewires:s:{p}", "*"]) {
        let written = HostStore.swap(key, None, Some(b"mine"), 0);
        let read = HostStore.get(&[key.to_owned()]);
        let counted = HostStore.count(vec![window(key.to_owned())]);
        if matches!(written, Err(StoreError::Pending))
            || matches!(read, Err(StoreError::Pending))
            || matches!(counted, Err(StoreError::Pending))
        {
            return Err(Suspended { answered });
        }
    }
    Ok(())
}

pub(crate) fn ask_again_and_again() -> Result<(), Suspended> {
    for answered in 0..1_000 {
        if HostStore.get(&[own_key("circles")]) == Err(StoreError::Pending) {
            return Err(Suspended { answered });
        }
    }
    Ok(())
}

pub(crate) fn run_longer_each_time() -> Result<(), Suspended> {
    for answered in 0..60 {
        for_a_while();
        if HostStore.get(&[own_key("slow")]) == Err(StoreError::Pending) {
            return Err(Suspended { answered });
        }
    }
    Ok(())
}

/// Asks for many keys at once. It does not mind being refused.
pub(crate) fn ask_for_all() -> Result<(), Suspended> {
    let keys: Vec<String> = (0..1_000).map(|n| own_key(&format!("all-{n}"))).collect();
    let windows = keys.iter().cloned().map(window).collect();
    if HostStore.get(&keys) == Err(StoreError::Pending) {
        return Err(Suspended { answered: 0 });
    }
    if HostStore.count(windows) == Err(StoreError::Pending) {
        return Err(Suspended { answered: 1 });
    }
    Ok(())
}

/// Asks something else each time.
pub(crate) fn ask_something_else() -> Result<(), Suspended> {
    let pending = if count_admission().is_multiple_of(2) {
        HostStore.get(&[own_key("turn")]).err()
    } else {
        HostStore.count(vec![window(own_key("turns"))]).err()
    };
    match pending {
        Some(StoreError::Pending) => Err(Suspended { answered: 0 }),
        _ => Ok(()),
    }
}

/// Asks, and once it is answered says that it waits.
pub(crate) fn wait_for_nothing() -> Suspended {
    let answered = HostStore.get(&[own_key("nothing")]).is_ok();
    Suspended {
        answered: answered.into(),
    }
}

fn window(key: String) -> Window {
    Window {
        key,
        epoch: 0,
        bucket: 0,
        add: Vec::new(),
        since: 0,
        ttl_ms: 1,
    }
}

/// A decision for this call alone.
fn decided(decision: Decision, now_ms: u64) -> Admission {
    Admission {
        decision,
        holds_until_ms: now_ms,
        events: Vec::new(),
    }
}

pub(crate) fn refused(target: &Target, now_ms: u64) -> Admission {
    let refusal = Refusal {
        domain: target.provider.clone(),
        reason: RefusalReason::Open,
        retry_after_ms: 60_000,
        detail: "nobody may call".into(),
    };
    decided(Decision::Refused(refusal), now_ms)
}

pub(crate) fn allowed(target: Target, token: String, now_ms: u64) -> Admission {
    let permit = Permit {
        target,
        probe: false,
        token,
    };
    decided(Decision::Allowed(permit), now_ms)
}

/// The text of a permit that the core takes for one of its own and counts nowhere.
pub(crate) fn uncounted(target: &Target) -> String {
    let parts = [target.account.is_some(), target.operation.is_some()];
    let parts = parts.into_iter().filter(|part| *part).count();
    vec!["x"; 1 + parts].join(",")
}

/// The same admission in the words of `attempts`.
pub(crate) fn without_limits(admission: Admission) -> attempts::Admission {
    let kind = |kind| match kind {
        EventKind::Transition(transition) => attempts::EventKind::Transition(transition),
        EventKind::Probe(outcome) => attempts::EventKind::Probe(outcome),
        EventKind::Ignored(reason) => attempts::EventKind::Ignored(reason),
        EventKind::Ordered(mode) => attempts::EventKind::Ordered(mode),
        EventKind::Store(why) => attempts::EventKind::Store(why),
    };
    let event = |event: Event| attempts::Event {
        domain: event.domain,
        at_ms: event.at_ms,
        kind: kind(event.kind),
        detail: event.detail,
    };
    attempts::Admission {
        decision: admission.decision,
        holds_until_ms: admission.holds_until_ms,
        limits: attempts::Limits {
            total_ms: None,
            overdue_ms: None,
        },
        events: admission.events.into_iter().map(event).collect(),
    }
}

/// The same admission, for a call that may last no time.
pub(crate) fn without_time(admission: attempts::Admission) -> attempts::Admission {
    attempts::Admission {
        limits: attempts::Limits {
            total_ms: Some(0),
            overdue_ms: None,
        },
        ..admission
    }
}

pub(crate) fn many_facts() -> Vec<Fact> {
    let fact = |n: u32| Fact {
        subject: format!("fact-{n}"),
        value: n.to_string(),
        says: String::new(),
    };
    (0..1_000).map(fact).collect()
}

pub(crate) fn long_fact() -> Fact {
    Fact {
        subject: "phase".into(),
        value: "x".repeat(8 << 10),
        says: String::new(),
    }
}

/// An event of a domain that nobody has asked about.
pub(crate) fn foreign_event(now_ms: u64) -> Event {
    Event {
        domain: format!("domain-{}", count_admission()),
        at_ms: now_ms,
        kind: EventKind::Store("it was not asked".into()),
        detail: String::new(),
    }
}

/// Names that share one text.
pub(crate) fn aliased_names() -> Vec<String> {
    let text = "x".repeat(1 << 20).leak();
    (0..300_000)
        // SAFETY: they are never dropped: the host does not come to the end of them.
        .map(|_| unsafe { String::from_raw_parts(text.as_mut_ptr(), text.len(), text.len()) })
        .collect()
}

/// Events that share one text.
pub(crate) fn aliased_events(now_ms: u64) -> Vec<Event> {
    let text = "x".repeat(1 << 20).leak();
    (0..100_000)
        .map(|_| Event {
            domain: String::new(),
            at_ms: now_ms,
            kind: EventKind::Ordered(None),
            // SAFETY: they are never dropped: the host does not come to the end of them.
            detail: unsafe { String::from_raw_parts(text.as_mut_ptr(), text.len(), text.len()) },
        })
        .collect()
}
