//! `wasi:keyvalue` with contents that many instances share, as a host of many would have it.
//!
//! | module | subject |
//! |---|---|
//! | [`increment`] | 0.2.0-draft: wasmtime's own implementation, one bucket of it for all |
//! | [`cas`] | 0.2.0-draft2, which wasmtime does not have: a host side of our own |
//!
//! wasmtime's own gives each component that opens it a bucket of its own, a copy of what the host
//! has set beforehand. So one bucket is opened once, by a small component which the host asks, and
//! every instance that opens a bucket is given that one.

pub mod cas;
pub mod increment;

use std::sync::Arc;

use wasmtime::component::Linker;

pub use self::cas::CasBucket;
pub use self::increment::SharedBucket;

/// The contents that a component is given.
#[derive(Clone)]
pub enum Contents {
    /// By 0.2.0-draft.
    Increment(Arc<SharedBucket>),
    /// By 0.2.0-draft2.
    Cas(Arc<CasBucket>),
}

impl Contents {
    /// Empty contents of wasmtime's own implementation.
    ///
    /// # Panics
    /// It does not run.
    #[must_use]
    pub fn increment() -> Self {
        Self::Increment(Arc::new(
            SharedBucket::open().expect("wasmtime's wasi:keyvalue"),
        ))
    }

    /// Empty contents of our own.
    #[must_use]
    pub fn cas() -> Self {
        Self::Cas(Arc::default())
    }

    /// Whether they can be reached; at first they can.
    pub fn set_up(&self, up: bool) {
        match self {
            Self::Increment(bucket) => bucket.set_up(up),
            Self::Cas(bucket) => bucket.set_up(up),
        }
    }

    /// Loses what is under one key of a policy, as by an eviction.
    pub fn lose(&self, key: &str) {
        match self {
            Self::Increment(bucket) => bucket.lose(key),
            Self::Cas(bucket) => bucket.lose(key),
        }
    }

    /// Gives components access to the contents that their host's state has.
    ///
    /// # Errors
    /// Something is linked under the same names already.
    pub fn add_to_linker<T: HasContents>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        increment::add_to_linker(linker)?;
        cas::add_to_linker(linker)
    }
}

/// A host's state that has contents in it.
pub trait HasContents: Send + 'static {
    /// The contents.
    fn contents(&mut self) -> View<'_>;
}

/// What the implementations need of a host's state.
pub struct View<'a> {
    /// The contents.
    pub contents: &'a Contents,
    /// Where the handles are that the component was given.
    pub table: &'a mut wasmtime::component::ResourceTable,
}
