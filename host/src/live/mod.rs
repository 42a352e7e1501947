//! What is kept for each of the domains that come, within a limit.
//!
//! A service may guard calls to domains without end: tenants, layers, accounts as they come. What a
//! process keeps of each (metric series, the records and counters of a store in memory) has one
//! limit, [`LIVE_DOMAINS`] by default. Past it the domain goes first that was used least recently,
//! of those that are closed and idle. One that is open, half-open, held or under an order stays,
//! whatever the limit says: to forget it would be to close it.
//!
//! | module | subject |
//! |---|---|
//! | `names` | names in the order of their use, some of which may not go |
//! | `said` | until when what a record says must not be forgotten |

mod names;
mod said;

pub(crate) use self::names::Names;
pub(crate) use self::said::kept_until;

/// How many domains a process keeps something of, by default. Some 10 MB where all of it is in this
/// process (`cargo bench -p fusewire-tests --bench domains` prints it), and as many series as a
/// Prometheus server still takes in its stride; far more than a service calls within one window.
pub const LIVE_DOMAINS: usize = 10_000;
