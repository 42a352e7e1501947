//! Operators' orders: one small record per provider, which is there only while an order is.

use serde::Serialize;
use serde_json::Value;

use crate::bindings::exports::fusewire::policy::breaker::{
    Context, Event, EventKind, OverrideError, OverrideMode, OverrideOrder,
};
use crate::breaker;
use crate::config::Config;
use crate::names;
use crate::store::{Stop, Store};

/// The newest schema of the record that is read and written here.
pub(crate) const SCHEMA: u32 = 1;

/// The longest `who` and `why`, in bytes: a line in a table.
const TEXT_MAX_BYTES: usize = 256;
/// How often an order that others change at the same time is read again. Each round lost means
/// that somebody else's order was carried out.
const ROUNDS: u32 = 4;

/// An order as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Order {
    pub(crate) mode: OverrideMode,
    pub(crate) who: String,
    pub(crate) why: String,
    /// Zero: it stands until it is cleared.
    pub(crate) until_ms: u64,
}

/// What was found where an order is kept.
#[derive(Debug)]
pub(crate) struct Stored {
    bytes: Option<Vec<u8>>,
    schema: u64,
    order: Option<Order>,
}

impl Stored {
    pub(crate) fn read(store: &mut Store, config: &Config, provider: &str) -> Result<Self, Stop> {
        let bytes = store.get(names::order_key(config, provider))?;
        Ok(Self::parse(bytes))
    }

    /// Anything may be found there. What cannot be read is no order, and is replaced by the next.
    /// A record of a newer schema is left alone; a mode of a known name is believed, since to
    /// overlook an operator's order is worse than to take it too plainly.
    fn parse(bytes: Option<Vec<u8>>) -> Self {
        let value: Value = bytes
            .as_deref()
            .and_then(|bytes| serde_json::from_slice(bytes).ok())
            .unwrap_or_default();
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let number = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or_default();
        let order = mode(text("mode")).map(|mode| Order {
            mode,
            who: text("who").into(),
            why: text("why").into(),
            until_ms: number("until"),
        });
        Self {
            schema: number("schema"),
            order,
            bytes,
        }
    }

    /// The order that holds at this moment.
    pub(crate) fn in_force(&self, now_ms: u64) -> Option<&Order> {
        self.order.as_ref().filter(|order| now_ms < order.ends_ms())
    }

    /// The record as a text, for people.
    pub(crate) fn text(&self) -> Option<String> {
        String::from_utf8(self.bytes.clone()?).ok()
    }
}

impl Order {
    /// When it ends; for one that stands until it is cleared, never.
    pub(crate) fn ends_ms(&self) -> u64 {
        match self.until_ms {
            0 => u64::MAX,
            until => until,
        }
    }

    pub(crate) fn to_contract(&self) -> OverrideOrder {
        OverrideOrder {
            mode: self.mode,
            who: self.who.clone(),
            why: self.why.clone(),
            until_ms: self.until_ms,
        }
    }
}

/// Gives an order for a provider, or clears the one there is.
pub(crate) fn set(
    config: &Config,
    domain: &str,
    order: Option<OverrideOrder>,
    context: &Context,
) -> Result<Vec<Event>, OverrideError> {
    check_domain(domain).map_err(OverrideError::Invalid)?;
    if let Some(order) = &order {
        check(order, context).map_err(OverrideError::Invalid)?;
    }
    let replacement = order.as_ref().map(to_bytes);
    let ttl_ms = match order.as_ref().map_or(0, |order| order.until_ms) {
        0 => 0,
        until => until.saturating_sub(context.now_ms),
    };
    let key = names::order_key(config, domain);
    let mut store = Store::default();
    for _ in 0..ROUNDS {
        let stored = Stored::read(&mut store, config, domain).map_err(stopped)?;
        if stored.schema > SCHEMA.into() {
            let why = "the order there is was given through a newer policy, and is left alone";
            return Err(OverrideError::Invalid(why.into()));
        }
        let (seen, replacement) = (stored.bytes.as_deref(), replacement.as_deref());
        let nothing_to_clear = seen.is_none() && replacement.is_none();
        if nothing_to_clear
            || store
                .swap(&key, seen, replacement, ttl_ms)
                .map_err(stopped)?
        {
            let detail = match &order {
                Some(order) => format!("{} by {}: {}", name(order.mode), order.who, order.why),
                None => "the order was cleared".into(),
            };
            let kind = EventKind::Ordered(order.map(|order| order.mode));
            return Ok(vec![breaker::event(domain, kind, &detail, context)]);
        }
    }
    Err(OverrideError::Contended)
}

