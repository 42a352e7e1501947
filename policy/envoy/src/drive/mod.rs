//! The door through which tests play scenarios over the filter's own store: a request with the
//! header field `fusewire-drive: 1` carries one JSON object, and is answered with one.
//!
//! | module | subject |
//! |---|---|
//! | [`stage`] | the store during a scenario: it can go away, forget, and is counted |
//! | [`driver`] | requests and answers |
//!
//! The protocol is that of `fusewire::scenario::driver`. It is made for an Envoy with one worker:
//! what a scenario has configured is that worker's alone. Values are the core's own, by their
//! serde forms, so nothing here knows what is in them.

mod driver;
mod stage;

use fusewire_core::Ending;

use crate::host::{Host, Level};

pub(crate) use driver::Driver;

/// Says in the log how each request ended, for tests of what Envoy's facts come to.
pub(crate) fn judged<H: Host>(host: &H, ending: &Ending) {
    let line = match ending {
        Ending::Judged(verdict) => {
            let (effect, rule, reason) = (verdict.effect, &verdict.rule, &verdict.reason);
            format!("fusewire drive: judged {effect} by {rule}: {reason}")
        }
        Ending::Dropped => "fusewire drive: dropped".to_owned(),
    };
    host.log(Level::Info, &line);
}
