//! What a caller writes down, one line of JSON each, before it acts on it.
//!
//! A line goes to the file in one piece and at once, so a process that is killed loses at most the
//! line that it was about to write. Each has the time twice: on the machine's monotonic clock,
//! which all processes of a machine share and which orders the lines of all journals, and on the
//! clock that the process itself takes for the fleet's.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use fusewire_core::{Event, RefusalReason};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// The time on the machine's monotonic clock, in us. All processes of a machine read the same one.
#[must_use]
pub fn monotonic_us() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u64::try_from(time.tv_nsec).unwrap_or_default();
    seconds * 1_000_000 + nanos / 1_000
}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The time on the machine's monotonic clock, in us.
    pub at_us: u64,
    /// The time on what this process takes for the fleet's clock, in ms since the Unix epoch.
    pub fleet_ms: u64,
    /// What happened.
    pub what: What,
}

/// What happened. A call's number is its own within its journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The process has begun.
    Start {
        /// By how much its wall clock was put wrong, in ms.
        shift_ms: i64,
        /// What its wall clock says, in ms since the Unix epoch.
        wall_ms: u64,
    },
    /// A call may be made, and is about to be.
    Admitted {
        /// Which.
        call: u64,
        /// Whom it goes to.
        domain: String,
        /// Whether it holds the probe lease.
        probe: bool,
        /// What the store said of the domain.
        saw: Saw,
    },
    /// A call may not be made.
    Refused {
        /// Which.
        call: u64,
        /// Whom it was to go to.
        domain: String,
        /// Why.
        reason: RefusalReason,
        /// What the store said of the domain.
        saw: Saw,
    },
    /// The caller gave the question up before it was answered.
    GivenUp {
        /// Which call it was about.
        call: u64,
        /// Whom it was to go to.
        domain: String,
    },
    /// How a call has ended; the policy is about to be told.
    Outcome {
        /// Which.
        call: u64,
        /// Whom it went to.
        domain: String,
        /// What it counts as.
        effect: Effect,
        /// What was seen: a status, or how it failed.
        seen: String,
    },
    /// The policy has been told everything about a call.
    Told {
        /// Which.
        call: u64,
    },
    /// The policy told of an event.
    Event {
        /// The call in which it happened.
        call: u64,
        /// The event.
        event: Event,
    },
    /// The policy failed.
    Fault {
        /// The call in which it did.
        call: u64,
        /// The fault's kind.
        kind: String,
    },
    /// A record is about to be replaced.
    Swap {
        /// The call for which it is.
        call: u64,
        /// The number of this swap in this journal.
        swap: u64,
        /// Whose record it is.
        domain: String,
        /// The present time as the policy was told it, in ms.
        now_ms: u64,
        /// What is expected there; none: nothing.
        expected: Option<String>,
        /// What is to be there.
        put: Option<String>,
    },
    /// The store has answered to that.
    Swapped {
        /// The number of the swap in this journal.
        swap: u64,
        /// Whether it was done.
        answer: Answer,
    },
    /// The store is in use again, or no more.
    Mode {
        /// The mode's name.
        mode: String,
        /// Why.
        why: String,
    },
    /// The process ends in good order.
    End,
}

/// What the store said of a domain when a call to it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Saw {
    /// It was not asked.
    Unasked,
    /// Nothing: it was out of reach.
    Away,
    /// That there is no record, or none that still counts.
    Absent,
    /// A record that is closed, in this epoch.
    Closed(u64),
    /// A record that is not closed.
    Tripped,
}

/// What a call counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The provider did its part.
    Success,
    /// It did not.
    Failure,
    /// It says nothing.
    Neutral,
    /// The caller gave it up.
    Dropped,
}

/// Whether a swap was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It was.
    Done,
    /// It was not: something else was there.
    NotDone,
    /// Nobody knows: there was no answer.
    Unknown,
}

/// A file that lines are added to.
pub struct Journal {
    file: Mutex<File>,
}

impl Journal {
    /// A new journal in this file.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Self {
            file: Mutex::new(file),
        })
    }

    /// Adds a line. Returns when the system has it: it survives the end of this process.
    ///
    /// # Panics
    /// It cannot be written: a journal with gaps proves nothing.
    pub fn write(&self, fleet_ms: u64, what: What) {
        // Under the lock, so that a journal's lines are in the order of their times.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let line = Line {
            at_us: monotonic_us(),
            fleet_ms,
            what,
        };
        let mut text = serde_json::to_vec(&line).expect("a line is a JSON text");
        text.push(b'\n');
        file.write_all(&text).expect("the journal takes the line");
    }
}

/// The lines of a journal. The last one is left out where it was not finished.
///
/// # Panics
/// It cannot be read, or a line that was finished is none of a journal.
#[must_use]
pub fn read(path: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("the journal {}: {error}", path.display()));
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| {
            serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("a line of {}: {error}: {line}", path.display()))
        })
        .collect()
}
