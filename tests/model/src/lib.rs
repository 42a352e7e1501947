//! Fusewire's breaker, checked in every interleaving of a small fleet.
//!
//! What is checked is the real core, called as a host calls it. A call stops at each operation on
//! the store, and goes on when the search lets it: between two operations of one call, any other
//! call may take steps, time may pass, instances may crash. Everything that can happen is searched to
//! the end, from nothing; what a fleet may do is bounded, how long it goes on is not.
//!
//! | module | subject |
//! |---|---|
//! | `text` | records and permits as forms with holes, in which times can be shifted |
//! | `store` | the store of the contract, an operation at a time |
//! | `call` | a call of the core as the search has it, and as the core has it |
//! | `core` | the one place where the core is called; what was played once is remembered |
//! | `replay` | the store as a call of the core sees it: suspension |
//! | `learn` | what must be known of the core beforehand |
//! | `quick` | the hash of what was played |
//! | `state` | a fleet at one moment |
//! | `canonical` | its canonical form |
//! | `bounds`, `step`, `choices` | how far a search goes, and what can happen next |
//! | `model` | what comes of it |
//! | `promises` | what must hold of every operation and of every state |
//! | `graph` | every state that can be reached, and whether closed can be reached from there |
//! | `fleets` | the fleets that are searched: what each covers, and how far |
//! | `fault` | stores with a fault, to see that it is noticed |
//!
//! # The promises
//!
//! 1. At most one live probe a domain, in the record that the fleet shares. A probe is live from its
//!    admission until its outcome is told or its lease is over. A live probe's lease leaves the record
//!    by its own outcome alone.
//! 2. Never stuck. From every state, closed is reached over steps of a healthy fleet alone: time
//!    passes, attempts are made and pass, the store answers. No other steps are needed, and all
//!    that a healthy fleet does leads to states from which that holds too; so in a finite graph closed
//!    is reached, unless some step that is possible again and again is never taken. Records do not
//!    expire where this is asked, but in the fleets with a short memory: it is probes that close. States
//!    in which an operator's order stands until it is cleared are left out, those after it are not.
//!    Where the store can be out of reach, the same holds of an instance's own breaker with a store
//!    that never answers.
//! 3. An outcome from an earlier epoch, of another lease, or without the fleet's word changes neither
//!    the record nor what is counted for its epoch or a later one, however late it is told. Told for
//!    what it is by the record alone: where that was lost, or its time is over, an outcome may count
//!    for the epoch that the counter has outlived it with.
//! 4. Openings in a row grow by one with each opening, and by nothing else; an opening lasts as long
//!    as it was made to, however many outcomes follow.
//! 5. A call that is refused has written nothing; with two domains, it has given back what it took.
//!    An operation that does not succeed leaves bytes and lifetimes as they are.
//!
//! With a clock that is off by more than the lease, the first does not hold, and cannot: that
//! instance takes leases that are not over, or gives itself some that are. What holds is that nobody
//! else does: a live probe loses its lease only to the instance whose clock is ahead, or where it is of
//! the instance whose clock is off. Whoever has lost it changes nothing any more (3), so one probe
//! alone judges.
//!
//! # The fleets
//!
//! | fleet | covers |
//! |---|---|
//! | [`Bounds::three_at_once`] | three calls of three instances; crashes, lost and late outcomes, expired leases |
//! | [`Bounds::slow_store`] | calls that outlive leases and cool-downs between their operations |
//! | [`Bounds::two_probes`] | two clean probes in a row |
//! | [`Bounds::store_out_of_reach`] | `unavailable` at any operation, whether it took effect or not |
//! | [`Bounds::breaker_of_its_own`] | the same for one of three, with a breaker of its own |
//! | [`Bounds::quorum`] | two instances must have seen it; own breakers before |
//! | [`Bounds::short_memory`] | records and counters that expire |
//! | [`Bounds::store_that_forgets`] | a store that loses keys; without the first promise |
//! | [`Bounds::operator`] | orders at any moment, for ever or for a while |
//! | [`Bounds::clock_ahead`], [`Bounds::clock_behind`] | a clock that is off by more than a lease |
//! | [`Bounds::two_domains`], [`Bounds::two_open_domains`] | a provider and its operation |
//! | [`Bounds::ramp`] | traffic that returns by and by |
//!
//! # Why it ends
//!
//! Times are counted from the present; those that are over by every clock are equally over, epochs
//! beyond the quiet time keep their order, revisions keep theirs, random bits and instances with the
//! same clock are numbered as they are met. So a fleet that goes on for ever comes back to states
//! where it has been. Failures are counted as far as a rule counts, openings in a row as far as
//! cool-downs grow. A call that has lost a race is not asked what it saw before. Hosts give up calls
//! that wait for too long: `Bounds::patience`.
//!
//! # Why not stateright
//!
//! Its `eventually` looks at paths that end, and says itself that it misses cycles; "never stuck" is a
//! question about cycles alone, and needs the graph backwards, which it does not keep. It would have
//! brought 40 crates, a web server among them, for a breadth-first search.

mod bounds;
mod call;
mod canonical;
mod choices;
mod core;
mod fault;
mod fleets;
mod graph;
mod learn;
mod model;
mod promises;
mod quick;
mod replay;
mod state;
mod step;
mod store;
mod text;

pub use bounds::Bounds;
pub use call::Mode;
pub use fault::Fault;
pub use graph::{Finding, Report, search};
pub use promises::Promise;
