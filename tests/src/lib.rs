//! What the tests share: real servers on free ports, started and stopped by the tests.
//!
//! | module | subject |
//! |---|---|
//! | [`attacked`] | a host under traffic whose policy somebody wants to replace with a hostile one |
//! | [`cases`] | the labelled cases of this repository |
//! | [`chaos`] | a fleet that is killed, paused and cut off at random, and what its journals must say |
//! | [`contract`] | what a contract in WIT says, to be compared with another |
//! | [`desk`] | a folder with a policy in it, and `fusewire policy` run there |
//! | [`drivers`] | the drivers of this repository that are scripts |
//! | [`envoy`] | a real Envoy with the filter in it |
//! | [`fleet`] | guards of one fleet, and the steps that tests take with them |
//! | [`gateway`] | gateways, and callers |
//! | [`hostile`] | a policy that does whatever harm it is told to |
//! | [`hosts`] | hosts that replace their policy, and the command of their operators |
//! | [`measure`] | the component against the same core compiled natively, side by side |
//! | [`memory`] | how much memory this process has |
//! | [`metered`] | the built-in policy, with the work that it does counted |
//! | [`operator`] | those who operate a fleet, and `fusewire` as they type it |
//! | [`promises`] | what a store breaks of its contract |
//! | [`redis_server`] | a real Redis, which can be killed, hung and brought back |
//! | [`scenarios`] | the scenarios of this repository |
//! | [`spy`] | a policy that keeps what it was shown |
//! | [`tools`] | programs of others, and where they are |
//! | [`upstream`] | a provider that does as it is told |
//! | [`versions`] | two versions of the policy, with different record schemas, on one store |
//! | [`wasi`] | components of WASI, on wasmtime's own implementation of it |

pub mod attacked;
pub mod cases;
pub mod chaos;
pub mod contract;
pub mod desk;
pub mod drivers;
pub mod envoy;
pub mod fleet;
pub mod gateway;
pub mod hostile;
pub mod hosts;
pub mod measure;
pub mod memory;
pub mod metered;
pub mod operator;
pub mod promises;
pub mod redis_server;
pub mod scenarios;
pub mod spy;
pub mod tools;
pub mod upstream;
pub mod versions;
pub mod wasi;
