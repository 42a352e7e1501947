//! `fusewire serve`: an HTTP gateway that guards providers for workers of any language.
//!
//! | module | subject |
//! |---|---|
//! | [`config`] | the configuration file, and everything that can be wrong with it |
//! | [`server`] | a gateway from its start to its stop |
//! | `token` | bearer tokens |
//! | [`upstream`] | asking a provider over HTTP; usable by itself |
//! | `policy` | the policy that it starts with, and what may replace it |
//! | `reload` | the policy's settings, when the configuration file changes |
//! | `admin` | `/policy`, at the operators' address |
//! | `exchange` | the fleet's store, for filters in Envoy |
//! | [`routes`] | which route a request takes |
//! | [`template`] | which URL a request becomes |
//! | [`headers`] | which header fields pass through |
//! | `call` | one request: the chain, the attempts, the answer |
//! | `relay` | a long answer, passed on while it comes, judged by its end |
//! | `reply` | what the gateway says, in header fields and problem details |
//!
//! # What callers see
//!
//! A provider's answer is passed on with its status, its fields and its body, and with
//!
//! - `fusewire-provider`: who gave it,
//! - `fusewire-attempts`: how many attempts were made in all,
//! - `fusewire-skipped`: who was passed over and why, such as
//!   `photon;reason=breaker-open;retry-after=30, other;reason=provider-error` (a list as in RFC
//!   9651), where anybody was. `breaker-open` says that it was not asked, `provider-error` that it
//!   was, in vain, and `deadline` that the route's deadline left it too little time.
//!
//! Where no provider is left the answer is 503 with `Retry-After` and problem details (RFC 9457)
//! whose `providers` has each one's reason. Whatever the gateway answers by itself has no
//! `fusewire-provider`, so that it is never taken for a provider's word.
//!
//! `/metrics` and `/healthz` are the gateway's own, and so is the path of `[exchange]` where that is
//! configured. With `admin` configured the metrics are at
//! that address alone, and `/healthz` at both.

mod admin;
mod call;
pub mod config;
mod exchange;
pub mod headers;
mod policy;
mod relay;
mod reload;
mod reply;
pub mod routes;
pub mod server;
pub mod template;
mod token;
pub mod upstream;

pub use self::config::Config;
pub use self::server::{Builder, Gateway, StartError, serve};
