//! Scenarios in other runtimes: the policy in Node, in Python, in Envoy, or wherever you embed it.
//!
//! A *driver* is a small program in that runtime, with the policy and one of its stores. The
//! player sends it one JSON object a line and reads one JSON object a line for each, in order: on
//! the standard input and output of a process ([`Driver::start`]), or as the bodies of HTTP
//! requests and answers ([`Driver::connect`]). Everything is decided there; here is the story, and
//! what is expected of it.
//!
//! # The protocol
//!
//! Values are those of `wit/`, in JSON: a record is an object with the names of its fields, an
//! option is null or the value, an enum is its name, a variant `"case"` or `{"case": payload}`, a
//! list of bytes an array of numbers, and a `u64` an integer with all of its digits.
//!
//! | request | answer |
//! |---|---|
//! | `{"prefix": "…"}` | `{"done": true}`: the policy's keys begin with this and a colon, others are refused |
//! | `{"configure": "<json>"}` | `{"problems": […]}`; the stage is as at the beginning |
//! | `{"describe": {}}` | `{"description": {…}}` |
//! | `{"classify": {"target", "observation"}}` | `{"verdict": {…}}` |
//! | `{"admit": {"target", "context"}}` | `{"admission": {…}, "operations": n}` |
//! | `{"settle": {"permit", "ending", "timing", "context"}}` | `{"events": […], "operations": n}` |
//! | `{"overdue": {"permit", "context"}}` | `{"events": […], "operations": n}` |
//! | `{"inspect": {"target", "context"}}` | `{"states": […], "operations": n}` |
//! | `{"set-order": {"domain", "order", "context"}}` | `{"events": […], "operations": n}`, or `{"override-error": …, "operations": n}` |
//! | `{"explain": {"domain", "context"}}` | `{"facts": […], "operations": n}`, or `{"override-error": …, "operations": n}` |
//! | `{"next": {"progress", "verdict", "context"}}` | `{"step": …, "operations": n}` |
//! | `{"stage": {"up": false}}` | `{"done": true}`: every operation of the policy is `unavailable` from now on, but for those on keys of one instance alone (`prefix:local:`) |
//! | `{"lose-counter": "key"}` | `{"done": true}`: the policy's windows under this key go to `key~1` from now on, the next time to `key~2` |
//! | `{"get": ["key", …]}` | `{"values": [null, [bytes], …]}` |
//! | `{"swap": {"key", "expected", "replacement", "ttl-ms"}}` | `{"swapped": true}` |
//! | `{"count": [window, …]}` | `{"tallies": […]}` |
//!
//! `operations` is how many store operations the policy asked for in that call, each once however
//! often the call was made again. The last three go to the store itself, whatever the stage; they
//! may answer `{"error": "unavailable"}` or `{"error": {"refused": "why"}}`. What the policy writes
//! lives ten minutes, whatever lifetime it asks for: time in a scenario is not real. Whatever goes
//! wrong is `{"fault": "a sentence"}`.
//!
//! With the last three a driver's store can be held to the [contract](crate::store::contract) too:
//! [`Driver::store`].
//!
//! | module | subject |
//! |---|---|
//! | `link` | a line there, a line back |
//! | `wire` | requests and answers as JSON |
//! | `there` | a policy at the other end, as the player wants it |
//! | `store` | the store at the other end, as one of this process |

mod link;
mod store;
mod there;
mod wire;

use std::ffi::OsStr;
use std::io;

use fusewire_core::{Observation, Problem, Target, Verdict};
use serde_json::{Value, json};

use self::link::Link;
pub use self::store::DriverStore;
pub(super) use self::there::There;

/// Why a driver is of no use.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// It cannot be started.
    #[error("cannot start the driver `{driver}`: {error}")]
    Start {
        /// Its program or URL.
        driver: String,
        /// Why.
        error: io::Error,
    },
    /// It ended, is out of reach, or did not answer in time.
    #[error("the driver {0}")]
    Gone(String),
    /// It answered something that is not in the protocol.
    #[error("the driver answered {answer} to {asked}: {why}")]
    Answer {
        /// What was asked.
        asked: String,
        /// What came.
        answer: String,
        /// What is wrong with it.
        why: String,
    },
    /// It says that something went wrong.
    #[error("the driver reports: {0}")]
    Fault(String),
    /// Its policy does not accept the configuration.
    #[error("the driver's policy does not accept its configuration: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Configuration(Vec<Problem>),
}

