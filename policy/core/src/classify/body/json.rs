//! One pass over a JSON document that may break off, to the places that somebody watches.
//!
//! What nobody watches is skipped without being built or decoded. What is watched is handed over as
//! it comes, so memory depends on the longest watched text and not on the document. Nothing recurses
//! deeper than the pointers go.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::classify::profile::test::Seen;

/// The most places that are watched in one pass: one bit each.
pub(crate) const PLACES_MAX: usize = 64;

/// The most steps that a pointer goes down.
pub(crate) const STEPS_MAX: usize = 16;

/// A JSON Pointer (RFC 6901), in which `*` stands for any element of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pointer {
    steps: Vec<String>,
}

impl Pointer {
    /// Reads a pointer; `Err` says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Ok(Self { steps: Vec::new() });
        }
        let rest = text
            .strip_prefix('/')
            .ok_or("a JSON Pointer begins with a `/`")?;
        if text.len() > 256 {
            return Err("this pointer is longer than 256 bytes");
        }
        let mut steps = Vec::new();
        for step in rest.split('/') {
            let mut plain = String::new();
            let mut letters = step.chars();
            while let Some(c) = letters.next() {
                plain.push(match c {
                    '~' => match letters.next() {
                        Some('0') => '~',
                        Some('1') => '/',
                        _ => return Err("in a JSON Pointer `~` stands for nothing; `~0` is a `~` and `~1` a `/`"),
                    },
                    other => other,
                });
            }
            steps.push(plain);
        }
        if steps.len() > STEPS_MAX {
            return Err("this pointer goes down more than 16 steps");
        }
        Ok(Self { steps })
    }

    fn has_many(&self) -> bool {
        self.steps.iter().any(|step| step == "*")
    }
}

impl std::fmt::Display for Pointer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for step in &self.steps {
            write!(f, "/{}", step.replace('~', "~0").replace('/', "~1"))?;
        }
        Ok(())
    }
}

impl AsRef<Self> for Pointer {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// What a pass found out besides the values that it handed over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Pass {
    /// A bit for each place where there is a value.
    pub(crate) seen: u64,
    /// Whether the document was read to its end, so that what was not seen is not there.
    pub(crate) whole: bool,
}

/// Reads a document, and hands over what there is at each place, by the place's number.
///
/// Ends as soon as every place has been seen, and where the document breaks off or is none.
pub(crate) fn pass<P: AsRef<Pointer>>(
    body: &[u8],
    places: &[P],
    hand_over: &mut dyn FnMut(usize, Seen<'_>),
) -> Pass {
    let places: Vec<&Pointer> = places.iter().map(AsRef::as_ref).collect();
    let mut walk = Walk {
        places: &places,
        hand_over,
        seen: 0,
        enough: None,
    };
    let all = places
        .iter()
        .enumerate()
        .take(PLACES_MAX)
        .fold(0, |mask, (n, _)| mask | bit(n));
    // Of what may be there many times there is always more to see.
    if !places.iter().any(|place| place.has_many()) {
        walk.enough = Some(all);
    }
    let mut document = serde_json::Deserializer::from_slice(super::text::trimmed(body));
    let root = At {
        walk: &mut walk,
        mask: all,
        depth: 0,
    };
    let whole = root.deserialize(&mut document).is_ok();
    Pass {
        seen: walk.seen,
        whole,
    }
}

const fn bit(n: usize) -> u64 {
    // Never more than `PLACES_MAX`.
    1u64.wrapping_shl(n as u32)
}

/// The numbers of the bits that are set.
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let n = mask.trailing_zeros() as usize;
        mask &= mask.checked_sub(1)?;
        Some(n)
    })
}

struct Walk<'w> {
    places: &'w [&'w Pointer],
    hand_over: &'w mut dyn FnMut(usize, Seen<'_>),
    seen: u64,
    /// The places after which the pass may end.
    enough: Option<u64>,
}

impl Walk<'_> {
    /// The places of `mask` that go on from this depth with such a step.
    fn onward(&self, mask: u64, depth: usize, is: impl Fn(&str) -> bool) -> u64 {
        bits(mask)
            .filter(|n| {
                let step = self.places.get(*n).and_then(|place| place.steps.get(depth));
                step.is_some_and(|step| is(step))
            })
            .fold(0, |onward, n| onward | bit(n))
    }
}

