//! What is wrong with a line, and where.

use std::fmt;

use fusewire_core::Problem;

use crate::toml_places::dotted;

/// Something that is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The line, counted from one.
    pub line: u64,
    /// The key, such as `input.transport`. Empty for the whole line.
    pub key: String,
    /// What is wrong.
    pub wrong: String,
    /// What would be right. May be empty.
    pub right: String,
}

impl Mistake {
    /// Of a line as a whole.
    pub(super) fn of_line(line: u64, wrong: impl Into<String>, right: &str) -> Self {
        Self {
            line,
            key: String::new(),
            wrong: wrong.into(),
            right: right.to_owned(),
        }
    }

    pub(super) fn new(line: u64, problem: Problem) -> Self {
        Self {
            line,
            key: dotted(&problem.path),
            wrong: problem.wrong,
            right: problem.right,
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.line)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.wrong)?;
        if self.right.is_empty() {
            Ok(())
        } else {
            write!(f, "; {}", self.right)
        }
    }
}
