//! Finding a compiler for WebAssembly.
//!
//! The compiler in use serves where its standard library for the target is installed. Otherwise
//! `make setup` may have unpacked one into the cache folder, together with the source of its
//! standard library, which cargo then builds first.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::{Place, Result, TARGET};

/// A compiler that can build for [`TARGET`].
pub(crate) struct Toolchain {
    /// The compiler.
    pub(crate) rustc: PathBuf,
    /// What has to be added where the standard library comes as source.
    pub(crate) from_source: Option<FromSource>,
}

/// How to build with a toolchain that brings the source of its standard library.
pub(crate) struct FromSource {
    /// The linker, which the toolchain itself does not bring.
    pub(crate) linker: PathBuf,
}

/// The toolchain to use, the one in use before the unpacked one.
pub(crate) fn find(place: &Place) -> Result<Toolchain> {
    let rustc = place.rustc.clone();
    if standard_library_installed(&rustc)? {
        return Ok(Toolchain {
            rustc,
            from_source: None,
        });
    }
    let folder = cache_folder(place)?.join("wasm-toolchain");
    let unpacked = folder.join("bin/rustc");
    if unpacked.is_file() {
        place.say("rerun-if-changed", &unpacked.display());
        let linker = linker(&rustc, &folder)?;
        return Ok(Toolchain {
            rustc: unpacked,
            from_source: Some(FromSource { linker }),
        });
    }
    Err(format!(
        "the policy is compiled to WebAssembly, and Rust's standard library for that is missing.\n\
         Either of these brings it:\n\
         \n    rustup target add {TARGET}\
         \n    make setup      (without rustup, or where it cannot download; looks in {})\n",
        folder.display()
    ))
}

/// Whether the compiler finds a standard library: the folder it names need not exist.
fn standard_library_installed(rustc: &Path) -> Result<bool> {
    let folder = ask(rustc, &["--print", "target-libdir", "--target", TARGET])?;
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(false);
    };
    Ok(entries
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().starts_with("libcore-")))
}

/// A linker for WebAssembly: one unpacked with the compiler, else the one that the compiler in
/// use brings, else whatever is on the path.
fn linker(rustc: &Path, folder: &Path) -> Result<PathBuf> {
    let sysroot = PathBuf::from(ask(rustc, &["--print", "sysroot"])?);
    let bundled = sysroot
        .join("lib/rustlib")
        .join(host(rustc)?)
        .join("bin/rust-lld");
    let found = [folder.join("bin/wasm-ld"), bundled]
        .into_iter()
        .find(|path| path.is_file());
    Ok(found.unwrap_or_else(|| PathBuf::from("wasm-ld")))
}

/// The machine that the compiler in use builds for, as it calls it.
fn host(rustc: &Path) -> Result<String> {
    ask(rustc, &["-vV"])?
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .ok_or_else(|| format!("{} -vV does not say its host", rustc.display()))
}

/// The folder that `.ci/setup` fills; both must agree.
pub(crate) fn cache_folder(place: &Place) -> Result<PathBuf> {
    let set = |name: &str| {
        place.say("rerun-if-env-changed", &name);
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("FUSEWIRE_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("fusewire")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/fusewire")))
        .ok_or_else(|| "neither FUSEWIRE_CACHE, XDG_CACHE_HOME nor HOME is set".to_owned())
}

fn ask(rustc: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new(rustc)
        .args(arguments)
        .output()
        .map_err(|error| format!("cannot run {}: {error}", rustc.display()))?;
    if !output.status.success() {
        return Err(format!(
            "{} {}: {}",
            rustc.display(),
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
