//! Orders, states and records, and what befalls a store.

use fusewire_core::{OverrideError, OverrideOrder, Target};
use serde_json::{Value, json};

use super::turn::Turn;
use super::{Player, Stopped};
use crate::engine::{Answer, Call};
use crate::scenario::check::{self, Difference};
use crate::scenario::runtime::Runtime;
use crate::scenario::script::{Facts, Lost, Order, OrderEnd, Wanted};

impl<R: Runtime> Player<'_, R> {
    pub(super) async fn order(
        &mut self,
        now: &mut Turn<'_>,
        domain: &str,
        order: Option<&Order>,
        expect: OrderEnd,
    ) -> Result<(), Stopped> {
        now.home = domain.to_owned();
        let (by, mode) = (
            &now.context.instance,
            order.map_or("clear", |order| order.mode.name()),
        );
        now.doing = format!("{by} orders {domain} {mode}");
        let order = order.map(|order| OverrideOrder {
            mode: order.mode,
            enforce_percent: order.enforce_percent,
            who: order.who.clone(),
            why: order.why.clone(),
            until_ms: order
                .for_ms
                .map_or(0, |ms| now.context.now_ms.saturating_add(ms)),
        });
        let answer = self
            .ask(
                now,
                Call::Order(domain.to_owned(), order, now.context.clone()),
            )
            .await?;
        let Answer::Ordered(ordered) = answer else {
            return Err(self.confused(now));
        };
        let (end, why) = ended(&ordered);
        now.line
            .say("ordered", &json!({"end": end.word(), "why": why}));
        let events = ordered.unwrap_or_default();
        now.line.say("events", &events);
        now.said.push(end.word().into());
        now.happened(&events);
        let differs =
            (end != expect).then(|| (expect.word().into(), format!("{}: {why}", end.word())));
        now.differ("expect", differs);
        self.look(now, &[domain.to_owned()]).await
    }

    pub(super) async fn inspect(
        &mut self,
        now: &mut Turn<'_>,
        target: &Target,
        domain: &str,
        expect: &Wanted,
    ) -> Result<(), Stopped> {
        now.doing = format!("{} inspects {domain}", now.context.instance);
        let answer = self
            .ask(now, Call::Inspect(target.clone(), now.context.clone()))
            .await?;
        let Answer::States(states) = answer else {
            return Err(self.confused(now));
        };
        now.line.say("states", &states);
        let found = states
            .iter()
            .find(|state| state.domain == domain)
            .map(|state| json!(state));
        now.differ("expect", wanted(expect, found.as_ref(), "no state"));
        Ok(())
    }

    pub(super) async fn explain(
        &mut self,
        now: &mut Turn<'_>,
        domain: &str,
        expect: &Facts,
    ) -> Result<(), Stopped> {
        now.doing = format!("{} asks why {domain} stands so", now.context.instance);
        let answer = self
            .ask(now, Call::Explain(domain.to_owned(), now.context.clone()))
            .await?;
        let Answer::Facts(facts) = answer else {
            return Err(self.confused(now));
        };
        let (end, why) = ended(&facts);
        now.line
            .say("explained", &json!({"end": end.word(), "why": why}));
        let facts = facts.unwrap_or_default();
        now.line.say("facts", &facts);
        let differs = match expect {
            Facts::Failed(expected) => (end != *expected)
                .then(|| (expected.word().to_owned(), format!("{}: {why}", end.word()))),
            Facts::Are(_) if end != OrderEnd::Done => {
                Some(("an explanation".into(), format!("{}: {why}", end.word())))
            }
            Facts::Are(wanted) => check::facts(wanted, &facts),
        };
        now.differ("expect", differs);
        Ok(())
    }

    pub(super) async fn record(
        &mut self,
        now: &mut Turn<'_>,
        domain: &str,
        expect: &Wanted,
    ) -> Result<(), Stopped> {
        now.doing = format!("the record of {domain}");
        let key = self.domain(now, domain)?.record_key(self.prefix);
        let found = self.runtime.peek(vec![key]).await;
        let found = self.stored(now, found)?.pop().flatten();
        let text = found.as_deref().map(String::from_utf8_lossy);
        now.said
            .push(text.as_deref().unwrap_or("absent").to_owned());
        let parsed = text
            .as_deref()
            .map(|text| serde_json::from_str(text).unwrap_or_else(|_| json!(text)));
        now.differ("expect", wanted(expect, parsed.as_ref(), "absent"));
        self.look(now, &[domain.to_owned()]).await
    }

    pub(super) async fn put(
        &mut self,
        now: &mut Turn<'_>,
        domain: &str,
        text: &str,
    ) -> Result<(), Stopped> {
        now.doing = format!("somebody writes the record of {domain}");
        let key = self.domain(now, domain)?.record_key(self.prefix);
        let put = self.runtime.put(&key, Some(text.as_bytes())).await;
        self.stored(now, put)?;
        self.look(now, &[domain.to_owned()]).await
    }

    pub(super) async fn lose(
        &mut self,
        now: &mut Turn<'_>,
        domain: &str,
        what: Lost,
    ) -> Result<(), Stopped> {
        let words = match what {
            Lost::Record => "the record",
            Lost::Counter => "the counter",
            Lost::All => "all",
        };
        now.doing = format!("the store loses {words} of {domain}");
        let parsed = self.domain(now, domain)?;
        if what != Lost::Counter {
            let lost = self
                .runtime
                .put(&parsed.record_key(self.prefix), None)
                .await;
            self.stored(now, lost)?;
        }
        if what != Lost::Record {
            let key = parsed.window_key(self.prefix);
            let lost = self.runtime.lose_counter(&key).await;
            lost.map_err(|why| self.fault(now, &why))?;
        }
        self.look(now, &[domain.to_owned()]).await
    }
}

/// How an operator's question went, and why it failed.
fn ended<T>(answer: &Result<T, OverrideError>) -> (OrderEnd, String) {
    match answer {
        Ok(_) => (OrderEnd::Done, String::new()),
        Err(OverrideError::Invalid(why)) => (OrderEnd::Invalid, why.clone()),
        Err(OverrideError::Store(why)) => (OrderEnd::Store, why.clone()),
        Err(OverrideError::Contended | OverrideError::Suspended(_)) => {
            (OrderEnd::Contended, String::new())
        }
    }
}

fn wanted(expect: &Wanted, found: Option<&Value>, none: &str) -> Option<Difference> {
    match (expect, found) {
        (Wanted::Absent, None) => None,
        (Wanted::Absent, Some(found)) => Some((none.into(), found.to_string())),
        (Wanted::Fields(_), None) => Some(("there is one".into(), none.into())),
        (Wanted::Fields(fields), Some(found)) => check::fields(fields, found),
    }
}
