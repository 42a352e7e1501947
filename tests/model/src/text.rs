//! Texts of the core (records, permits' tokens) as a form with holes.
//!
//! What grows without end in them, times and revisions above all, stands in holes, as numbers that
//! can be shifted and renamed; the rest is the form, which is kept once. Nothing of a text is lost:
//! filled in again it is the same, byte for byte, but for the moment that is taken as the present.

use std::collections::HashMap;

use serde_json::Value;

/// A time in ms, counted from the present of the fleet; or a span in ms.
pub(crate) type Ms = i32;

/// What the core writes as zero: a time that never was.
pub(crate) const NEVER: Ms = Ms::MIN;

/// A time that does not come as long as anybody looks: seven days ahead.
pub(crate) const FAR: Ms = 604_800_000;

/// From here on a time counts as [`FAR`]: an hour or more further than the other settings go.
const FAR_FROM: Ms = 7_200_000;

/// The present of the fleet, as the core is told it, in ms.
pub(crate) const PRESENT_MS: u64 = 1_700_000_000_000;

/// The most holes in a text.
const HOLES: usize = 12;

/// What stands in a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A moment of closing: compared with others.
    Epoch,
    /// Until when something lasts: compared with the present alone.
    Until,
    Revision,
    /// How often something happened: openings in a row, flaps.
    Times,
    /// The number of the random bits that a lease's token was made of, and which of theirs it is.
    Token,
    /// The number of an instance.
    Owner,
}

/// A text: its form, and what stands in the holes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Text {
    pub(crate) form: u16,
    pub(crate) holes: [Ms; HOLES],
}

/// What a record's form says by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Closed,
    Open,
    HalfOpen,
}

/// Under what one domain admitted a call, with the number of the hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stamp {
    Epoch(usize),
    Lease(usize),
    /// Counts nowhere.
    None,
}

#[derive(Debug)]
pub(crate) struct Form {
    /// Literal texts: one more than there are holes.
    pieces: Vec<String>,
    pub(crate) kinds: Vec<Kind>,
    /// The names of a record's holes, with that of the part they are in: `lease.expires`.
    names: Vec<String>,
    pub(crate) phase: Option<Phase>,
    /// The mode of the operator's order, where a record has one.
    pub(crate) order: Option<String>,
    /// Where a permit has them: under what the fleet's breakers admitted it.
    pub(crate) stamps: Vec<Stamp>,
    /// Whether the instance's own breaker counts it.
    pub(crate) counts_alone: bool,
}

/// The random bits that there are for calls, and the leases' tokens that the core makes of them.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    /// All tokens, those of the same random bits together.
    pub(crate) texts: Vec<String>,
    /// How many the core makes of the same random bits at the most.
    pub(crate) each: usize,
}

/// All forms that were met.
#[derive(Debug, Default)]
pub(crate) struct Forms {
    forms: Vec<Form>,
    known: HashMap<Vec<String>, u16>,
    pub(crate) tokens: Tokens,
}

/// What instances are called: by one letter after this one.
const OWNER: &str = "instance-";

pub(crate) fn instance_name(number: usize) -> String {
    format!("{OWNER}{number}")
}

/// A time of the core's, from the present on.
pub(crate) fn from_present(ms: u64) -> Ms {
    if ms == 0 {
        return NEVER;
    }
    let shifted = i128::from(ms) - i128::from(PRESENT_MS);
    near(shifted.clamp((Ms::MIN / 2).into(), FAR.into()) as Ms)
}

/// A span of the core's.
pub(crate) fn span(ms: u64) -> Ms {
    near(Ms::try_from(ms).unwrap_or(FAR))
}

/// A time or a span, where what is far away is always equally far.
pub(crate) fn near(ms: Ms) -> Ms {
    if ms >= FAR_FROM { FAR } else { ms }
}

/// A time as the core has it.
pub(crate) fn to_core(ms: Ms) -> u64 {
    if ms == NEVER {
        0
    } else {
        PRESENT_MS
            .checked_add_signed(ms.into())
            .expect("no time before 1970")
    }
}

