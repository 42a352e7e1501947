//! Profiles: how one service signals failure, as a table of rules.
//!
//! A profile is data, in one syntax for those that are built in and those of a configuration;
//! `policy/PROFILES.md` documents it. Here it is made into something that judges an answer in few
//! passes: the places that its rules look at are kept once for all of them, each kind of body is
//! read at most once, and only when a rule that fits in all else asks for it.
//!
//! | module | subject |
//! |---|---|
//! | `rule` | a rule: what it asks for, and what it says then |
//! | `test` | what a value is compared with |
//! | `read` | from JSON, with every problem at its place |
//! | `conditions` | the same, of the conditions of a rule |
//! | `check` | rules that can never decide |
//! | [`library`] | the profiles that are built in and those of a configuration; inheritance |
//! | `look` | the evidence of one answer, gathered when a rule asks for it |

pub(crate) mod check;
mod conditions;
pub mod library;
pub(crate) mod look;
pub(crate) mod read;
pub(crate) mod rule;
pub(crate) mod test;

pub(crate) use self::library::Library;
pub use self::library::built_in;

use self::look::{Look, Watched};
use self::rule::{Believed, HintAt, HintPlace, Rule, Then};
use super::body::json::Pointer;
use super::body::xml::Place;
use super::trace::Trace;
use crate::observation::{Media, Response};

/// How one service signals failure, with what it inherits.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Whether answers are gRPC's even where they do not say so.
    pub(crate) grpc: bool,
    /// What its callers can use, where nobody says otherwise.
    pub(crate) expect: Media,
    /// Where its waits are told, besides what holds for every service.
    pub(crate) hints: Vec<HintPlace>,
    /// In the order in which they are tried.
    pub(crate) rules: Vec<Rule>,
    /// The places in JSON that its rules look at.
    pub(crate) json: Vec<Watched<Pointer>>,
    /// The same in XML.
    pub(crate) xml: Vec<Watched<Place>>,
}

impl Profile {
    /// One without rules.
    #[must_use]
    pub(crate) fn plain() -> Self {
        Self {
            grpc: false,
            expect: Media::Any,
            hints: Vec::new(),
            rules: Vec::new(),
            json: Vec::new(),
            xml: Vec::new(),
        }
    }

    /// How much of a body its rules look at, in bytes.
    pub(super) fn body_bytes(&self) -> usize {
        let rules = self.rules.iter().map(|rule| rule.when.body_bytes());
        rules.max().unwrap_or(0)
    }

    /// The header fields that its rules look at.
    pub(super) fn headers(&self) -> impl Iterator<Item = &str> {
        let tested = self.rules.iter().flat_map(|rule| {
            let tested = rule.when.headers.iter().map(|(name, _)| name.as_str());
            tested.chain(rule.hint_place().and_then(header_of))
        });
        tested.chain(self.hints.iter().filter_map(header_of))
    }

    /// The first rule that holds of this answer; `None`: the generic rules decide.
    pub(super) fn judge<'p>(
        &'p self,
        expect: Media,
        response: &Response,
        grpc: Option<u32>,
        trace: &mut impl Trace,
    ) -> Option<(&'p Rule, &'p Then)> {
        let mut look = Look::new(self, expect, response, grpc);
        let mut rules = self.rules.iter();
        let rule = rules.find(|rule| {
            // A status of gRPC decides over HTTP's, so of such an answer only rules on gRPC are asked.
            if grpc.is_some() && rule.when.grpc.is_empty() && rule.when.trailers.is_empty() {
                return false;
            }
            let unmet = look.unmet(&rule.when);
            trace.tried(&rule.name, &rule.when, unmet, &look);
            unmet.is_none()
        })?;
        Some((rule, rule.then.as_ref()?))
    }

    /// The wait that is told at the rule's own place, or at one of the profile's, and whether it
    /// comes before what headers say of any service.
    pub(super) fn told(
        &self,
        believed: &Believed,
        response: &Response,
        clock_ms: u64,
    ) -> Option<(u64, Precedence)> {
        let own = match believed {
            Believed::First(place) => Some(place),
            Believed::Usual | Believed::Nothing => None,
        };
        own.into_iter().chain(&self.hints).find_map(|place| {
            let wait_ms = look::hint(place, response, clock_ms)?;
            Some((wait_ms, Precedence::of(place)))
        })
    }
}

impl<P> AsRef<P> for Watched<P> {
    fn as_ref(&self) -> &P {
        &self.place
    }
}

/// Whether a wait comes before those that any service may tell in its headers, or after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precedence {
    /// A field that the profile names.
    BeforeHeaders,
    /// Something in the body.
    AfterHeaders,
}

impl Precedence {
    fn of(place: &HintPlace) -> Self {
        match place.at {
            HintAt::Header(_) | HintAt::Trailer(_) => Self::BeforeHeaders,
            HintAt::Json(_) | HintAt::Xml(_) | HintAt::Text(_) => Self::AfterHeaders,
        }
    }
}

fn header_of(place: &HintPlace) -> Option<&str> {
    match &place.at {
        HintAt::Header(name) => Some(name),
        _ => None,
    }
}

impl Rule {
    fn hint_place(&self) -> Option<&HintPlace> {
        match &self.then.as_ref()?.hint {
            Believed::First(place) => Some(place),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
