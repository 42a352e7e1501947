//! A verdict as a person reads it.

use fusewire::cases::Input;
use fusewire::core::classify::{HintSaid, Tried};
use fusewire::core::config::duration::format_ms;
use fusewire::core::{Blame, Effect, Outcome, Verdict};

use super::judge::Judged;
use crate::command::output::{Paint, printable, row, width, wrapped};

/// The lines about one input.
pub(super) fn text(
    input: &Input,
    at: &str,
    named: (&str, &str),
    judged: &Judged,
    paint: Paint,
) -> Vec<String> {
    let verdict = &judged.verdict;
    let mut lines = vec![head(input, at, named, paint)];
    let mut say = |name: &str, text: &str| lines.extend(row(name, text, paint));
    say("seen", &seen(input));
    say(
        "means",
        &format!("{}: {}", verdict.outcome, printable(&verdict.reason)),
    );
    say("rule", &printable(&verdict.rule));
    say("breaker", &breaker(verdict));
    say("retry", &retry(verdict));
    say("chain", chain(verdict));
    let hint = judged.explanation.as_ref().and_then(|e| e.hint.as_ref());
    if let Some(wait) = wait(verdict, hint) {
        say("wait", &wait);
    }
    if verdict.slow {
        let took = format_ms(input.observation.latency_ms);
        say(
            "slow",
            &format!("it took {took}, longer than the slow limit"),
        );
    }
    if let Some(explanation) = &judged.explanation {
        lines.extend(tried(&explanation.tried, paint));
    }
    lines
}

fn head(input: &Input, at: &str, (kind, whom): (&str, &str), paint: Paint) -> String {
    let whom = format!("by {kind} {whom}");
    let name = match &input.id {
        Some(id) => format!("{} ({at})", printable(id)),
        None => at.to_owned(),
    };
    format!("{name}  {}", paint.faint(&printable(&whom)))
}

fn seen(input: &Input) -> String {
    let seen = &input.observation;
    let mut parts = Vec::new();
    if let Some(response) = &seen.response {
        parts.push(response.status.to_string());
        parts.extend(response.header("content-type").map(printable));
        parts.push(match &response.body {
            None => "its body was not looked at".to_owned(),
            Some(body) => match body.len() {
                0 => "an empty body".to_owned(),
                size => format!("a body of {size} bytes"),
            },
        });
    }
    parts.extend(seen.failure.map(|failure| failure.name().to_owned()));
    if seen.latency_ms > 0 {
        parts.push(format!("after {}", format_ms(seen.latency_ms)));
    }
    parts.join(", ")
}

fn breaker(verdict: &Verdict) -> String {
    let whose = match verdict.blame {
        Blame::Nobody => "nobody is blamed",
        Blame::Caller => "the caller is blamed",
        Blame::Provider => "the provider is blamed",
        Blame::Account => "the account is blamed",
        Blame::Operation => "the operation is blamed",
    };
    let counts = match verdict.effect {
        Effect::Success => "counts a success",
        Effect::SlowSuccess => "counts a slow success",
        Effect::Failure => "counts a failure",
        Effect::Neutral => "counts nothing",
    };
    format!("{counts}; {whose}")
}

fn retry(verdict: &Verdict) -> String {
    match (verdict.retry_same, verdict.min_delay_ms) {
        (true, 0) => "the same request may be sent there again".to_owned(),
        (true, ms) => format!(
            "the same request may be sent there again, after {} or more",
            format_ms(ms)
        ),
        (false, _) => "the same request is not sent there again".to_owned(),
    }
}

fn chain(verdict: &Verdict) -> &'static str {
    match (verdict.next_provider, verdict.outcome) {
        (true, _) => "the next provider is asked, where there is one",
        (false, Outcome::Success | Outcome::NoResult) => "the answer is passed on",
        (false, _) => "no other provider is asked",
    }
}

fn wait(verdict: &Verdict, hint: Option<&HintSaid>) -> Option<String> {
    let least = match verdict.min_delay_ms {
        0 => None,
        ms => Some(format!("{} before it is asked again", format_ms(ms))),
    };
    let said = hint.map(|hint| {
        let believed = match (hint.clamped, verdict.retry_after_ms) {
            (true, Some(ms)) => format!(", of which {} are believed", format_ms(ms)),
            _ => String::new(),
        };
        let (wait, source) = (format_ms(hint.wait_ms), printable(&hint.source));
        format!("it said {wait} ({source}){believed}")
    });
    match (least, said) {
        (None, None) => None,
        (Some(least), Some(said)) => Some(format!("{least}: {said}")),
        (least, said) => least.or(said),
    }
}

/// Each rule that was tried, with what kept it from deciding.
fn tried(tried: &[Tried], paint: Paint) -> Vec<String> {
    const MARK: usize = 4;
    let longest = tried.iter().map(|tried| tried.rule.chars().count()).max();
    let names = longest.unwrap_or_default();
    let room = width().saturating_sub(names + MARK + 2).max(20);
    let mut lines = vec![format!("  {}", paint.faint("tried"))];
    for Tried { rule, decided, why } in tried {
        let name = format!("{:names$}", printable(rule));
        let name = match decided {
            true => format!("  {} {}", paint.good("*"), paint.good(&name)),
            false => format!("    {name}"),
        };
        let mut whys = wrapped(&printable(why), room).into_iter();
        let first = whys.next().unwrap_or_default();
        lines.push(format!("{name}  {first}"));
        lines.extend(whys.map(|more| format!("{:1$}{more}", "", names + MARK + 2)));
    }
    lines
}