impl Tokens {
    fn number(&self, text: &str) -> Ms {
        let at = self.texts.iter().position(|t| t == text);
        at.unwrap_or_else(|| {
            panic!("the token {text} was made of random bits that nobody was given")
        }) as Ms
    }
}

impl Forms {
    pub(crate) fn of(&self, text: &Text) -> &Form {
        &self.forms[usize::from(text.form)]
    }

    /// Takes a record's JSON apart.
    pub(crate) fn record(&mut self, json: &str) -> Text {
        let mut pieces = vec![String::new()];
        let mut holes = Vec::new();
        let mut rest = json;
        while let Some(at) = rest.find("\":") {
            let (head, tail) = rest.split_at(at + 2);
            pieces.last_mut().expect("one at least").push_str(head);
            let name = head[..at].rsplit('"').next().unwrap_or_default();
            let (quote, value) = match tail.strip_prefix('"') {
                Some(text) => ("\"", text.split('"').next().unwrap_or_default()),
                None => (
                    "",
                    &tail[..tail.bytes().take_while(u8::is_ascii_digit).count()],
                ),
            };
            rest = tail;
            if let Some((kind, number)) = self.hole(name, value) {
                pieces.last_mut().expect("one at least").push_str(quote);
                pieces.push(String::new());
                holes.push((kind, number));
                rest = &tail[quote.len() + value.len()..];
            }
        }
        pieces.last_mut().expect("one at least").push_str(rest);
        self.text(pieces, &holes, Some(json))
    }

    fn hole(&self, name: &str, value: &str) -> Option<(Kind, Ms)> {
        let number = || {
            value
                .parse::<u64>()
                .unwrap_or_else(|_| panic!("`{name}` is no number: {value}"))
        };
        Some(match name {
            "epoch" => (Kind::Epoch, from_present(number())),
            "until" | "expires" => (Kind::Until, from_present(number())),
            "revision" => (Kind::Revision, number() as Ms),
            "openings" | "flaps" => (Kind::Times, number() as Ms),
            "token" => (Kind::Token, self.tokens.number(value)),
            "owner" => {
                let number = value.strip_prefix(OWNER).and_then(|n| n.parse().ok());
                (Kind::Owner, number.expect("an instance of ours"))
            }
            _ => return None,
        })
    }

    /// Takes a permit's token apart.
    pub(crate) fn permit(&mut self, token: &str) -> Text {
        let mut pieces = vec![String::new()];
        let mut holes = Vec::new();
        let mut stamps = Vec::new();
        let mut counts_alone = false;
        for stamp in token.split_inclusive([',', '+']) {
            let (stamp, end) = match stamp.strip_suffix([',', '+']) {
                Some(cut) => (cut, &stamp[cut.len()..]),
                None => (stamp, ""),
            };
            let (mark, value) = stamp.split_at(stamp.find(':').map_or(stamp.len(), |at| at + 1));
            pieces.last_mut().expect("one at least").push_str(mark);
            let hole = match mark {
                "c:" | "i:" => Some((Kind::Epoch, from_present(value.parse().expect("a number")))),
                "l:" | "k:" => Some((Kind::Token, self.tokens.number(value))),
                _ => None,
            };
            match mark {
                "c:" => stamps.push(Stamp::Epoch(holes.len())),
                "l:" => stamps.push(Stamp::Lease(holes.len())),
                "u" | "x" => stamps.push(Stamp::None),
                // After the fleet's word, or without it.
                "i:" | "k:" => {
                    counts_alone = true;
                    if !pieces.last().is_some_and(|p| p.starts_with('+')) {
                        stamps.push(Stamp::None);
                    }
                }
                other => panic!("an unknown stamp: {other}"),
            }
            if let Some(hole) = hole {
                holes.push(hole);
                pieces.push(String::new());
            }
            pieces.last_mut().expect("one at least").push_str(end);
        }
        let text = self.text(pieces, &holes, None);
        let form = &mut self.forms[usize::from(text.form)];
        form.stamps = stamps;
        form.counts_alone = counts_alone;
        text
    }

