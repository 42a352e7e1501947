//! What the environment says: which fleet, and who gives it orders.

use std::env;

/// Where the store's URL may be, so that it is in no list of processes.
pub(super) const STORE: &str = "FUSEWIRE_STORE";
/// Where the name may be of who gives orders.
const WHO: &str = "FUSEWIRE_WHO";

fn set(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The URL of the fleet's store.
pub(super) fn store() -> Option<String> {
    set(STORE)
}

/// Who runs this, as far as the environment says.
pub(super) fn someone() -> String {
    if let Some(who) = set(WHO) {
        return who;
    }
    let user = set("USER").or_else(|| set("LOGNAME"));
    let host = set("HOSTNAME").or_else(|| {
        // A shell need not hand its HOSTNAME on.
        let name = std::fs::read_to_string("/etc/hostname").ok()?;
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    });
    match (user, host) {
        (Some(user), Some(host)) => format!("{user}@{host}"),
        (Some(name), None) | (None, Some(name)) => name,
        (None, None) => "somebody".to_owned(),
    }
}
