//! A problem or a warning, at its line and column.

use std::fmt;
use std::io;

use fusewire_core::Problem;

use crate::toml_places::{Document, Place, dotted};

/// Something that was found in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where in the file; for something that is missing, where it should be.
    pub place: Place,
    /// Which setting, such as `routes[0].chain`. Empty for the whole file.
    pub setting: String,
    /// What is wrong.
    pub wrong: String,
    /// What would be right. May be empty.
    pub right: String,
}

impl Finding {
    /// Each problem at its place, in the order of the file, so that they are read along with it.
    #[must_use]
    pub fn all(problems: Vec<Problem>, document: &Document) -> Vec<Self> {
        let mut all: Vec<Self> = problems
            .into_iter()
            .map(|problem| Self::new(problem, document))
            .collect();
        all.sort_by_key(|finding| finding.place);
        all
    }

    fn new(problem: Problem, document: &Document) -> Self {
        Self {
            place: document.place(&problem.path),
            setting: dotted(&problem.path),
            wrong: problem.wrong,
            right: problem.right,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.setting.is_empty() {
            write!(f, "{}: ", self.setting)?;
        }
        f.write_str(&self.wrong)?;
        if self.right.is_empty() {
            Ok(())
        } else {
            write!(f, "; {}", self.right)
        }
    }
}

/// Why a configuration cannot be used. Printed, it is one line a problem:
/// `fusewire.toml:12:9: providers.photon.total: what is wrong; what would be right`.
#[derive(Debug)]
pub enum CheckError {
    /// The file cannot be read.
    File {
        /// The file.
        file: String,
        /// Why.
        error: io::Error,
    },
    /// Every problem of the file, in the order of their places.
    Problems {
        /// The file.
        file: String,
        /// The problems.
        problems: Vec<Finding>,
    },
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, error } => write!(f, "{file}: {error}"),
            Self::Problems { file, problems } => {
                for (at, problem) in problems.iter().enumerate() {
                    let line_end = if at == 0 { "" } else { "\n" };
                    write!(f, "{line_end}{file}:{problem}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for CheckError {}
