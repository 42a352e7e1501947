//! Fusewire's host: it stands in front of calls to outside services, asks the policy, and does
//! what the policy says.
//!
//! # The rooms
//!
//! | module | subject | may use |
//! |---|---|---|
//! | [`live`] | what is kept for each of the domains that come, within a limit | |
//! | [`store`] | the fleet's key-value store: memory, Redis, your own | core |
//! | [`engine`] | running a policy: the component in wasmtime, or the core compiled in | core, store |
//! | [`guard`] | one call: admit, attempt, classify, settle, next step | engine, store |
//! | [`logging`] | the log: one line a transition | guard's events |
//! | [`metrics`] | what is counted, in the Prometheus format | guard's events |
//! | [`policy`] | a policy as an artefact: whether it may run, and replacing one by another | engine, scenario, guard |
//! | [`gateway`] | `fusewire serve`: guards HTTP providers for workers of any language | guard, metrics, logging, toml_places |
//! | [`cases`] | answers of services as they are written down, with what they should mean | toml_places |
//! | [`toml_places`] | TOML as JSON that remembers where each value was written | |
//! | [`json_places`] | the same of JSON | toml_places |
//! | [`scenario`] | `fusewire test`: plays a policy's decisions against a script | engine, store, toml_places |
//! | [`demo`] | `fusewire demo`: an outage from beginning to end | gateway |

pub mod cases;
pub mod demo;
pub mod engine;
pub mod gateway;
pub mod guard;
pub mod json_places;
pub mod live;
pub mod logging;
pub mod metrics;
pub mod policy;
pub mod reference;
pub mod scenario;
pub mod store;
pub mod toml_places;

pub use fusewire_core as core;
pub use fusewire_sections as sections;
