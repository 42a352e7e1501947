//! A value that may be in the environment, and is never printed.

use std::fmt;

/// What a value begins with that is in the environment.
const FROM_ENVIRONMENT: &str = "env:";

/// A text that may be a key or have a password in it. Written out, or as `env:NAME`, which stands
/// for an environment variable.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A value as it is written in the configuration.
    #[must_use]
    pub fn new(written: impl Into<String>) -> Self {
        Self(written.into())
    }

    /// The environment variable that the value is in, if it is in one.
    #[must_use]
    pub fn variable(&self) -> Option<&str> {
        self.0.strip_prefix(FROM_ENVIRONMENT)
    }

    /// The value.
    ///
    /// # Errors
    /// A sentence that says which environment variable is not set.
    pub fn reveal(&self) -> Result<String, String> {
        match self.variable() {
            Some(name) => std::env::var(name)
                .map_err(|_| format!("the environment variable `{name}` is not set")),
            None => Ok(self.0.clone()),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.variable().is_some() {
            &self.0
        } else {
            "***"
        })
    }
}
