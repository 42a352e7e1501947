//! Operators' orders: forced open, forced closed, off, observe.

use super::types::{Context, Event, EventKind, OverrideError, OverrideMode, OverrideOrder};
use crate::config::Config;
use crate::record::{Reading, Record, Seen};
use crate::store::{KeyValue, Session, Stop};
use crate::target::Domain;

/// The longest `who` and `why`, in bytes: a line in a table.
const TEXT_MAX_BYTES: usize = 256;

/// Gives an operator's order for one domain, replacing the one before; `None` clears it. See
/// `wit/breaker.wit`.
///
/// # Errors
/// The domain or the order is not valid, or the store did not do its part.
pub fn order(
    config: &Config,
    store: &mut dyn KeyValue,
    domain: &str,
    order: Option<&OverrideOrder>,
    context: &Context,
) -> Result<Vec<Event>, OverrideError> {
    let domain = Domain::parse(domain).map_err(OverrideError::Invalid)?;
    if let Some(order) = order {
        check(order, context).map_err(OverrideError::Invalid)?;
    }
    let settings = config.settings(domain.provider());
    let key = domain.record_key(&config.prefix);
    let mut session = Session::new(store);
    for _ in 0..super::ROUNDS {
        let bytes = session
            .get(std::slice::from_ref(&key))
            .map_err(stopped)?
            .into_iter()
            .next()
            .flatten();
        let seen = Seen::read(bytes, settings, context.now_ms);
        if matches!(&seen.reading, Reading::Newer(newer) if newer.left_behind.is_none()) {
            let why = "the record was written by a newer policy, and is left alone".into();
            return Err(OverrideError::Invalid(why));
        }
        let base = seen.replaceable().cloned().unwrap_or_else(Record::fresh);
        let (after, ttl) = Record {
            order: order.cloned(),
            ..base
        }
        .written(settings, context.now_ms);
        if session
            .swap(&key, seen.bytes.as_deref(), &after.to_bytes(), ttl)
            .map_err(stopped)?
        {
            let detail = match order {
                Some(order) if order.enforce_percent > 0 => format!(
                    "{}, with {} of a hundred refusals enforced, by {}: {}",
                    order.mode, order.enforce_percent, order.who, order.why
                ),
                Some(order) => format!("{} by {}: {}", order.mode, order.who, order.why),
                None => "the order was cleared".into(),
            };
            let kind = EventKind::Ordered(order.map(|o| o.mode));
            return Ok(vec![Event {
                domain: domain.name(),
                at_ms: context.now_ms,
                kind,
                detail,
            }]);
        }
    }
    Err(OverrideError::Contended)
}

fn check(order: &OverrideOrder, context: &Context) -> Result<(), String> {
    for (what, text) in [("who", &order.who), ("why", &order.why)] {
        if text.is_empty() || text.len() > TEXT_MAX_BYTES {
            return Err(format!(
                "`{what}` has {} bytes, and must have 1 to {TEXT_MAX_BYTES}",
                text.len()
            ));
        }
    }
    if order.enforce_percent > 100 {
        return Err(format!(
            "{} of a hundred refusals cannot be enforced: write 0 to 100",
            order.enforce_percent
        ));
    }
    if order.enforce_percent > 0 && order.mode != OverrideMode::Observe {
        return Err(format!(
            "a share of refusals is enforced with the mode `observe`, and this is `{}`",
            order.mode
        ));
    }
    if order.until_ms != 0 && order.until_ms <= context.now_ms {
        return Err("the order would be over already".into());
    }
    Ok(())
}

pub(super) fn stopped(stop: Stop) -> OverrideError {
    match stop {
        Stop::Suspended(suspended) => OverrideError::Suspended(suspended),
        Stop::Store(why) => OverrideError::Store(why),
    }
}
