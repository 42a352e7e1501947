//! A whole fleet's breaker over a store in memory: what scenarios cannot tell, such as a change of
//! the configuration in the middle.

mod contended;
mod explained;
mod fleet;
mod reconfigured;
mod stored;
mod told;
