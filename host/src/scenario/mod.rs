//! `fusewire test`: plays a policy's decisions against a script.
//!
//! A scenario is a TOML file: a configuration, and a story of calls under it with what is
//! expected of each. It is played without waiting: the time and the random bits are in the story.
//!
//! ```
//! # use std::sync::Arc;
//! # use fusewire::{engine::NativeEngine, scenario::{Scenario, play}, store::MemoryStore};
//! # let text = r#"
//! title = "Five failures within a minute open the breaker"
//!
//! [config.breaker.cool-down]
//! jitter = 0
//!
//! [[step]]
//! at = "0s"
//! call = "geocoder"          # admit and settle in one
//! times = 4
//! every = "1s"
//! with = 503                 # how the call ended
//! events = []                # nothing happens
//!
//! [[step]]
//! at = "4s"
//! call = "geocoder"
//! with = "read-timeout"
//! events = ["closed -> open: failures"]
//!
//! [[step]]
//! at = "5s"
//! admit = "geocoder"
//! by = "b"                   # another instance of the fleet
//! expect = { refused = "open", retry-after = "29s" }
//!
//! [[step]]
//! record = "geocoder"        # what the store has
//! expect = { phase = "open", openings = 1, until = "34s" }
//! # "#;
//! # let scenario = Scenario::parse(text).unwrap();
//! # let engine = NativeEngine::new(&scenario.configuration("fusewire")).unwrap();
//! # let played = play(&scenario, &engine, Arc::new(MemoryStore::new()), "fusewire");
//! # let played = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(played);
//! # assert_eq!(played.failures, []);
//! ```
//!
//! # The file
//!
//! | key | what it is |
//! |---|---|
//! | `title` | what the scenario promises, in a sentence |
//! | `about` | why that matters |
//! | `trap` | the trap of published breakers that it guards against: a number, or a list |
//! | `[config]` | the policy's configuration; its `prefix` is set by whoever plays it |
//! | `[clocks]` | instances whose clock is off the fleet's: `b = "+80ms"` |
//! | `[[step]]` | one thing that happens; steps are in order of time |
//!
//! Times are since the beginning, which is the first midnight of 2026 (UTC) on the fleet's clock.
//! All are written as in the configuration: `"250ms"`, `"30s"`, `"1m30s"`.
//!
//! # A step
//!
//! A step does exactly one thing. Any step may have:
//!
//! | key | what it is |
//! |---|---|
//! | `at` | when; without it, when the step before was over |
//! | `by` | the instance that does it, `"a"` if not said; a list takes turns |
//! | `times`, `every` | how often, and how long after one another; what is expected is expected of each |
//! | `entropy` | the random bits; if not said, other ones for each decision, the same each time |
//! | `events` | all that happens, in order: see below |
//! | `operations` | how many store operations the policy asks for |
//!
//! What it does is one of:
//!
//! | key | with | expect |
//! |---|---|---|
//! | `admit` = target | `as` (a name to settle it by), `call-limit`, `fingerprint`, `holds-until`, `limits` (`{ total = "4s", overdue = "10s" }`, each a span or `false`) | `"allowed"`, `"probe"`, `"admitted"` (either), `"refused"` or `{ refused = "open", retry-after = "30s", domain = "…", says = "…" }` |
//! | `settle` = name | `with` (how it ended), `verdict` | |
//! | `overdue` = name | the call is still under way, and has become slow | |
//! | `call` = target | all of `admit` and `settle`: both in one, at one moment | as `admit`; if not said, `"admitted"` |
//! | `record` = domain | | `"absent"`, or fields of the stored record |
//! | `inspect` = domain | | `"absent"`, or fields of the domain's state |
//! | `order` = domain | `mode` (`"open"`, `"closed"`, `"off"`, `"observe"`, `"clear"`), `enforce` (of a hundred, with `"observe"`), `who`, `why`, `for` | `"done"` (if not said), `"invalid"`, `"store"`, `"contended"` |
//! | `explain` = domain | what the policy says of it | subjects with their values (`{ phase = "open", hold = false }`), or `"invalid"`, `"store"` |
//! | `next` = name | the planner, after the verdict of that call: `attempts`, `attempts-in-all`, `providers-left`, `deadline` | `"done"`, `"retry"`, `{ retry = "2s" }`, `"next-provider"`, `"give-up"` |
//! | `store` = `"down"`, `"up"` | the store is out of reach, or back | |
//! | `lose` = domain | `what`: `"record"` (if not said), `"counter"`, `"all"`: the store forgets, as by an eviction | |
//! | `put` = domain | `text`: what somebody else writes as its record; `${30s}` in it is that time in ms | |
//! | `forge` = target | a permit that the policy never gave: `token`, `probe`; `with`, `verdict` | |
//!
//! A target is `"provider"`, `"provider@account"`, `"provider/operation"` or
//! `"provider@account/operation"`; a domain is one of the first three.
//!
//! How a call ended (`with`) is a status (`503`), a failure below HTTP (`"read-timeout"`; the names
//! are those of `transport-failure` in `wit/classifier.wit`), `"dropped"`, or a table of `status`,
//! `headers`, `trailers`, `body`, `failure`, `cause`, `latency`, `idempotent`, `delivered-partial`,
//! `expect` and `minimum-budget`. The policy under test classifies it; `verdict` says what is
//! expected of that: `outcome`, `effect`, `blame`, `retry-same`, `next-provider`, `slow`,
//! `min-delay`, `retry-after`, `rule`.
//!
//! Of a record may be expected: `phase`, `openings`, `flaps`, `passed` (clean probes in a row), `rule`,
//! `until`, `epoch`, `expires`, `lease`, `order`, `enforce`, `hold` (until when, or `false`), `pace`
//! (the learnt percentile), `revision`, `schema`; of a state `phase`,
//! `openings`, `passed`, `until`, `epoch`, `lease`, `order` and what its window holds: `successes`,
//! `failures`, `slow`, `retries`. A time may be `"never"`. `lease` is the name of its owner, `false`
//! or `{ owner = "a", expires = "40s" }`; `order` is a mode, `false` or `{ mode = "open", until =
//! "1h" }`.
//!
//! Events are written `"closed -> open: failures"` (the rule, or the reason, behind the colon),
//! `"probe passed"` (or `failed`, `neutral`, `expired`), `"ignored: stale"` (or another reason),
//! `"ordered: open"`, `"order cleared"`, `"store"`, `"held"`, `"reshaped"`, and `"alone closed -> open:
//! failures"` where that is so for one instance alone. One of another domain than the provider
//! begins with its name: `"geocoder/reverse: closed -> open: failures"`.
//!
//! # The rooms
//!
//! | module | subject |
//! |---|---|
//! | `read` | from TOML to a scenario, or to every mistake in it |
//! | `script` | a scenario as it is played |
//! | `play` | plays it over a runtime |
//! | `runtime` | a policy with its store: in this process, or |
//! | [`driver`] | in another one, of whichever kind |
//! | `stage` | the store during a scenario: it can go away, forget, and is counted |
//! | `check` | what was expected, against what was found |
//! | `log` | the decision log, byte for byte |
//! | `words` | decisions and events in few words |
//! | [`report`] | what people read when a scenario fails |
//! | `files` | the files that scenarios are in |
//! | `run` | the command |

mod check;
pub mod driver;
mod files;
mod log;
mod play;
mod read;
pub mod report;
mod run;
mod runtime;
mod script;
mod stage;
pub(crate) mod words;

pub use driver::{Driver, DriverError};
pub use files::{read_folder, scenario_files};
pub use play::{Failure, Played, play, play_through};
pub use read::Unreadable;
pub use run::{TestOptions, run};
pub use script::{START_MS, Scenario};
