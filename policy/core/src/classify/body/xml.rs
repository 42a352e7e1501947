//! One pass over an XML document that may break off, to the elements and attributes that somebody
//! watches.
//!
//! Namespaces are ignored: the same report comes with the prefix `ows:`, with another, and without.
//! No entity is expanded but the five of XML itself, and no document type is read, so what a body
//! says can neither grow nor reach out. The text of an element is all the text in it, at most
//! [`TEXT_MAX`] bytes.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::classify::profile::test::Seen;

/// The most text of one element that is looked at, in bytes: reports of exceptions have a few
/// hundred, some with a stack trace behind the sentence.
const TEXT_MAX: usize = 8 << 10;

/// A place in a document: an element by its name, the root, or an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Whether the element has to be the document's root.
    pub(crate) root: bool,
    /// The local name of the element; any where there is none.
    pub(crate) element: Option<String>,
    /// The local name of its attribute; its text where there is none.
    pub(crate) attribute: Option<String>,
}

impl Place {
    /// Reads `Name`, `/Name`, `Name@attribute`, `/Name@attribute` or `@attribute`.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        const FORM: &str =
            "this is none of `Name`, `/Name` (the root), `Name@attribute` and `@attribute`";
        let (root, rest) = match text.strip_prefix('/') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (element, attribute) = match rest.split_once('@') {
            Some((element, attribute)) => (element, Some(attribute)),
            None => (rest, None),
        };
        let is_name = |name: &str| {
            !name.is_empty()
                && name.len() <= 128
                && !name.contains(|c: char| " /@:<>\"'=&".contains(c) || c.is_control())
        };
        let element = (!element.is_empty()).then_some(element);
        if !element.or(attribute).is_some_and(is_name)
            || !element.is_none_or(is_name)
            || !attribute.is_none_or(is_name)
            || (root && element.is_none())
        {
            return Err(FORM);
        }
        Ok(Self {
            root,
            element: element.map(str::to_owned),
            attribute: attribute.map(str::to_owned),
        })
    }

    fn is_at(&self, name: &str, is_root: bool) -> bool {
        (is_root || !self.root) && self.element.as_ref().is_none_or(|element| element == name)
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let root = if self.root { "/" } else { "" };
        write!(f, "{root}{}", self.element.as_deref().unwrap_or_default())?;
        match &self.attribute {
            Some(attribute) => write!(f, "@{attribute}"),
            None => Ok(()),
        }
    }
}

impl AsRef<Self> for Place {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// Reads a document, and hands over what there is at each place, by the place's number. Whether it
/// was read to its end.
pub(crate) fn pass<P: AsRef<Place>>(
    body: &[u8],
    places: &[P],
    hand_over: &mut dyn FnMut(usize, Seen<'_>),
) -> bool {
    let places: Vec<&Place> = places.iter().map(AsRef::as_ref).collect();
    // A report in another encoding is mostly ASCII.
    let text = String::from_utf8_lossy(super::text::trimmed(body));
    let mut reader = Reader::from_str(&text);
    let config = reader.config_mut();
    // What stands in a report is of use even where its ends are not in order.
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    let mut watch = Watch {
        places: &places,
        hand_over,
        text: None,
        depth: 0,
        roots: 0,
    };
    let whole = loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => {
                watch.start(&tag);
                watch.depth = watch.depth.saturating_add(1);
            }
            Ok(Event::Empty(tag)) => {
                watch.start(&tag);
                watch.close(watch.depth);
            }
            Ok(Event::End(_)) => {
                watch.depth = watch.depth.saturating_sub(1);
                watch.close(watch.depth);
            }
            Ok(Event::Text(text)) => watch.text(&text),
            Ok(Event::CData(text)) => watch.text(&text),
            Ok(Event::GeneralRef(name)) => watch.text(match &*name {
                "lt" => "<",
                "gt" => ">",
                "amp" => "&",
                "quot" => "\"",
                "apos" => "'",
                _ => " ",
            }),
            Ok(Event::Eof) => break watch.depth == 0 && watch.roots > 0,
            Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => {}
            Err(_) => break false,
        }
    };
    watch.close(0);
    whole
}

struct Watch<'w> {
    places: &'w [&'w Place],
    hand_over: &'w mut dyn FnMut(usize, Seen<'_>),
    /// The text of the watched element that was opened last, with its place and depth.
    text: Option<(usize, usize, String)>,
    depth: usize,
    roots: usize,
}