    fn text(&mut self, pieces: Vec<String>, holes: &[(Kind, Ms)], record: Option<&str>) -> Text {
        let form = match self.known.get(&pieces) {
            Some(form) => *form,
            None => {
                let number = u16::try_from(self.forms.len()).expect("few forms");
                self.known.insert(pieces.clone(), number);
                self.forms.push(Form::new(pieces, holes, record));
                number
            }
        };
        let mut text = Text {
            form,
            holes: [0; HOLES],
        };
        for (to, (_, value)) in text.holes.iter_mut().zip(holes) {
            *to = *value;
        }
        assert!(holes.len() <= HOLES, "more holes than there is room for");
        text
    }

    /// The text itself.
    pub(crate) fn fill(&self, text: &Text) -> String {
        let form = self.of(text);
        let mut out = form.pieces[0].clone();
        for ((kind, value), piece) in form.kinds.iter().zip(text.holes).zip(&form.pieces[1..]) {
            match kind {
                Kind::Epoch | Kind::Until => out.push_str(&to_core(value).to_string()),
                Kind::Revision | Kind::Times => out.push_str(&value.to_string()),
                Kind::Token => out.push_str(&self.tokens.texts[value as usize]),
                Kind::Owner => out.push_str(&instance_name(value as usize)),
            }
            out.push_str(piece);
        }
        out
    }

    /// What stands in a record's hole of this name; `None` where it has none.
    pub(crate) fn field(&self, text: &Text, name: &str) -> Option<Ms> {
        let at = self.of(text).names.iter().position(|n| n == name)?;
        Some(text.holes[at])
    }

    /// Puts this into a record's hole of this name, where it has one.
    pub(crate) fn set(&self, text: &mut Text, name: &str, value: Ms) {
        if let Some(at) = self.of(text).names.iter().position(|n| n == name) {
            text.holes[at] = value;
        }
    }

    pub(crate) fn has(&self, text: &Text, name: &str) -> bool {
        self.of(text).names.iter().any(|n| n == name)
    }

    pub(crate) fn phase(&self, text: &Text) -> Phase {
        self.of(text).phase.expect("a record has a phase")
    }
}

impl Form {
    fn new(pieces: Vec<String>, holes: &[(Kind, Ms)], record: Option<&str>) -> Self {
        let kinds: Vec<Kind> = holes.iter().map(|(kind, _)| *kind).collect();
        let mut form = Self {
            names: Vec::new(),
            phase: None,
            order: None,
            stamps: Vec::new(),
            counts_alone: false,
            kinds,
            pieces,
        };
        let Some(record) = record else {
            return form;
        };
        let record: Value = serde_json::from_str(record).expect("a record is JSON");
        form.phase = Some(match record["phase"].as_str() {
            Some("closed") => Phase::Closed,
            Some("open") => Phase::Open,
            Some("half-open") => Phase::HalfOpen,
            other => panic!("the phase is {other:?}"),
        });
        form.order = record["override"]["mode"].as_str().map(str::to_owned);
        form.names = form.names_of_holes();
        form
    }

    /// Each hole's name, after that of the object it is in.
    fn names_of_holes(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut parts: Vec<String> = Vec::new();
        let mut last = String::new();
        let mut quoted = String::new();
        let mut inside = false;
        for piece in &self.pieces[..self.pieces.len() - 1] {
            for c in piece.chars() {
                match c {
                    '"' if inside => inside = false,
                    '"' => {
                        inside = true;
                        quoted.clear();
                    }
                    _ if inside => quoted.push(c),
                    ':' => last.clone_from(&quoted),
                    '{' => parts.push(last.clone()),
                    '}' => {
                        parts.pop();
                    }
                    _ => {}
                }
            }
            let part = parts.last().filter(|part| !part.is_empty());
            names.push(part.map_or(last.clone(), |part| format!("{part}.{last}")));
        }
        names
    }
}
