//! What the tests share: real servers on free ports, started and stopped by the tests.
//!
//! | module | subject |
//! |---|---|
//! | [`fleet`] | guards of one fleet, and the steps that tests take with them |
//! | [`gateway`] | gateways, and callers |
//! | [`redis_server`] | a real Redis, which can be killed, hung and brought back |
//! | [`upstream`] | a provider that does as it is told |

pub mod fleet;
pub mod gateway;
pub mod redis_server;
pub mod upstream;
