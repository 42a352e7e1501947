//! What belongs to this instance alone (`wit/keyvalue.wit`, "Keys and values"): it stays in its own
//! memory, and is there while the bucket is out of reach.
//!
//! It is gone with the instance. A host that makes one for each request has nothing of it, and loses
//! nothing: what such an instance would find alone is nothing to go by.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::bucket::Failure;
use crate::register::Register;

/// How many values are kept. Past it all are forgotten, and what still matters is written again.
const VALUES_MAX: usize = 4_096;

/// Values in this instance's memory.
#[derive(Debug, Default)]
pub struct Own(RefCell<BTreeMap<String, Vec<u8>>>);

impl Register for Own {
    type Seen = Option<Vec<u8>>;

    fn read(&self, key: &str) -> Result<(Option<Vec<u8>>, Self::Seen), Failure> {
        let held = self.0.borrow().get(key).cloned();
        Ok((held.clone(), held))
    }

    fn replace(&self, key: &str, seen: Self::Seen, value: &[u8]) -> Result<bool, Failure> {
        let mut values = self.0.borrow_mut();
        if values.get(key) != seen.as_ref() {
            return Ok(false);
        }
        if values.len() >= VALUES_MAX && !values.contains_key(key) {
            values.clear();
        }
        values.insert(key.to_owned(), value.to_owned());
        Ok(true)
    }
}

/// Whether a key belongs to one instance alone: `local:` stands behind the prefix, and the instance's
/// mark at the end.
#[must_use]
pub fn is_own(key: &str) -> bool {
    let marked = key
        .rsplit_once('!')
        .is_some_and(|(_, mark)| mark.len() == 16 && mark.bytes().all(|b| b.is_ascii_hexdigit()));
    marked && (key.contains(":local:s:{") || key.contains(":local:w:{"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusewire_core::Domain;

    #[test]
    fn an_instances_own_keys_are_told_from_the_fleets() {
        for name in ["p", "p@account", "p/op!0123456789abcdef"] {
            let domain = Domain::parse(name).unwrap();
            for prefix in ["fusewire", "a:b", "x:local"] {
                assert!(
                    is_own(&domain.own_record_key(prefix, "a")),
                    "{prefix} {name}"
                );
                assert!(
                    is_own(&domain.own_window_key(prefix, "a")),
                    "{prefix} {name}"
                );
                assert!(!is_own(&domain.latency_key(prefix)), "{prefix} {name}");
            }
            for key in [domain.record_key("fusewire"), domain.window_key("a:b")] {
                assert!(!is_own(&key), "{key}");
            }
        }
    }

    #[test]
    fn a_value_is_replaced_only_where_it_is_what_was_read() {
        let own = Own::default();
        let (held, seen) = own.read("k").unwrap();
        assert_eq!(held, None);
        assert!(own.replace("k", seen.clone(), b"1").unwrap());
        assert!(!own.replace("k", seen, b"2").unwrap());
        assert_eq!(own.read("k").unwrap().0.as_deref(), Some(&b"1"[..]));
    }

    #[test]
    fn values_without_end_are_not_kept_without_end() {
        let own = Own::default();
        for n in 0..3 * VALUES_MAX {
            assert!(own.replace(&n.to_string(), None, b"x").unwrap());
        }
        assert!(own.0.borrow().len() <= VALUES_MAX);
    }
}