/// A policy and its store in another runtime. Clones are the same driver; the last one that is
/// dropped stops a process.
#[derive(Debug, Clone)]
pub struct Driver {
    link: Link,
}

impl Driver {
    /// Starts a process that speaks the protocol on its standard input and output. What it writes
    /// to standard error goes to this process's own. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`DriverError::Start`]
    pub fn start(program: &OsStr, arguments: &[&OsStr]) -> Result<Self, DriverError> {
        Ok(Self {
            link: Link::process(program, arguments)?,
        })
    }

    /// A driver that is asked over HTTP: each request is the body of a POST to this URL, with
    /// the header field `fusewire-drive: 1`. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`DriverError::Start`], where there is no HTTP client to be had.
    pub fn connect(url: &str) -> Result<Self, DriverError> {
        Ok(Self {
            link: Link::http(url)?,
        })
    }

    /// [`Driver::connect`] for what begins with `http://`, and [`Driver::start`] for anything else,
    /// a command that is split at blanks, without quoting.
    ///
    /// # Errors
    /// [`DriverError::Start`]
    pub fn at(place: &str) -> Result<Self, DriverError> {
        if place.starts_with("http://") {
            Self::connect(place)
        } else {
            let mut words = place.split_whitespace().map(OsStr::new);
            let program = words.next().unwrap_or_default();
            Self::start(program, &words.collect::<Vec<_>>())
        }
    }

    /// The driver's store, for [`contract::check`](crate::store::contract::check).
    #[must_use]
    pub fn store(&self) -> DriverStore {
        DriverStore::new(self.clone())
    }

    /// Configures the policy there, under a prefix that its keys begin with. The stage is as at the
    /// beginning.
    ///
    /// # Errors
    /// [`DriverError::Configuration`] with every problem, or the driver is of no use.
    pub async fn configure(&self, configuration: &str, prefix: &str) -> Result<(), DriverError> {
        self.ask(&json!({"prefix": prefix})).await?;
        let answer = self.ask(&json!({"configure": configuration})).await?;
        let problems: Vec<Problem> = wire::part(&answer, "problems")
            .map_err(|why| wire::unreadable("configure", &answer, why))?;
        match problems.is_empty() {
            true => Ok(()),
            false => Err(DriverError::Configuration(problems)),
        }
    }

    /// Has the policy there judge one attempt.
    ///
    /// # Errors
    /// The driver is of no use, or its policy failed.
    pub async fn classify(
        &self,
        target: &Target,
        observation: &Observation,
    ) -> Result<Verdict, DriverError> {
        let request = json!({"classify": {"target": target, "observation": observation}});
        let answer = self.ask(&request).await?;
        wire::part(&answer, "verdict")
            .map_err(|why| wire::unreadable(&request.to_string(), &answer, why))
    }

    /// Configures the policy there and sets the stage up.
    pub(super) async fn begin(
        &self,
        configuration: &str,
        prefix: &str,
    ) -> Result<There, DriverError> {
        self.configure(configuration, prefix).await?;
        Ok(There::new(self.clone()))
    }

    /// Sends one request and reads its answer. Cancel-safe: the answer is then read all the same,
    /// and thrown away.
    async fn ask(&self, request: &Value) -> Result<Value, DriverError> {
        let line = self.link.exchange(request.to_string()).await?;
        let answer: Value = serde_json::from_str(&line)
            .map_err(|error| wire::unreadable(&request.to_string(), &json!(line), error.into()))?;
        match answer.get("fault") {
            Some(fault) => Err(DriverError::Fault(
                fault.as_str().unwrap_or("a fault without words").to_owned(),
            )),
            None => Ok(answer),
        }
    }
}
