//! Compiled code kept on disk, so that a restart or a return to an earlier policy does not compile
//! it again.
//!
//! Compiled code is machine code and is run as it is, so it is believed only under a seal: an
//! HMAC-SHA-256 with a key that is made at random in the folder, over the code, the digest of the
//! artefact that it was made of, and the build of the host that made it. Whatever is wrong with an
//! entry, it is not used, and the policy is compiled anew. Trust in a policy is never kept here:
//! its digest and signature are checked on its own bytes, before an entry is looked for.
//!
//! Whoever can write to the folder as the host's user can run what they want as that user anyway;
//! the seal is against everything less: a folder that is restored, shared, half-written, damaged.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::Digest;
use crate::engine::Compiled;

/// What compiled it: the version, the dependencies, the compiler and the target of this host.
const BUILD: &str = env!("FUSEWIRE_BUILD");

/// What an entry begins with.
const MAGIC: &[u8] = b"fusewire compiled 1\n";

/// The length of a key, and of a seal.
const SEAL: usize = 32;

/// The most entries kept. The oldest goes: a host returns to its last few policies at most.
const MOST: usize = 16;

/// The most bytes of an entry that are read.
const LARGEST: u64 = 256 << 20;

/// What the name of an entry ends in.
const EXTENSION: &str = "compiled";

/// A folder with compiled code in it.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    /// The seal before anything is under it: what makes it is the folder's key.
    blank: Hmac<Sha256>,
}

/// What a cache has for an artefact.
pub enum Kept {
    /// Its code, compiled before.
    Code(Compiled),
    /// Nothing.
    Nothing,
    /// An entry that is not to be used: why.
    Unusable(String),
}

impl Cache {
    /// The cache in this folder, which is made where it is not there, for this user alone. So is its
    /// key.
    ///
    /// # Errors
    /// The folder or the key cannot be made or read, or other users can write to the folder, and so
    /// could put a key of their own there; the text names the path.
    pub fn open(folder: &Path) -> io::Result<Self> {
        make_folder(folder)
            .and_then(|()| check_folder(folder))
            .map_err(|error| with_path(folder, &error))?;
        let path = folder.join("key");
        let key = key(&path).map_err(|error| with_path(&path, &error))?;
        Ok(Self {
            folder: folder.to_path_buf(),
            blank: Hmac::new_from_slice(&key).map_err(io::Error::other)?,
        })
    }

    /// The code that was compiled of the artefact with this digest.
    #[must_use]
    pub fn get(&self, digest: &Digest) -> Kept {
        let path = self.path(digest);
        let read = fs::File::open(&path).and_then(|file| {
            let mut entry = Vec::new();
            file.take(LARGEST).read_to_end(&mut entry)?;
            Ok(entry)
        });
        let entry = match read {
            Ok(entry) => entry,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Kept::Nothing,
            Err(error) => return Kept::Unusable(format!("it cannot be read: {error}")),
        };
        let unsealed = self.unseal(digest, &entry);
        let code = match unsealed {
            Ok(code) => code,
            Err(why) => return Kept::Unusable(why.to_owned()),
        };
        // SAFETY: the seal holds, so this is what `put` wrote: what `Compiled::code` gave in this
        // very build of the host.
        match unsafe { Compiled::from_code(code) } {
            Ok(compiled) => Kept::Code(compiled),
            Err(error) => Kept::Unusable(error.to_string()),
        }
    }

    /// Keeps the code that was compiled of the artefact with this digest, and lets go of the oldest
    /// entries.
    ///
    /// # Errors
    /// It cannot be written. What was there before still is.
    pub fn put(&self, digest: &Digest, compiled: &Compiled) -> io::Result<()> {
        let code = compiled.code().map_err(io::Error::other)?;
        let seal = self.mac(digest, &code).finalize().into_bytes();
        let path = self.path(digest);
        let unfinished = unfinished(&path);
        let written = private_file(&unfinished).and_then(|mut file| {
            for part in [MAGIC, BUILD.as_bytes(), b"\n", &seal, &code] {
                file.write_all(part)?;
            }
            fs::rename(&unfinished, &path)
        });
        if let Err(error) = written {
            let _ = fs::remove_file(&unfinished);
            return Err(with_path(&path, &error));
        }
        self.forget_the_oldest();
        Ok(())
    }

    fn unseal<'e>(&self, digest: &Digest, entry: &'e [u8]) -> Result<&'e [u8], &'static str> {
        const DAMAGED: &str = "its seal does not hold";
        let rest = entry.strip_prefix(MAGIC).ok_or(DAMAGED)?;
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or(DAMAGED)?;
        let (build, rest) = rest.split_at(end);
        if build != BUILD.as_bytes() {
            return Err("another build of this host made it");
        }
        let (seal, code) = rest.split_at_checked(1 + SEAL).ok_or(DAMAGED)?;
        let seal = seal.get(1..).ok_or(DAMAGED)?;
        match self.mac(digest, code).verify_slice(seal) {
            Ok(()) => Ok(code),
            Err(_) => Err(DAMAGED),
        }
    }

    fn mac(&self, digest: &Digest, code: &[u8]) -> Hmac<Sha256> {
        // Each part has its length before it, or is the last, so no two entries have one text.
        let mut mac = self.blank.clone();
        mac.update(&(BUILD.len() as u64).to_le_bytes());
        mac.update(BUILD.as_bytes());
        mac.update(digest.as_bytes());
        mac.update(code);
        mac
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(digest.hex()).with_extension(EXTENSION)
    }

    fn forget_the_oldest(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        let mut found: Vec<(SystemTime, PathBuf)> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|found| found == EXTENSION))
            .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
            .collect();
        found.sort();
        for (_, path) in found.iter().take(found.len().saturating_sub(MOST)) {
            // One that stays costs room, and nothing else.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(unix)]
fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

/// Refuses a folder that others can write to.
#[cfg(unix)]
fn check_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    const OTHERS_WRITE: u32 = 0o022;
    if fs::metadata(folder)?.permissions().mode() & OTHERS_WRITE == 0 {
        return Ok(());
    }
    let why = "other users can write to it, and compiled code is kept there: take that from them \
               (chmod go-w)";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

#[cfg(not(unix))]
fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(not(unix))]
fn check_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// A new file that this user alone can read.
fn private_file(path: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A name beside this one that nobody else writes to.
fn unfinished(path: &Path) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{number}.unfinished", std::process::id()))
}

/// The key in this file, made at random where there is none.
fn key(path: &Path) -> io::Result<[u8; SEAL]> {
    let found = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut fresh = [0; SEAL];
            fs::File::open("/dev/urandom")?.read_exact(&mut fresh)?;
            // Written whole before it has its name, and never over another: hosts that begin
            // together have one key.
            let unfinished = unfinished(path);
            private_file(&unfinished)?.write_all(&fresh)?;
            let linked = fs::hard_link(&unfinished, path);
            let _ = fs::remove_file(&unfinished);
            match linked {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => fs::read(path)?,
            }
        }
        other => other?,
    };
    found.try_into().map_err(|_| {
        let why = format!("it is no key of {SEAL} bytes; remove it, and a new one is made");
        io::Error::new(io::ErrorKind::InvalidData, why)
    })
}

fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
