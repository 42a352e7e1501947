//! The evidence of one answer, gathered when a rule asks for it, and each kind once.

use super::Profile;
use super::rule::{Asked, HintAt, HintPlace, When};
use super::test::{Seen, Test};
use crate::classify::body::{events, json, text, xml};
use crate::classify::hint::{self, Unit};
use crate::classify::media::{self, Magic};
use crate::observation::{Field, Media, Response};

/// The most tests of one kind in a profile: one bit each.
pub(crate) const TESTS_MAX: usize = 256;

/// Which tests have held.
#[derive(Debug, Clone, Copy, Default)]
struct Held([u64; TESTS_MAX / 64]);

impl Held {
    fn note(&mut self, test: usize) {
        if let Some(word) = self.0.get_mut(test >> 6) {
            *word |= 1u64.wrapping_shl((test & 63) as u32);
        }
    }

    fn has(&self, test: usize) -> bool {
        let word = self.0.get(test >> 6).copied().unwrap_or_default();
        word & 1u64.wrapping_shl((test & 63) as u32) != 0
    }
}

/// The first condition of a rule that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unmet {
    Status,
    Header(usize),
    Trailer(usize),
    Media,
    Magic,
    Grpc,
    Expect,
    Json(usize),
    Xml(usize),
    Text,
    Event,
}

/// A place in a body, with what rules ask of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Watched<P> {
    pub(crate) place: P,
    /// Each test with its number.
    pub(crate) tests: Vec<(usize, Test)>,
}

/// What one pass over a body has shown.
#[derive(Debug, Clone, Copy, Default)]
struct Shown {
    held: Held,
    /// A bit for each place where there is a value.
    seen: u64,
    /// Whether the document was read to its end.
    whole: bool,
}

impl Shown {
    fn holds<P>(&self, asked: &Asked<P>) -> bool {
        match asked.test.absent {
            true => self.whole && !self.is_seen(asked.place),
            false => self.held.has(asked.number),
        }
    }

    fn is_seen(&self, place: usize) -> bool {
        self.seen & 1u64.wrapping_shl(place as u32) != 0
    }

    /// What a pass shows that hands over what is at these places, and answers whether it came to the
    /// document's end.
    fn by<P>(
        watched: &[Watched<P>],
        pass: impl FnOnce(&mut dyn FnMut(usize, Seen<'_>)) -> bool,
    ) -> Self {
        let mut shown = Self::default();
        let whole = pass(&mut |place, value| {
            shown.seen |= 1u64.wrapping_shl(place as u32);
            for (number, test) in watched.get(place).into_iter().flat_map(|w| &w.tests) {
                if test.holds(value) {
                    shown.held.note(*number);
                }
            }
        });
        Self { whole, ..shown }
    }

    /// What a JSON document shows of all that the profile's rules ask of one.
    fn in_json(profile: &Profile, body: &[u8]) -> Self {
        Self::by(&profile.json, |see| {
            json::pass(body, &profile.json, see).whole
        })
    }
}

/// The evidence of one answer.
pub(crate) struct Look<'l> {
    profile: &'l Profile,
    pub(crate) response: &'l Response,
    expect: Media,
    grpc: Option<u32>,
    /// `None`: nobody looked, or it is coded.
    body: Option<&'l [u8]>,
    magic: Option<Magic>,
    json: Option<Shown>,
    xml: Option<Shown>,
    /// Which tests of events an event has passed, with all else that its rule asks of the event.
    events: Option<Held>,
}

impl<'l> Look<'l> {
    pub(super) fn new(
        profile: &'l Profile,
        expect: Media,
        response: &'l Response,
        grpc: Option<u32>,
    ) -> Self {
        Self {
            profile,
            response,
            expect,
            grpc,
            body: media::beginning(response),
            magic: None,
            json: None,
            xml: None,
            events: None,
        }
    }

