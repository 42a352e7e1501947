//! Components of WASI, run on wasmtime's own implementation of it.
//!
//! | module | subject |
//! |---|---|
//! | [`artefacts`] | the components, as they were built |
//! | [`clients`] | many instances of an adapter on the same contents |
//! | [`drive`] | a policy and a store, driven by JSON |
//! | [`json`] | values of the component model in JSON |
//! | [`keyvalue`] | `wasi:keyvalue` with contents that many instances share |
//! | `running` | one instance, whose exports are called by JSON |
//! | [`serve`] | `wasi:http` components, an instance for each request |
//! | `state` | what the host of one instance has |

pub mod artefacts;
pub mod clients;
pub mod drive;
pub mod json;
pub mod keyvalue;
mod running;
pub mod serve;
mod state;
