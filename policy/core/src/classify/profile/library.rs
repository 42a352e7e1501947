//! The profiles that are built in and those of a configuration, and what they inherit.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use super::Profile;
use super::look::{TESTS_MAX, Watched};
use super::read::{Written, check_name};
use super::rule::{Asked, Rule};
use crate::classify::body::json::PLACES_MAX;
use crate::config::reader::{Problem, Reader, close, quoted};

/// The most profiles in a line of inheritance.
const LINE_MAX: usize = 8;

macro_rules! built_in {
    ($($name:literal)*) => {
        /// Each profile that is built in, in order of the names, with its text.
        const BUILT_IN: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../../profiles/", $name, ".json"))),)*
        ];
    };
}

built_in! {
    "2gis"
    "amap"
    "anthropic"
    "apilayer"
    "arcgis"
    "aws"
    "aws-s3"
    "azure-maps"
    "azure-openai"
    "baidu"
    "bing-maps"
    "cloudflare"
    "cloudfront"
    "data-api"
    "gemini"
    "geocode-earth"
    "geocodio"
    "geonames"
    "geoserver"
    "geowebcache"
    "google-geocoding"
    "google-rpc"
    "graphql"
    "grpc"
    "here"
    "http"
    "huawei-sitekit"
    "ipstack"
    "json-api"
    "json-rpc"
    "llm"
    "locationiq"
    "mapbox"
    "mapproxy"
    "mapquest"
    "mapserver"
    "nominatim"
    "ogc"
    "openai"
    "opencage"
    "osm-tiles"
    "overpass"
    "ows"
    "pelias"
    "photon"
    "positionstack"
    "qgis-server"
    "s3-tiles"
    "tencent"
    "tiles"
    "tomtom"
    "us-census"
    "varnish"
    "wcs"
    "wfs"
    "wms"
    "wmts"
    "wps"
    "yandex"
}

/// The profiles that are built in: name and text, in order of the names.
pub fn built_in() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILT_IN.iter().copied()
}

/// The text of a profile that is built in.
#[must_use]
pub fn text_of(name: &str) -> Option<&'static str> {
    let at = BUILT_IN.binary_search_by(|(known, _)| (*known).cmp(name));
    at.ok()
        .and_then(|at| BUILT_IN.get(at))
        .map(|(_, text)| *text)
}

/// Where profiles are looked up: a configuration's own come before those that are built in.
#[derive(Debug, Default)]
pub(crate) struct Library {
    own: BTreeMap<String, Rc<Written>>,
    /// Those that are built in, as far as they were read.
    read: RefCell<BTreeMap<String, Rc<Written>>>,
    made: RefCell<BTreeMap<String, Arc<Profile>>>,
}

impl Library {
    /// Reads `profiles`, and notes every problem.
    pub(crate) fn read(root: &Reader<'_>) -> Self {
        let table = root.object("profiles");
        let mut library = Self::default();
        let profiles = root.objects("profiles");
        for (name, reader) in &profiles {
            check_name(&table, name, name, "profile");
            let written = Rc::new(Written::read(reader, name, false));
            library.own.insert(name.clone(), written);
        }
        for (name, reader) in &profiles {
            if let Err(Problem { wrong, right, .. }) = library.profile(name) {
                reader.problem("extends", wrong, right);
            }
        }
        library
    }

    /// A profile with what it inherits.
    ///
    /// # Errors
    /// There is none of this name, or it inherits from one that is not there or from itself, or asks
    /// for more than can be looked at in one pass. The path is empty.
    pub(crate) fn profile(&self, name: &str) -> Result<Arc<Profile>, Problem> {
        if let Some(made) = self.made.borrow().get(name) {
            return Ok(Arc::clone(made));
        }
        let made = Arc::new(compiled(&self.line(name)?)?);
        let kept = Arc::clone(&made);
        self.made.borrow_mut().insert(name.to_owned(), kept);
        Ok(made)
    }

    /// A profile and those that it inherits from, itself first.
    fn line(&self, name: &str) -> Result<Vec<Rc<Written>>, Problem> {
        let mut line = Vec::new();
        let mut next = Some((name.to_owned(), self.own.contains_key(name)));
        while let Some((name, is_own)) = next {
            if line.len() >= LINE_MAX {
                return Err(problem(
                    [&quoted(&name), " is the ninth profile in this line of inheritance, or the line is a circle"].concat(),
                    "inherit from one that does not lead back here",
                ));
            }
            let written = match self.own.get(&name).filter(|_| is_own) {
                Some(own) => Rc::clone(own),
                None => self.of_built_in(&name)?,
            };
            next = written.extends.clone().map(|base| {
                let is_own = is_own_base(is_own, &name, &base, |base| self.own.contains_key(base));
                (base, is_own)
            });
            line.push(written);
        }
        Ok(line)
    }

