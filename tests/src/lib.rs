//! What the tests share: real servers on free ports, started and stopped by the tests.

pub mod gateway;
pub mod upstream;
