//! The door through which tests play scenarios over the filter's own store: a request with the
//! header field `fusewire-drive: 1` carries one JSON object, and is answered with one.
//!
//! | module | subject |
//! |---|---|
//! | [`stage`] | the store during a scenario: it can go away, forget, and is counted |
//! | [`mod@judged`] | what each request came to, in the log |
//! | [`driver`] | requests and answers |
//!
//! The protocol is that of `fusewire::scenario::driver`. It is made for an Envoy with one worker:
//! what a scenario has configured is that worker's alone. Values are the core's own, by their
//! serde forms, so nothing here knows what is in them.

mod driver;
mod judged;
mod stage;

pub(crate) use driver::Driver;
pub(crate) use judged::judged;
