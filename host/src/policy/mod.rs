//! What a policy is as an artefact, whether it may run, and replacing one by another.
//!
//! An *artefact* is the bytes of a component with its digest and its signature. Before one serves it
//! goes through *stages*; what was seen at each is its *evidence*, and a failure at any of them
//! refuses it. The stages up to `scenarios` look at the artefact alone, and are here.
//!
//! | module | subject |
//! |---|---|
//! | [`artefact`] | the bytes, and where they come from |
//! | [`digest`] | what they are known by |
//! | [`signature`] | signatures of minisign: keys, signing, what holds |
//! | [`trust`] | whose policies may run here: keys, and digests allowed |
//! | [`facts`] | what can be told of any bytes, without running them |
//! | [`contract`] | whether a component is of the world that this host can run |
//! | [`mod@vet`] | the stages in order, and the evidence |
//! | [`rehearsal`] | playing scenarios before a policy serves |
//! | [`report`] | stages, evidence, refusals |
//! | [`cache`] | compiled code kept on disk, under a seal |
//! | [`shadow`] | two policies asked the same, and their decisions compared |
//! | [`rollout`] | one policy in the place of another: the stages under traffic, and the way back |
//! | [`folder`] | the last good policy, kept on disk |
//! | [`mod@file`] | a policy's file that changes |
//! | [`fleet`] | one policy for a whole fleet, through its store |

pub mod artefact;
pub mod cache;
pub mod contract;
pub mod digest;
pub mod facts;
pub mod file;
pub mod fleet;
pub mod folder;
pub mod rehearsal;
pub mod report;
pub mod rollout;
pub mod shadow;
pub mod signature;
pub mod trust;
pub mod vet;

pub use self::artefact::Artefact;
pub use self::cache::Cache;
pub use self::digest::Digest;
pub use self::facts::Facts;
pub use self::report::{Evidence, Refused, Stage};
pub use self::rollout::{How, Rollout, Status};
pub use self::signature::{KeyPair, PublicKey, SecretKey};
pub use self::trust::Trust;
pub use self::vet::{LARGEST, Terms, Vetted, vet};
