//! A store on Redis, for a fleet.
//!
//! | module | subject |
//! |---|---|
//! | `store` | [`RedisStore`]: each operation as one round trip |
//! | `scripts` | the Lua scripts, each with its contract and why it is one |
//! | `link` | the one connection, and the task that brings it back |
//! | `keys` | which keys there are, for those who operate a fleet |
//! | [`changes`] | word from the server of keys that change |
//! | `clock` | the fleet's clock: local monotonic time plus a measured offset |
//! | `drift` | how far this host's own clock is from it, and what is said of that |
//! | `errors` | which of Redis's errors mean "out of reach", and which "will not be done" |
//!
//! # Keys
//!
//! A value is a string. A windowed counter is a hash: field `e` is the epoch that owns it, and
//! field `<bucket>:<lane>` an amount. Every key has a lifetime unless its writer said none.
//!
//! # What it needs
//!
//! One Redis (or Valkey, or a proxy that looks like one) from version 6 on that takes writes. A
//! node of a Redis Cluster refuses keys of other nodes, and this store does not follow it there.

pub mod changes;
mod clock;
mod drift;
mod errors;
mod keys;
mod link;
mod scripts;
mod store;

pub use self::changes::{Changes, News};
pub use self::drift::{CLOCK_WARNING, ClockNews, ClockReading, ClockWatch};
pub use self::link::RedisLimits;
pub use self::store::RedisStore;
