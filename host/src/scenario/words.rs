//! Decisions and events in few words: those of the format, and those of its reports.

use fusewire_core::config::duration::format_ms;
use fusewire_core::{
    Admission, Decision, Event, EventKind, IgnoredReason, OverrideMode, Phase, ProbeOutcome,
    Verdict,
};

use super::script::{Expected, START_MS};

/// What an event looks like, for messages.
pub(super) const EVENT_FORMS: &str = "write one such as \"closed -> open: failures\", \
    \"probe passed\", \"ignored: stale\", \"ordered: open\", \"order cleared\", \"store\", \"held\", \
    \"reshaped\" or \"alone closed -> open: failures\"; one of a narrower domain as \"provider/operation: closed -> open: failures\"";

/// An event in the words of the format. That of another domain than `home` names its domain.
pub(crate) fn event(event: &Event, home: &str) -> String {
    let words = match &event.kind {
        EventKind::Transition(t) => format!("{} -> {}: {}", t.before, t.after, t.rule),
        EventKind::Probe(outcome) => format!("probe {outcome}"),
        EventKind::Ignored(reason) => format!("ignored: {reason}"),
        EventKind::Ordered(Some(mode)) => format!("ordered: {mode}"),
        EventKind::Ordered(None) => "order cleared".into(),
        EventKind::Store(_) => "store".into(),
        EventKind::Alone(t) => format!("alone {} -> {}: {}", t.before, t.after, t.rule),
        EventKind::Held(_) => "held".into(),
        EventKind::Reshaped => "reshaped".into(),
    };
    if event.domain.is_empty() || event.domain == home {
        words
    } else {
        format!("{}: {words}", event.domain)
    }
}

/// What the story says of an event beyond the words of the format.
pub(super) fn more_of(event: &Event) -> String {
    match &event.kind {
        EventKind::Transition(t) if t.after == Phase::Open => {
            format!(" (until {}, {} in a row)", moment(t.until_ms), t.openings)
        }
        _ => String::new(),
    }
}

/// Whether these are the words of an event, of any domain.
pub(super) fn is_event(text: &str) -> bool {
    // A domain's name may have a colon in it.
    let mut rest = text
        .match_indices(": ")
        .filter_map(|(at, colon)| text.get(at + colon.len()..));
    is_bare_event(text) || rest.any(is_bare_event)
}

fn is_bare_event(text: &str) -> bool {
    let text = text.strip_prefix("alone ").unwrap_or(text);
    let is_phase = |text: &str| Phase::ALL.iter().any(|phase| phase.name() == text);
    if let Some((before, rest)) = text.split_once(" -> ") {
        let after = rest.split_once(": ");
        return is_phase(before)
            && after.is_some_and(|(after, rule)| is_phase(after) && !rule.is_empty());
    }
    match text.split_once(' ') {
        Some(("probe", outcome)) => ProbeOutcome::ALL.iter().any(|o| o.name() == outcome),
        Some(("ignored:", reason)) => IgnoredReason::ALL.iter().any(|r| r.name() == reason),
        Some(("ordered:", mode)) => OverrideMode::ALL.iter().any(|m| m.name() == mode),
        _ => ["order cleared", "store", "held", "reshaped"].contains(&text),
    }
}

/// An admission, with everything that an expectation may ask for.
pub(super) fn admission(admission: &Admission) -> String {
    match &admission.decision {
        Decision::Allowed(permit) if permit.probe => "probe".into(),
        Decision::Allowed(_) => "allowed".into(),
        Decision::Refused(refusal) => {
            let span = format_ms(refusal.retry_after_ms);
            format!(
                "refused = {}, retry-after = {span}, domain = {}: {}",
                refusal.reason, refusal.domain, refusal.detail
            )
        }
    }
}

/// What is expected of an admission, in the same words.
pub(super) fn expected(expected: &Expected) -> String {
    match expected {
        Expected::Admitted => "allowed or probe".into(),
        Expected::Allowed => "allowed".into(),
        Expected::Probe => "probe".into(),
        Expected::Refused {
            reason,
            retry_after_ms,
            domain,
            says,
        } => {
            let mut text = match reason {
                Some(reason) => format!("refused = {reason}"),
                None => "refused".into(),
            };
            if let Some(ms) = retry_after_ms {
                text.push_str(&format!(", retry-after = {}", format_ms(*ms)));
            }
            if let Some(domain) = domain {
                text.push_str(&format!(", domain = {domain}"));
            }
            if let Some(says) = says {
                text.push_str(&format!(", saying {says:?}"));
            }
            text
        }
    }
}

/// A verdict.
pub(super) fn verdict(verdict: &Verdict) -> String {
    format!("{} ({}, {})", verdict.rule, verdict.effect, verdict.outcome)
}

/// A list of events.
pub(super) fn events(events: &[String]) -> String {
    if events.is_empty() {
        "nothing happens".into()
    } else {
        events.join(", ")
    }
}

/// A moment of the fleet's clock as time since the beginning.
pub(super) fn moment(now_ms: u64) -> String {
    match now_ms.checked_sub(START_MS) {
        Some(ms) => format_ms(ms),
        None => format!("{} before the beginning", format_ms(START_MS - now_ms)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusewire_core::Transition;

    #[test]
    fn what_an_event_is_called_can_be_expected_of_a_step() {
        let opened = Transition {
            before: Phase::HalfOpen,
            after: Phase::Open,
            rule: "probe-failed".into(),
            until_ms: 0,
            openings: 1,
        };
        let kinds = [
            EventKind::Transition(opened.clone()),
            EventKind::Alone(opened),
        ]
        .into_iter()
        .chain(ProbeOutcome::ALL.iter().map(|o| EventKind::Probe(*o)))
        .chain(IgnoredReason::ALL.iter().map(|r| EventKind::Ignored(*r)))
        .chain(
            OverrideMode::ALL
                .iter()
                .map(|m| EventKind::Ordered(Some(*m))),
        )
        .chain([
            EventKind::Ordered(None),
            EventKind::Store("gone".into()),
            EventKind::Held(1),
            EventKind::Reshaped,
        ]);
        for kind in kinds {
            let happened = Event {
                domain: "p/op: x".into(),
                at_ms: 0,
                kind,
                detail: String::new(),
            };
            for home in ["p/op: x", "p"] {
                let words = event(&happened, home);
                assert!(is_event(&words), "{words}");
            }
        }
        for text in [
            "",
            "open",
            "closed -> open",
            "closed -> opened: x",
            "probe",
            "store: x y",
        ] {
            assert!(!is_event(text), "{text}");
        }
    }
}
