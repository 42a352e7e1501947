//! What a step does.

use fusewire_core::config::{Reader, duration};
use fusewire_core::{OverrideMode, Permit};
use serde_json::Value;

use super::Names;
use super::expect;
use super::observation::ended;
use super::value::{
    WHOLE_MAX, domain, optional_flag, optional_whole, optional_word, target, target_of, time_ms,
};
use crate::scenario::script::{Action, Asking, Lost, NextStep, Order, OrderEnd, Planned, START_MS};

type Read = fn(&Reader<'_>, u64, &mut Names) -> Option<Action>;

/// Every action by its key, in the order in which they are told to people.
pub(super) const ACTIONS: [(&str, Read); 13] = [
    ("admit", admit),
    ("settle", settle),
    ("overdue", overdue),
    ("call", call),
    ("record", record),
    ("inspect", inspect),
    ("order", order),
    ("explain", explain),
    ("store", store),
    ("lose", lose),
    ("put", put),
    ("forge", forge),
    ("next", next),
];

fn admit(reader: &Reader<'_>, times: u64, names: &mut Names) -> Option<Action> {
    Some(Action::Admit(asking(reader, "admit", times, names)?))
}

fn call(reader: &Reader<'_>, times: u64, names: &mut Names) -> Option<Action> {
    let asking = asking(reader, "call", times, names);
    let is_refused = asking
        .as_ref()
        .and_then(|asking| asking.expect.as_ref())
        .is_some_and(expect::is_refusal);
    if !is_refused {
        let ended = ended(reader);
        return Some(Action::Call(asking?, Some(ended?)));
    }
    if reader.value("with").is_some() {
        let wrong = "a call that is refused does not end";
        reader.problem("with", wrong, "leave `with` out");
    }
    Some(Action::Call(asking?, None))
}

fn asking(reader: &Reader<'_>, key: &str, times: u64, names: &mut Names) -> Option<Asking> {
    let expect = expect::admission(reader);
    let name = names.give(reader, times);
    let call_limit_ms = time_ms(reader, "call-limit");
    let fingerprint = optional_whole(reader, "fingerprint", 0..=WHOLE_MAX);
    let holds_until_ms = time_ms(reader, "holds-until");
    let limits = expect::limits(reader);
    let target = target(reader, key)?;
    Some(Asking {
        target,
        name,
        call_limit_ms,
        fingerprint,
        expect,
        holds_until_ms,
        limits,
    })
}

fn settle(reader: &Reader<'_>, _: u64, names: &mut Names) -> Option<Action> {
    let ended = ended(reader);
    let name = names.know(reader, "settle")?;
    Some(Action::Settle {
        name,
        ended: ended?,
    })
}

fn overdue(reader: &Reader<'_>, _: u64, names: &mut Names) -> Option<Action> {
    let name = names.know(reader, "overdue")?;
    Some(Action::Overdue { name })
}

fn explain(reader: &Reader<'_>, _: u64, _: &mut Names) -> Option<Action> {
    let expect = expect::facts(reader);
    Some(Action::Explain {
        domain: domain(reader, "explain")?,
        expect: expect?,
    })
}

fn forge(reader: &Reader<'_>, _: u64, _: &mut Names) -> Option<Action> {
    if !reader.has("token") {
        reader.problem(
            "token",
            "the forged permit has no text",
            "write such as `token = \"c:0\"`",
        );
    }
    let token = reader.text("token").unwrap_or_default();
    let probe = optional_flag(reader, "probe").unwrap_or(false);
    let ended = ended(reader);
    let target = target(reader, "forge")?;
    Some(Action::Forge(
        Permit {
            target,
            probe,
            token,
        },
        ended?,
    ))
}

fn record(reader: &Reader<'_>, _: u64, _: &mut Names) -> Option<Action> {
    let expect = expect::record(reader);
    Some(Action::Record {
        domain: domain(reader, "record")?,
        expect: expect?,
    })
}

fn inspect(reader: &Reader<'_>, _: u64, _: &mut Names) -> Option<Action> {
    let expect = expect::state(reader);
    let domain = domain(reader, "inspect")?;
    Some(Action::Inspect {
        target: target_of(&domain),
        domain,
        expect: expect?,
    })
}

fn order(reader: &Reader<'_>, _: u64, _: &mut Names) -> Option<Action> {
    if !reader.has("mode") {
        reader.problem(
            "mode",
            "the order does not say what to do",
            "write `mode = \"open\"`",
        );
    }
    let modes: Vec<(&str, Option<OverrideMode>)> = OverrideMode::ALL
        .iter()
        .map(|mode| (mode.name(), Some(*mode)))
        .chain(std::iter::once(("clear", None)))
        .collect();
    let mode = reader.word("mode", &modes, None);
    let who = reader.text("who").unwrap_or_else(|| "operator".into());
    let why = reader.text("why").unwrap_or_else(|| "by hand".into());
    let for_ms = time_ms(reader, "for");
    let enforce = optional_whole(reader, "enforce", 0..=1_000).unwrap_or(0);
    let order = mode.map(|mode| Order {
        mode,
        enforce_percent: u32::try_from(enforce).unwrap_or(u32::MAX),
        who,
        why,
        for_ms,
    });
    let expect = reader.word("expect", &OrderEnd::WORDS, OrderEnd::Done);
    Some(Action::Order {
        domain: domain(reader, "order")?,
        order,
        expect,
    })
}

fn store(reader: &Reader<'_>, _: u64, _: &mut Names) -> Option<Action> {
    Some(Action::Store {
        up: reader.word("store", &[("down", false), ("up", true)], true),
    })
}

fn lose(reader: &Reader<'_>, _: u64, _: &mut Names) -> Option<Action> {
    let words = [
        ("record", Lost::Record),
        ("counter", Lost::Counter),
        ("all", Lost::All),
    ];
    let what = reader.word("what", &words, Lost::Record);
    Some(Action::Lose {
        domain: domain(reader, "lose")?,
        what,
    })
}

fn put(reader: &Reader<'_>, _: u64, _: &mut Names) -> Option<Action> {
    if !reader.has("text") {
        reader.problem(
            "text",
            "there is nothing to put",
            "write such as `text = '{\"schema\": 9}'`",
        );
    }
    let text = reader.text("text").unwrap_or_default();
    let text = with_times(&text).unwrap_or_else(|bad| {
        let wrong = format!("`${{{bad}}}` is not a time");
        reader.problem("text", wrong, format!("write {} in it", duration::FORM));
        String::new()
    });
    Some(Action::Put {
        domain: domain(reader, "put")?,
        text,
    })
}

/// Puts a time in the place of each `${30s}`: ms since the Unix epoch.
fn with_times(text: &str) -> Result<String, String> {
    let mut parts = text.split("${");
    let mut done = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (time, rest) = part.split_once('}').ok_or_else(|| part.to_owned())?;
        let ms = duration::parse_ms(time).ok_or_else(|| time.to_owned())?;
        done.push_str(&START_MS.saturating_add(ms).to_string());
        done.push_str(rest);
    }
    Ok(done)
}

fn next(reader: &Reader<'_>, _: u64, names: &mut Names) -> Option<Action> {
    Some(Action::Next(Planned {
        attempts: reader.whole("attempts", 1, 1..=1_000),
        attempts_in_all: optional_whole(reader, "attempts-in-all", 1..=1_000),
        providers_left: reader.whole("providers-left", 0, 0..=1_000),
        deadline_ms: time_ms(reader, "deadline"),
        expect: next_step(reader),
        name: names.know(reader, "next")?,
    }))
}

fn next_step(reader: &Reader<'_>) -> Option<NextStep> {
    const STEPS: [(&str, NextStep); 4] = [
        ("done", NextStep::Done),
        ("retry", NextStep::Retry(None)),
        ("next-provider", NextStep::NextProvider),
        ("give-up", NextStep::GiveUp),
    ];
    match reader.value("expect")? {
        Value::Object(_) => {
            let table = reader.object("expect");
            let after = time_ms(&table, "retry");
            table.finish();
            Some(NextStep::Retry(after))
        }
        _ => optional_word(reader, "expect", &STEPS, |(word, _)| word).map(|(_, step)| step),
    }
}
