//! `fusewire status | open | close | off | observe | clear | explain`: what operators do with the
//! breakers of a fleet, through its store.
//!
//! | module | subject |
//! |---|---|
//! | `status` | all domains, or some |
//! | `watch` | the same whenever something changes |
//! | `reader` | whether anybody reads what is watched |
//! | `screen` | what is watched, on a terminal |
//! | `order` | orders for one domain |
//! | `explain` | why one domain stands as it does |
//! | `place` | which fleet is meant, and its policy |
//! | `desk` | asking that policy: listing, looking |
//! | `witness` | why there was no answer, where there was none |
//! | `names` | domains as they are named on a command line |
//! | `look` | one domain as it was seen |
//! | `stored` | what of its record the contract has no place for |
//! | `table`, `words` | how people read it |
//! | `verdict` | how scripts do |
//!
//! What is read and written goes through the policy: here no record is made or changed.

mod desk;
mod explain;
mod look;
mod names;
mod order;
mod place;
mod reader;
mod screen;
mod status;
mod stored;
mod table;
mod verdict;
mod watch;
mod witness;
mod words;

pub(crate) use self::explain::{ExplainArgs, explain};
pub(crate) use self::order::{
    ClearArgs, CloseArgs, ObserveArgs, OffArgs, OpenArgs, clear, close, observe, off, open,
};
pub(crate) use self::status::{StatusArgs, status};