/// A value on the way to the places of `mask`.
struct At<'x, 'w> {
    walk: &'x mut Walk<'w>,
    mask: u64,
    depth: usize,
}

impl<'w> At<'_, 'w> {
    /// Hands a value over to the places that end here. An error ends the pass.
    fn found<E: Error>(&mut self, seen: Seen<'_>) -> Result<(), E> {
        for n in bits(self.mask) {
            let place = self.walk.places.get(n);
            if place.is_some_and(|place| place.steps.len() == self.depth) {
                self.walk.seen |= bit(n);
                (self.walk.hand_over)(n, seen);
            }
        }
        match self.walk.enough {
            Some(enough) if self.walk.seen == enough => Err(E::custom("all is seen")),
            _ => Ok(()),
        }
    }

    fn below(&mut self, mask: u64) -> At<'_, 'w> {
        At {
            walk: self.walk,
            mask,
            depth: self.depth.saturating_add(1),
        }
    }
}

impl<'de> DeserializeSeed<'de> for At<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<(), D::Error> {
        if self.mask == 0 {
            // Skipped without recursion, however deep it goes.
            IgnoredAny::deserialize(document).map(drop)
        } else {
            document.deserialize_any(self)
        }
    }
}

impl<'de> Visitor<'de> for At<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(mut self, value: bool) -> Result<(), E> {
        self.found(Seen::Bool(value))
    }

    fn visit_i64<E: Error>(mut self, value: i64) -> Result<(), E> {
        self.found(Seen::Integer(value))
    }

    fn visit_u64<E: Error>(mut self, value: u64) -> Result<(), E> {
        self.found(match i64::try_from(value) {
            Ok(value) => Seen::Integer(value),
            Err(_) => Seen::Number(value as f64),
        })
    }

    fn visit_f64<E: Error>(mut self, value: f64) -> Result<(), E> {
        self.found(Seen::Number(value))
    }

    fn visit_str<E: Error>(mut self, value: &str) -> Result<(), E> {
        self.found(Seen::Text(value))
    }

    fn visit_unit<E: Error>(mut self) -> Result<(), E> {
        self.found(Seen::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let (mask, depth) = (self.mask, self.depth);
        let mut index = 0usize;
        loop {
            let mut number = itoa::Buffer::new();
            let number = number.format(index);
            let onward = self
                .walk
                .onward(mask, depth, |step| step == "*" || step == number);
            match list.next_element_seed(self.below(onward))? {
                Some(()) if index == 0 => self.found(Seen::Container { is_empty: false })?,
                Some(()) => {}
                None if index == 0 => return self.found(Seen::Container { is_empty: true }),
                None => return Ok(()),
            }
            index = index.saturating_add(1);
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut object: A) -> Result<(), A::Error> {
        let (mask, depth) = (self.mask, self.depth);
        let mut is_empty = true;
        loop {
            let key = Key {
                walk: self.walk,
                mask,
                depth,
            };
            let Some(onward) = object.next_key_seed(key)? else {
                return match is_empty {
                    true => self.found(Seen::Container { is_empty }),
                    false => Ok(()),
                };
            };
            if is_empty {
                is_empty = false;
                self.found(Seen::Container { is_empty })?;
            }
            object.next_value_seed(self.below(onward))?;
        }
    }
}

/// The name of a member; answers the places that go on with it.
struct Key<'x, 'w> {
    walk: &'x Walk<'w>,
    mask: u64,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Key<'_, '_> {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<u64, D::Error> {
        document.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_, '_> {
    type Value = u64;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<u64, E> {
        Ok(self.walk.onward(self.mask, self.depth, |step| step == key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// What is at these places, as text.
    fn at(body: &[u8], places: &[&str]) -> (Vec<(usize, String)>, Pass) {
        let pointers: Vec<Pointer> = places.iter().map(|p| Pointer::parse(p).unwrap()).collect();
        let mut found = Vec::new();
        let pass = pass(body, &pointers, &mut |n, seen| {
            found.push((n, format!("{seen:?}")));
        });
        (found, pass)
    }

    #[test]
    fn values_are_found_at_their_places_and_an_element_of_a_list_by_number_or_by_any() {
        let body = json!({"a": [{"b": 1}, {"b": "x"}], "c": null, "d~/": true}).to_string();
        let (found, pass) = at(
            body.as_bytes(),
            &["/a/*/b", "/a/1/b", "/c", "/d~0~1", "/e", "/a"],
        );
        let mut found: Vec<(usize, &str)> = found.iter().map(|(n, v)| (*n, v.as_str())).collect();
        found.sort_unstable();
        assert_eq!(
            found,
            [
                (0, "Integer(1)"),
                (0, "Text(\"x\")"),
                (1, "Text(\"x\")"),
                (2, "Null"),
                (3, "Bool(true)"),
                (5, "Container { is_empty: false }"),
            ]
        );
        assert_eq!(
            pass,
            Pass {
                seen: 0b10_1111,
                whole: true
            }
        );
    }

    #[test]
    fn what_comes_before_a_document_breaks_off_is_seen_and_nothing_is_known_to_be_absent() {
        let (found, pass) = at(
            br#"{"status": "OVER", "results": [{"a": "#,
            &["/status", "/z"],
        );
        assert_eq!(found, [(0, "Text(\"OVER\")".to_owned())]);
        assert!(!pass.whole);
        for body in ["", "<html>", "[", "{\"a\"", "nul"] {
            assert!(!at(body.as_bytes(), &["/a"]).1.whole, "{body}");
        }
    }

    #[test]
    fn the_pass_ends_where_all_is_seen() {
        let (found, pass) = at(br#"{"status": 7, and then no JSON at all"#, &["/status"]);
        assert_eq!(found, [(0, "Integer(7)".to_owned())]);
        assert_eq!(pass.seen, 1);
    }

    #[test]
    fn a_list_within_lists_a_thousand_times_is_passed_over_and_one_that_is_watched_ends_the_pass() {
        let deep = [&b"{\"a\": "[..], &[b'['; 60_000], b", \"b\": 1}"].concat();
        assert!(!at(&deep, &["/b"]).1.whole);
        let closed = [
            &b"{\"a\": "[..],
            &[b'['; 20_000],
            &[b']'; 20_000],
            b", \"b\": 1}",
        ]
        .concat();
        assert_eq!(at(&closed, &["/b"]).0, [(0, "Integer(1)".to_owned())]);
        let steps = "/a".repeat(STEPS_MAX);
        assert!(Pointer::parse(&steps).is_ok() && Pointer::parse(&(steps + "/a")).is_err());
    }

    #[test]
    fn a_pointer_that_is_none_is_told_why() {
        for (text, why) in [
            ("status", "begins with a `/`"),
            ("/a~", "`~` stands for nothing"),
            ("/a~2", "`~` stands for nothing"),
        ] {
            assert!(Pointer::parse(text).unwrap_err().contains(why), "{text}");
        }
    }

    fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,4}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[ab01]", inner, 0..4)
                    .prop_map(|map| map.into_iter().collect::<Value>()),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_finds_what_serde_json_finds(document in document(), pointer in "(/[ab01]){0,4}") {
            let text = document.to_string();
            let (found, pass) = at(text.as_bytes(), &[&pointer]);
            let there = document.pointer(&pointer).map(|value| match value {
                Value::Null => "Null".to_owned(),
                Value::Bool(b) => format!("Bool({b})"),
                Value::Number(n) => format!("Integer({n})"),
                Value::String(s) => format!("Text({s:?})"),
                Value::Array(a) => format!("Container {{ is_empty: {} }}", a.is_empty()),
                Value::Object(o) => format!("Container {{ is_empty: {} }}", o.is_empty()),
            });
            prop_assert_eq!(pass.seen == 1, there.is_some());
            prop_assert!(pass.whole || there.is_some());
            prop_assert_eq!(found.into_iter().map(|(_, v)| v).next(), there);
        }

        #[test]
        fn no_bytes_make_it_panic(body: Vec<u8>, text in r#"[\[\]{}",:a0\\-]{0,40}"#) {
            let _ = at(&body, &["", "/a", "/*/a", "/a/*"]);
            let _ = at(text.as_bytes(), &["", "/a", "/*/a", "/a/*"]);
        }
    }
}
