//! The last good policy, kept on disk: what a host starts with where the wanted one does not load.
//!
//! Two files, `last-good.wasm` and, where it is signed, `last-good.wasm.minisig`. They are vetted as
//! any other policy when they are used: being on disk makes nobody trusted.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::Artefact;
use super::artefact::signature_path;

/// The file of the last good policy.
const LAST_GOOD: &str = "last-good.wasm";

/// A folder that a host keeps its last good policy in. Each host has one of its own.
pub struct Folder(PathBuf);

impl Folder {
    /// The folder at this path. It is made when something is kept.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Keeps a policy as the last good one. A host that dies in between has the one before, or this
    /// one with the other's signature, which does not hold.
    ///
    /// # Errors
    /// It cannot be written; the text names the file.
    pub fn keep(&self, artefact: &Artefact) -> io::Result<()> {
        fs::create_dir_all(&self.0).map_err(|error| about(&self.0, &error))?;
        let path = self.0.join(LAST_GOOD);
        if self.read(artefact.bytes().len())?.is_some_and(|kept| {
            kept.digest() == artefact.digest() && kept.signature() == artefact.signature()
        }) {
            return Ok(());
        }
        let beside = signature_path(&path);
        match artefact.signature() {
            Some(signature) => replace(&beside, signature.as_bytes())?,
            None => match fs::remove_file(&beside) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(about(&beside, &error));
                }
                _ => {}
            },
        }
        replace(&path, artefact.bytes())
    }

    /// The last good policy, where there is one of at most so many bytes.
    ///
    /// # Errors
    /// There is one, and it cannot be read; the text names the file.
    pub fn read(&self, largest: usize) -> io::Result<Option<Artefact>> {
        match Artefact::read(&self.0.join(LAST_GOOD), largest) {
            Ok(artefact) => Ok(Some(artefact)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Writes a file as a whole: under its name there is either what was there, or all of this.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".new");
    let unfinished = PathBuf::from(unfinished);
    let write = || {
        let mut file = fs::File::create(&unfinished)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    };
    write().map_err(|error| about(path, &error))
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
