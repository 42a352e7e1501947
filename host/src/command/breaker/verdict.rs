//! What scripts want to know.

use std::process::ExitCode;

/// Whether all is well, as an exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// 0: every domain that was asked for is closed.
    AllClosed,
    /// 1: some are not.
    NotClosed,
    /// 2: it cannot be told.
    Unknown,
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::AllClosed => Self::SUCCESS,
            Verdict::NotClosed => Self::from(1),
            Verdict::Unknown => Self::from(2),
        }
    }
}

/// Says why nothing can be told, and ends so.
pub(super) fn unknown(error: &anyhow::Error) -> ExitCode {
    eprintln!("fusewire: {error:#}");
    Verdict::Unknown.into()
}
