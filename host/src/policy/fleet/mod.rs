//! One policy for a whole fleet, through the store that its hosts share.
//!
//! An operator puts a policy into the store and names it wanted; each host fetches it, takes it
//! through its own stages when it is its turn, and reports. Nobody commands: a host looks once a
//! second at what is wanted, so one that was away, or is new, converges like the others. Two
//! policies side by side on one fleet are a state like any other, since each reads the other's
//! records or leaves them alone.
//!
//! | module | subject |
//! |---|---|
//! | `keys` | which keys all this is under |
//! | [`wanted`] | what the fleet is to run |
//! | [`report`] | what a host says of itself, and the list of hosts |
//! | `chunks` | the bytes of a policy, in pieces that a store takes |
//! | `turn` | what a host is to do about what is wanted: a function of what it knows |
//! | `follow` | what has become of what is wanted, on one host |
//! | [`member`] | a host in its fleet: looks, does, reports |
//! | [`operator`] | push, pause, resume, roll back |
//! | [`overview`] | the fleet at one moment |
//! | `access` | reading records, replacing them, and what can go wrong with that |
//! | `pushing` | pushes that broke off, and what they left |
//! | `plain` | texts of others, so that they can be shown |
//!
//! # What is believed
//!
//! Whoever can write to the store can name a policy wanted, and a host's terms say whether it runs
//! it: signatures and lists of digests are checked on each host, by its own configuration, on the
//! very bytes that it fetched. What is in the store is bounded before it is read, and what cannot
//! be read is said and left alone.
//!
//! # What is kept
//!
//! All keys begin with the policies' prefix followed by `-policies:`, where no policy can write:
//! it is confined to its prefix followed by a colon. What is wanted, its bytes and those of the
//! last few before it stay until they are replaced; reports live for half a minute.

mod access;
mod chunks;
mod follow;
mod keys;
pub mod member;
pub mod operator;
pub mod overview;
mod plain;
mod pushing;
pub mod report;
mod turn;
pub mod wanted;

pub use self::access::FleetError;
pub use self::member::{Fleet, Options};
pub use self::operator::{Operator, Order, Progress, Pushed};
pub use self::overview::{Overview, Verdict};
pub use self::report::{HostReport, Step};
pub use self::wanted::{Canary, Named, Stopped, Wanted};