impl Watch<'_> {
    fn start(&mut self, tag: &BytesStart<'_>) {
        let is_root = self.depth == 0;
        if is_root {
            self.roots = self.roots.saturating_add(1);
        }
        let name = tag.local_name();
        let mut has_attributes = false;
        for (n, place) in self.places.iter().enumerate() {
            if !place.is_at(name.as_ref(), is_root) {
                continue;
            }
            if place.attribute.is_some() {
                has_attributes = true;
            } else {
                self.close(0);
                self.text = Some((n, self.depth, String::new()));
            }
        }
        if !has_attributes {
            return;
        }
        // One pass for all places: reading them takes longer than comparing them.
        for attribute in tag.attributes().with_checks(false).flatten() {
            let key = attribute.key.local_name();
            for (n, place) in self.places.iter().enumerate() {
                let wanted = place.attribute.as_deref();
                if wanted == Some(key.as_ref()) && place.is_at(name.as_ref(), is_root) {
                    (self.hand_over)(n, Seen::Plain(attribute.value.trim()));
                }
            }
        }
    }

    fn text(&mut self, more: &str) {
        if let Some((_, _, text)) = &mut self.text {
            let room = TEXT_MAX.saturating_sub(text.len()).min(more.len());
            let room = more.floor_char_boundary(room);
            text.push_str(more.get(..room).unwrap_or_default());
        }
    }

    /// Hands the text over where its element was opened at this depth or below.
    fn close(&mut self, depth: usize) {
        if let Some((n, _, text)) = self.text.take_if(|(_, opened, _)| *opened >= depth) {
            (self.hand_over)(n, Seen::Plain(text.trim()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(body: &str, places: &[&str]) -> (Vec<(usize, String)>, bool) {
        let places: Vec<Place> = places.iter().map(|p| Place::parse(p).unwrap()).collect();
        let mut found = Vec::new();
        let whole = pass(body.as_bytes(), &places, &mut |n, seen| match seen {
            Seen::Plain(text) => found.push((n, text.to_owned())),
            other => panic!("{other:?}"),
        });
        (found, whole)
    }

    fn found(body: &str, place: &str) -> Vec<String> {
        at(body, &[place])
            .0
            .into_iter()
            .map(|(_, text)| text)
            .collect()
    }

    const REPORT: &str = "<?xml version=\"1.0\"?><!DOCTYPE x><ows:ExceptionReport>\
        <ows:Exception exceptionCode=\"NoApplicableCode\" locator='a'>\
        <ows:ExceptionText> a &lt; <![CDATA[b < c]]> </ows:ExceptionText></ows:Exception>\
        </ows:ExceptionReport>";

    #[test]
    fn elements_attributes_and_the_root_are_found_by_their_local_names() {
        assert_eq!(
            found(REPORT, "Exception@exceptionCode"),
            ["NoApplicableCode"]
        );
        assert_eq!(found(REPORT, "@locator"), ["a"]);
        assert_eq!(found(REPORT, "ExceptionText"), ["a < b < c"]);
        assert_eq!(found(REPORT, "/ExceptionReport").len(), 1);
        assert_eq!(found(REPORT, "/Exception"), [""; 0]);
        assert_eq!(found(REPORT, "exceptiontext"), [""; 0]);
        assert!(at(REPORT, &["Exception"]).1);
    }

    #[test]
    fn what_comes_before_a_document_breaks_off_is_seen() {
        let (found, whole) = at(
            "<wfs:FeatureCollection><wfs:member/><ows:ExceptionReport>\
             <ows:Exception exceptionCode=\"X\"><ows:ExceptionText>the disk",
            &[
                "Exception@exceptionCode",
                "ExceptionText",
                "/FeatureCollection@n",
            ],
        );
        assert_eq!(found, [(0, "X".into()), (1, "the disk".into())]);
        assert!(!whole);
    }

    #[test]
    fn an_entity_is_never_expanded() {
        let body = "<!DOCTYPE a [<!ENTITY b \"long\"><!ENTITY c SYSTEM \"file:///etc/passwd\">]><a>x&b;&c;y</a>";
        assert_eq!(found(body, "a"), ["x  y"]);
    }

    #[test]
    fn a_hundred_thousand_open_elements_are_passed_over() {
        let body = "<a>".repeat(100_000) + "<b c='1'>";
        assert_eq!(found(&body, "b@c"), ["1"]);
    }

    #[test]
    fn a_place_that_is_none_is_refused() {
        for text in ["", "/", "@", "a b", "a/b", "a@", "/@b", "a:b", "a@b@c"] {
            assert!(Place::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(body in r#"[<>/a"'=! &;\-\[\]?@CDATA]{0,60}"#, bytes: Vec<u8>) {
            let _ = at(&body, &["a", "/a", "@a", "a@a"]);
            let places = [Place::parse("a").unwrap()];
            let _ = pass(&bytes, &places, &mut |_, _| {});
        }
    }
}
