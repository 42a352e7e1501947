//! Fusewire's key-value contract on `wasi:keyvalue`: an adapter component, to be plugged into a
//! policy, so that the whole asks its host for WASI and nothing else.
//!
//! | module | subject |
//! |---|---|
//! | [`keyvalue`] | the contract, on values that can be compared and swapped |
//! | [`entry`], [`counter`] | what is under a key, and its lifetime |
//! | [`register`] | values that can be compared and swapped |
//! | [`chain`] | the same, made of a bucket that can only increment: the construction and its proof |
//! | [`own`] | what belongs to this instance alone |
//! | [`bucket`] | what that construction asks of a bucket |
//! | `wasi` | the bindings to the component's imports and exports |
//!
//! Built as it is, it imports `wasi:keyvalue` 0.2.0-draft, which can increment; with the feature
//! `cas`, 0.2.0-draft2, which can compare and swap.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

pub mod bucket;
pub mod chain;
pub mod counter;
pub mod entry;
pub mod keyvalue;
pub mod own;
pub mod register;
mod wasi;
