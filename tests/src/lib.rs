//! What the tests share: real servers on free ports, started and stopped by the tests.
//!
//! | module | subject |
//! |---|---|
//! | [`envoy`] | a real Envoy with the filter in it |
//! | [`fleet`] | guards of one fleet, and the steps that tests take with them |
//! | [`gateway`] | gateways, and callers |
//! | [`promises`] | what a store breaks of its contract |
//! | [`redis_server`] | a real Redis, which can be killed, hung and brought back |
//! | [`scenarios`] | the scenarios of this repository |
//! | [`tools`] | programs of others, and where they are |
//! | [`upstream`] | a provider that does as it is told |
//! | [`wasi`] | components of WASI, on wasmtime's own implementation of it |

pub mod envoy;
pub mod fleet;
pub mod gateway;
pub mod promises;
pub mod redis_server;
pub mod scenarios;
pub mod tools;
pub mod upstream;
pub mod wasi;