    fn of_built_in(&self, name: &str) -> Result<Rc<Written>, Problem> {
        if let Some(read) = self.read.borrow().get(name) {
            return Ok(Rc::clone(read));
        }
        let Some(text) = text_of(name) else {
            return Err(self.unknown(name));
        };
        let document: Value = serde_json::from_slice(text.as_bytes())
            .map_err(|_| problem("a profile that is built in is not JSON".into(), ""))?;
        let reader = Reader::root(&document);
        let written = Rc::new(Written::read(&reader, name, true));
        let kept = Rc::clone(&written);
        self.read.borrow_mut().insert(name.to_owned(), kept);
        Ok(written)
    }

    fn unknown(&self, name: &str) -> Problem {
        let own = self.own.keys().map(String::as_str);
        let mut known = own.chain(built_in().map(|(name, _)| name));
        let right = match known.find(|known| close(known, name)) {
            Some(near) => ["did you mean ", &quoted(near), "?"].concat(),
            None => "write the name of one that is built in (`fusewire profile list`), or of one under `profiles`".into(),
        };
        problem(["there is no profile ", &quoted(name)].concat(), &right)
    }
}

/// Whether the base of a profile is one of the configuration's own: one that is built in can be
/// extended under its own name, and inherits only from its kind. `is_own` is whether the profile
/// itself is the configuration's.
pub fn is_own_base(
    is_own: bool,
    name: &str,
    base: &str,
    has_own: impl FnOnce(&str) -> bool,
) -> bool {
    is_own && base != name && has_own(base)
}

/// The problems of a single profile that stands by itself.
#[must_use]
pub fn check(name: &str, document: &Value) -> Vec<Problem> {
    let root = Reader::root(document);
    let mut library = Library::default();
    let written = Rc::new(Written::read(&root, name, false));
    library.own.insert(name.to_owned(), written);
    if let Err(Problem { wrong, right, .. }) = library.profile(name) {
        root.problem("extends", wrong, right);
    }
    root.problems()
}

fn problem(wrong: String, right: &str) -> Problem {
    Problem {
        path: String::new(),
        wrong,
        right: right.into(),
    }
}

/// One profile of a line of them: all rules, and what they look at, once.
fn compiled(line: &[Rc<Written>]) -> Result<Profile, Problem> {
    let mut profile = Profile::plain();
    let mut tests = [0usize; 3];
    for written in line {
        profile.hints.extend(written.hints.iter().cloned());
        for rule in &written.rules {
            let mut rule: Rule = rule.clone();
            numbered(&mut rule.when.json, &mut profile.json, &mut tests[0]);
            numbered(&mut rule.when.xml, &mut profile.xml, &mut tests[1]);
            if let Some(event) = &mut rule.when.event {
                event.number = tests[2];
                tests[2] = tests[2].saturating_add(1);
            }
            profile.rules.push(rule);
        }
    }
    profile.grpc = line.iter().find_map(|w| w.grpc).unwrap_or(false);
    profile.expect = line.iter().find_map(|w| w.expect).unwrap_or(profile.expect);
    if profile.json.len() > PLACES_MAX
        || profile.xml.len() > PLACES_MAX
        || tests.iter().any(|number| *number > TESTS_MAX)
    {
        return Err(problem(
            "the rules ask of more than 64 places in JSON or XML, or ask more than 256 questions of them".into(),
            "split the profile in two",
        ));
    }
    Ok(profile)
}

/// Gives each test its number, and its place among those of the profile.
fn numbered<P: Clone + PartialEq>(
    asked: &mut [Asked<P>],
    places: &mut Vec<Watched<P>>,
    tests: &mut usize,
) {
    for asked in asked {
        let known = places.iter().position(|watched| watched.place == asked.at);
        asked.place = known.unwrap_or(places.len());
        asked.number = *tests;
        *tests = tests.saturating_add(1);
        if known.is_none() {
            places.push(Watched {
                place: asked.at.clone(),
                tests: Vec::new(),
            });
        }
        if let Some(watched) = places.get_mut(asked.place) {
            watched.tests.push((asked.number, asked.test.clone()));
        }
    }
}