    /// The first condition that does not hold, what costs little before what costs much.
    pub(super) fn unmet(&mut self, when: &When) -> Option<Unmet> {
        let status = self.response.status;
        let is_within = |(from, to): &(u16, u16)| (*from..=*to).contains(&status);
        if !when.status.is_empty() && !when.status.iter().any(is_within) {
            return Some(Unmet::Status);
        }
        if !when.grpc.is_empty() && !self.grpc.is_some_and(|code| when.grpc.contains(&code)) {
            return Some(Unmet::Grpc);
        }
        if !when.expect.is_empty() && !when.expect.contains(&self.expect) {
            return Some(Unmet::Expect);
        }
        if !when.media.is_empty() {
            let media = media::content_type(self.response).unwrap_or_default();
            if !when.media.iter().any(|family| media::is_of(media, family)) {
                return Some(Unmet::Media);
            }
        }
        if let Some(n) = unmet_field(&self.response.headers, &when.headers) {
            return Some(Unmet::Header(n));
        }
        if let Some(n) = unmet_field(&self.response.trailers, &when.trailers) {
            return Some(Unmet::Trailer(n));
        }
        self.unmet_in_body(when)
    }

    fn unmet_in_body(&mut self, when: &When) -> Option<Unmet> {
        if !when.magic.is_empty() {
            let magic = self.magic();
            if !magic.is_some_and(|magic| when.magic.iter().any(|kind| kind.is(magic))) {
                return Some(Unmet::Magic);
            }
        }
        if let Some(event) = &when.event {
            if !self.events().has(event.number) {
                return Some(Unmet::Event);
            }
        } else if !when.json.is_empty() {
            let shown = self.json();
            if let Some(n) = when.json.iter().position(|asked| !shown.holds(asked)) {
                return Some(Unmet::Json(n));
            }
        }
        if !when.xml.is_empty() {
            let shown = self.xml();
            if let Some(n) = when.xml.iter().position(|asked| !shown.holds(asked)) {
                return Some(Unmet::Xml(n));
            }
        }
        // Last, since each phrase is a search of its own, where places share one pass.
        if !when.text.is_empty() {
            let body = self.body.unwrap_or_default();
            if !when.text.iter().any(|phrase| text::contains(body, phrase)) {
                return Some(Unmet::Text);
            }
        }
        None
    }

    fn magic(&mut self) -> Option<Magic> {
        self.magic = self.magic.or_else(|| self.body.map(Magic::of));
        self.magic
    }

    fn json(&mut self) -> Shown {
        *self.json.get_or_insert_with(|| match self.body {
            Some(body) => Shown::in_json(self.profile, body),
            None => Shown::default(),
        })
    }

    fn xml(&mut self) -> Shown {
        let (body, magic, watched) = (self.body, self.magic(), &self.profile.xml);
        *self.xml.get_or_insert_with(|| match (body, magic) {
            (Some(body), Some(Magic::Xml | Magic::Svg)) => {
                Shown::by(watched, |see| xml::pass(body, watched, see))
            }
            // A page for people is no report, whatever its elements are called.
            _ => Shown::default(),
        })
    }

