//! What each request came to, in the log: for tests of what Envoy's facts are taken for.

use fusewire_core::Ending;

use crate::host::{Host, Level};

/// Says how a request ended.
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
