//! Which header fields pass through.

use crate::bindings::fusewire::policy::classifier::Field;
use crate::bindings::wasi::http::types::Fields;

/// What the guard's own fields begin with. They never pass through, so that a caller can believe
/// them.
const OWN: &str = "fusewire-";

/// Fields that are about one connection (RFC 9110, section 7.6.1, and what RFC 2616 named). Hosts
/// of `wasi:http` keep most of these to themselves, and with `Connection` what it names.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Fields of a request that are about this side of the guard, and are made anew.
const OF_THE_CALLER: [&str; 2] = ["host", "expect"];

/// The fields of an answer that are for the caller.
pub(crate) fn to_caller(from: &Fields) -> Fields {
    passing(from, &[])
}

/// The fields of a request that are for the service.
pub(crate) fn to_service(from: &Fields) -> Fields {
    let fields = passing(from, &OF_THE_CALLER);
    // RFC 9110, section 7.6.3: what forwards says so, which also shows a loop.
    let _ = fields.append("via", b"1.1 fusewire");
    fields
}

fn passing(from: &Fields, besides: &[&str]) -> Fields {
    let passing = Fields::new();
    for (name, value) in from.entries() {
        let lower = name.to_ascii_lowercase();
        let stays = HOP_BY_HOP.contains(&lower.as_str())
            || besides.contains(&lower.as_str())
            || lower.starts_with(OWN);
        if !stays {
            // A host may forbid more than these; what it forbids it makes itself.
            let _ = passing.append(&name, &value);
        }
    }
    passing
}

/// The fields as the policy is told them.
pub(crate) fn told(fields: &Fields) -> Vec<Field> {
    let text = |value: Vec<u8>| String::from_utf8_lossy(&value).into_owned();
    fields
        .entries()
        .into_iter()
        .map(|(name, value)| Field {
            name,
            value: text(value),
        })
        .collect()
}

/// The one value of a field, as text.
pub(crate) fn value(fields: &Fields, name: &str) -> Option<String> {
    let value = fields.get(name).into_iter().next()?;
    String::from_utf8(value).ok()
}
