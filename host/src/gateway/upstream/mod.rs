//! Asking a provider over HTTP, such that what went wrong is known exactly.
//!
//! | module | subject |
//! |---|---|
//! | [`client`] | one provider's connections, and one attempt over them |
//! | [`limits`] | the three time limits, and which one fired |
//! | [`failure`] | from an error of the HTTP client to the contract's name for it |
//! | `look` | the beginning of a body, as a policy looks at it |
//! | `events` | the first event of a stream of events |
//! | `connecting` | whether an attempt has its connection yet |
//!
//! Nothing here knows of routes or breakers: what calls providers by itself can use it with a
//! [`crate::guard::Guard`] alone.

pub mod client;
mod connecting;
mod events;
pub mod failure;
pub mod limits;
mod look;

pub use self::client::{Asked, Body, Head, Incoming, Looked, Outgoing, Upstream, install_crypto};
pub use self::failure::Failure;
pub use self::limits::{Limits, Timer};
