//! The bytes of a policy, and where they come from.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Digest;
use crate::engine::BUILT_IN;

/// The most bytes of a signature's file: it is five times as long as those that are made.
const LARGEST_SIGNATURE: usize = 4 << 10;

/// The bytes of a component, with their digest and, where there is one, their signature. Nothing of
/// it is checked yet. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Artefact {
    bytes: Arc<[u8]>,
    digest: Digest,
    signature: Option<String>,
    origin: String,
}

impl Artefact {
    /// An artefact of these bytes. The signature is the text of a minisign signature's file. The
    /// origin is for people: a path, `the fleet's store`.
    pub fn new(
        bytes: impl Into<Arc<[u8]>>,
        signature: Option<String>,
        origin: impl Into<String>,
    ) -> Self {
        let bytes = bytes.into();
        Self {
            digest: Digest::of(&bytes),
            bytes,
            signature,
            origin: origin.into(),
        }
    }

    /// The policy that this host was built with.
    #[must_use]
    pub fn built_in() -> Self {
        Self::new(BUILT_IN, None, "built in")
    }

    /// Reads a file, and its signature where there is a file for that beside it
    /// ([`signature_path`]).
    ///
    /// # Errors
    /// One of the two cannot be read, or the file is longer than `largest` bytes: then no more than
    /// that is read. The text names the file.
    pub fn read(path: &Path, largest: usize) -> io::Result<Self> {
        let bytes = read_at_most(path, largest)?;
        let beside = signature_path(path);
        let signature = match read_at_most(&beside, LARGEST_SIGNATURE) {
            Ok(bytes) => Some(String::from_utf8(bytes).map_err(|_| {
                let why = format!(
                    "{}: not a text, so not a signature of minisign",
                    beside.display()
                );
                io::Error::new(io::ErrorKind::InvalidData, why)
            })?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self::new(bytes, signature, path.display().to_string()))
    }

    /// The bytes of the component.
    #[must_use]
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// What it is known by.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The text of its signature; nobody has verified it yet.
    #[must_use]
    pub fn signature(&self) -> Option<&str> {
        self.signature.as_deref()
    }

    /// Where it comes from, for people.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Whether it is, byte for byte, the policy that this host was built with.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        *self.bytes == *BUILT_IN
    }
}

/// The file of an artefact's signature: beside it, with `.minisig` after the whole name.
#[must_use]
pub fn signature_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".minisig");
    name.into()
}

/// Reads a file that has no more than `largest` bytes. Its length is not believed: a file can grow
/// while it is read, and a device has none.
fn read_at_most(path: &Path, largest: usize) -> io::Result<Vec<u8>> {
    let told =
        |error: &io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(|error| told(&error))?;
    let limit = u64::try_from(largest).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| told(&error))?;
    if bytes.len() > largest {
        let why = format!(
            "{}: longer than the {largest} bytes allowed",
            path.display()
        );
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}
