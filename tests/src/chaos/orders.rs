//! What a worker is told when it is started, as one argument of JSON; and the settings that all of
//! the fleet share.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::check::Rules;

/// The settings of the policy, short enough for hundreds of openings. No jitter, so that the length
/// of a cool-down tells the number of its opening.
pub const CONFIGURATION: &str = r#"{
    "breaker": {
        "failures": {"count": 3, "window": "1s"},
        "failure-ratio": false,
        "cool-down": {"first": "300ms", "growth": 2, "max": "2s", "jitter": 0, "quiet": "1s"},
        "probes": {"needed": 2, "lease": "400ms"},
        "ramp": {"time": "400ms", "first-share": 0.25},
        "idle": "30s"
    }
}"#;

/// The same settings, for those who check what was done under them.
pub const RULES: Rules = Rules {
    failures: 3,
    window_ms: 1_000,
    bucket_ms: 100,
    first_ms: 300,
    growth: 2,
    longest_ms: 2_000,
    quiet_ms: 1_000,
    probes: 2,
    lease_ms: 400,
};

/// How long a call may take. Shorter than the lease of a probe, so that one which runs out of time
/// is judged while it holds its lease.
pub const CALL_LIMIT: Duration = Duration::from_millis(250);

/// How long an operation of the store may take. Longer than by default, so that a busy machine does
/// not look like a store that hangs; and how long a pause of the store is felt.
pub const STORE_LIMIT: Duration = Duration::from_millis(150);

/// The longest that a caller keeps the outcome of a call to itself.
pub const DAWDLE_MAX: Duration = Duration::from_millis(2_500);

/// What a worker is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Orders {
    /// The name of the process, distinct among all that ever run. Each of its callers is an instance
    /// of the fleet of its own, by this name with a dash and a number.
    pub instance: String,
    /// The URL of the store.
    pub store: String,
    /// The providers it calls: names and addresses.
    pub providers: Vec<(String, SocketAddr)>,
    /// By how much its wall clock is wrong, in ms.
    pub shift_ms: i64,
    /// The provider for which it does not follow the store's clock, but that wall clock.
    pub own_clock_for: Option<String>,
    /// The folder of its journals: one of the process, and one a caller.
    pub journals: PathBuf,
    /// The folder with the policy's compiled code.
    pub cache: PathBuf,
    /// What its random numbers come from.
    pub seed: u64,
}

impl Orders {
    /// The orders as an argument.
    ///
    /// # Panics
    /// A path in them is no text.
    #[must_use]
    pub fn argument(&self) -> String {
        serde_json::to_string(self).expect("orders are a JSON text")
    }

    /// The orders in an argument.
    ///
    /// # Errors
    /// It has none.
    pub fn of_argument(argument: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(argument)
    }
}

/// The process that an instance is in.
#[must_use]
pub fn process_of(instance: &str) -> &str {
    instance.split('-').next().unwrap_or_default()
}

/// The file of a journal in its folder.
#[must_use]
pub fn journal_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.jsonl"))
}