    fn events(&mut self) -> Held {
        if let Some(held) = self.events {
            return held;
        }
        let mut held = Held::default();
        let stream = media::content_type(self.response)
            .is_some_and(|media| media::is_of(media, "text/event-stream"));
        let body = self.body.filter(|_| stream).unwrap_or_default();
        for event in events::events(body) {
            let name = String::from_utf8_lossy(event.name);
            let mut data = None;
            for rule in &self.profile.rules {
                let Some(wanted) = &rule.when.event else {
                    continue;
                };
                if held.has(wanted.number) || !wanted.test.holds(Seen::Plain(&name)) {
                    continue;
                }
                let holds = rule.when.json.is_empty() || {
                    let data =
                        data.get_or_insert_with(|| Shown::in_json(self.profile, &event.data));
                    rule.when.json.iter().all(|asked| data.holds(asked))
                };
                if holds {
                    held.note(wanted.number);
                }
            }
        }
        *self.events.insert(held)
    }
}

/// The first test of fields that does not hold.
fn unmet_field(fields: &[Field], tests: &[(String, Test)]) -> Option<usize> {
    tests.iter().position(|(name, test)| {
        let mut values = fields
            .iter()
            .filter(|field| field.name.eq_ignore_ascii_case(name))
            .map(|field| field.value.trim_ascii());
        match test.absent {
            true => values.next().is_some(),
            false => !values.any(|value| test.holds(Seen::Plain(value))),
        }
    })
}

/// How long a service asks to wait at this place, in ms.
pub(super) fn hint(place: &HintPlace, response: &Response, clock_ms: u64) -> Option<u64> {
    let mut wait = None;
    let mut read = |seen: Seen<'_>| wait = wait.or(said(seen, place.unit, clock_ms));
    match &place.at {
        HintAt::Header(name) => field(&response.headers, name, &mut read),
        HintAt::Trailer(name) => field(&response.trailers, name, &mut read),
        HintAt::Json(pointer) => {
            let body = media::beginning(response)?;
            json::pass(body, std::slice::from_ref(pointer), &mut |_, seen| {
                read(seen)
            });
        }
        HintAt::Xml(element) => {
            let body = media::beginning(response)?;
            xml::pass(body, std::slice::from_ref(element), &mut |_, seen| {
                read(seen)
            });
        }
        HintAt::Text(phrase) => {
            return hint::text::after(media::beginning(response)?, phrase, clock_ms);
        }
    }
    wait
}

fn field(fields: &[Field], name: &str, read: &mut dyn FnMut(Seen<'_>)) {
    for field in fields {
        if field.name.eq_ignore_ascii_case(name) {
            read(Seen::Plain(&field.value));
        }
    }
}

/// A wait in ms, as a value says it.
fn said(seen: Seen<'_>, unit: Unit, clock_ms: u64) -> Option<u64> {
    match seen {
        Seen::Plain(text) | Seen::Text(text) => hint::read(text, unit, clock_ms),
        Seen::Integer(number) => hint::read(itoa::Buffer::new().format(number), unit, clock_ms),
        // In thousandths of the unit, where that is a span of seconds; a part of a millisecond is
        // none, and a time with a fraction is as good without it.
        Seen::Number(number) if number.is_finite() && number >= 0.0 => match unit {
            Unit::Seconds | Unit::Auto | Unit::Duration if number < 1e9 => {
                Some((number * 1_000.0) as u64)
            }
            _ => hint::read(itoa::Buffer::new().format(number as u64), unit, clock_ms),
        },
        _ => None,
    }
}

impl Look<'_> {
    /// Why a rule does not hold of this answer, for people.
    pub(crate) fn why_not(&self, when: &When, unmet: Unmet) -> String {
        let field = |fields: &[Field], tests: &[(String, Test)], n: usize| {
            let name = tests.get(n).map_or("", |(name, _)| name.as_str());
            let values: Vec<&str> = fields
                .iter()
                .filter(|field| field.name.eq_ignore_ascii_case(name))
                .map(|field| field.value.as_str())
                .collect();
            match values.is_empty() {
                true => format!("there is no `{name}`"),
                false => format!("`{name}` is another: {}", values.join(", ")),
            }
        };
        let nobody_looked = |what: String| match self.body {
            None => "the body was not looked at".into(),
            Some(_) => what,
        };
        match unmet {
            Unmet::Status => format!("the status is {}", self.response.status),
            Unmet::Header(n) => field(&self.response.headers, &when.headers, n),
            Unmet::Trailer(n) => field(&self.response.trailers, &when.trailers, n),
            Unmet::Media => match media::content_type(self.response) {
                Some(media) => format!("the media type is {media}"),
                None => "no media type is stated".into(),
            },
            Unmet::Magic => nobody_looked(match self.magic {
                Some(magic) => format!("the body begins as {magic}"),
                None => String::new(),
            }),
            Unmet::Grpc => match self.grpc {
                Some(code) => format!("the status of gRPC is {code}"),
                None => "the answer is not gRPC's".into(),
            },
            Unmet::Expect => format!("what is expected is {}", self.expect),
            Unmet::Json(n) => nobody_looked(match when.json.get(n) {
                Some(asked) => asked_of(&asked.at.to_string(), asked, self.json, "document"),
                None => String::new(),
            }),
            Unmet::Xml(n) => nobody_looked(match when.xml.get(n) {
                Some(asked) => asked_of(&asked.at.to_string(), asked, self.xml, "report"),
                None => String::new(),
            }),
            Unmet::Text => nobody_looked("the body has no such phrase in it".into()),
            Unmet::Event => nobody_looked("there is no such event".into()),
        }
    }
}

fn asked_of<P>(place: &str, asked: &Asked<P>, shown: Option<Shown>, what: &str) -> String {
    let shown = shown.unwrap_or_default();
    match (shown.is_seen(asked.place), shown.whole) {
        (true, _) if asked.test.absent => format!("there is a `{place}`"),
        (true, _) => format!("`{place}` is another"),
        (false, true) => format!("there is no `{place}`"),
        (false, false) => format!("there is no `{place}`, in what was seen of the {what}"),
    }
}