/// The contract has orders for accounts and operations too; this policy has nothing to do with them.
fn check_domain(domain: &str) -> Result<(), String> {
    match domain.split_once(['@', '/']) {
        Some((provider, _)) => Err(format!(
            "this policy throttles providers as a whole: give the order for `{provider}`"
        )),
        None => names::check_provider(domain),
    }
}

fn check(order: &OverrideOrder, context: &Context) -> Result<(), String> {
    for (what, text) in [("who", &order.who), ("why", &order.why)] {
        let length = text.len();
        if length == 0 || length > TEXT_MAX_BYTES {
            return Err(format!(
                "`{what}` has {length} bytes, and must have 1 to {TEXT_MAX_BYTES}"
            ));
        }
    }
    if order.until_ms != 0 && order.until_ms <= context.now_ms {
        return Err("the order would be over already".into());
    }
    Ok(())
}

/// The record as it is written. Derived, since a writer for any JSON brings along how fractions are
/// printed.
#[derive(Serialize)]
struct Record<'a> {
    schema: u32,
    mode: &'a str,
    who: &'a str,
    why: &'a str,
    until: u64,
}

fn to_bytes(order: &OverrideOrder) -> Vec<u8> {
    let record = Record {
        schema: SCHEMA,
        mode: name(order.mode),
        who: &order.who,
        why: &order.why,
        until: order.until_ms,
    };
    // Strings and numbers, written to memory: that cannot fail.
    serde_json::to_vec(&record).unwrap_or_default()
}

const MODES: [(OverrideMode, &str); 4] = [
    (OverrideMode::Open, "open"),
    (OverrideMode::Closed, "closed"),
    (OverrideMode::Off, "off"),
    (OverrideMode::Observe, "observe"),
];

fn mode(name: &str) -> Option<OverrideMode> {
    let found = MODES.iter().find(|(_, known)| *known == name);
    found.map(|(mode, _)| *mode)
}

fn name(mode: OverrideMode) -> &'static str {
    let found = MODES.iter().find(|(known, _)| *known == mode);
    found.map_or("", |(_, name)| name)
}

fn stopped(stop: Stop) -> OverrideError {
    match stop {
        Stop::Suspended(suspended) => OverrideError::Suspended(suspended),
        Stop::Failed(why) => OverrideError::Store(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Stored {
        Stored::parse(Some(text.into()))
    }

    #[test]
    fn an_order_that_was_written_is_read_back() {
        for (mode, _) in MODES {
            let order = OverrideOrder {
                mode,
                who: "kim \"k\"".into(),
                why: "maintenance\n".into(),
                until_ms: 1_000,
            };
            let stored = Stored::parse(Some(to_bytes(&order)));
            assert_eq!(stored.in_force(999).map(Order::to_contract), Some(order));
            assert_eq!(stored.in_force(1_000), None);
        }
    }

    #[test]
    fn an_order_without_an_end_stands() {
        let stored = parse(r#"{"schema":1,"mode":"off","who":"kim","why":"x","until":0}"#);
        assert!(stored.in_force(u64::MAX - 1).is_some());
    }

    #[test]
    fn an_order_of_a_newer_policy_is_obeyed_where_it_can_be_read() {
        let newer = parse(r#"{"schema":7,"mode":"open","scope":{"share":0.5}}"#);
        assert_eq!(
            newer.in_force(1).map(|order| order.mode),
            Some(OverrideMode::Open)
        );
        let strange = parse(r#"{"schema":7,"mode":"half"}"#);
        assert_eq!((strange.in_force(1), strange.schema), (None, 7));
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange_to_be_read(bytes: Vec<u8>, now: u64) {
            let _ = Stored::parse(Some(bytes)).in_force(now);
        }
    }
}
