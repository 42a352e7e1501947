//! The component: what it imports and exports.
//!
//! | module | subject |
//! |---|---|
//! | `increment` or `cas` | the store, on the one or the other draft of `wasi:keyvalue` |
//! | `exports` | the contract's types, and the instance's one store |
//! | `stage` | with the feature `drive`: the door through which tests play scenarios |

// Natively the bindings are only checked, by the compiler and its lints.
#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]

#[cfg(feature = "cas")]
mod cas;
mod exports;
#[cfg(not(feature = "cas"))]
mod increment;
#[cfg(feature = "drive")]
mod stage;

#[cfg(all(feature = "cas", feature = "drive"))]
compile_error!("scenarios are played on the adapter that increments: `drive` goes without `cas`");

#[cfg(feature = "cas")]
use cas as import;
#[cfg(not(feature = "cas"))]
use increment as import;

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

#[cfg(not(any(feature = "cas", feature = "drive")))]
#[allow(missing_docs, reason = "the documentation is in the WIT files")]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit", "wit"],
        world: "fusewire:wasi/by-increment",
        generate_all,
    });
}

#[cfg(feature = "drive")]
#[allow(missing_docs, reason = "the documentation is in the WIT files")]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit", "wit"],
        world: "fusewire:wasi/staged",
        generate_all,
    });
}

#[cfg(feature = "cas")]
#[allow(missing_docs, reason = "the documentation is in the WIT files")]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit", "wit"],
        world: "fusewire:wasi/by-cas",
        generate_all,
    });
}

use self::bindings::wasi::clocks::wall_clock;
#[cfg(not(feature = "cas"))]
use self::bindings::wasi::keyvalue0_2_0_draft::store;
#[cfg(feature = "cas")]
use self::bindings::wasi::keyvalue0_2_0_draft2::store;
use crate::bucket::Failure;

/// The names by which hosts know the bucket that a component gets without asking for one of its
/// own.
const NAMES: [&str; 2] = ["", "default"];

/// Opens the host's bucket.
fn open() -> Result<store::Bucket, Failure> {
    let mut last = Failure::Unavailable;
    for name in NAMES {
        match store::open(name) {
            Ok(bucket) => return Ok(bucket),
            Err(error) => last = failure(error),
        }
        if last == Failure::Unavailable {
            break;
        }
    }
    Err(last)
}

fn failure(error: store::Error) -> Failure {
    match error {
        store::Error::NoSuchStore => {
            Failure::Refused("the host has no bucket named `` or `default`".into())
        }
        store::Error::AccessDenied => Failure::Refused(
            "the host has a bucket named `` or `default`, and does not let this component use it"
                .into(),
        ),
        store::Error::Other(_) => Failure::Unavailable,
    }
}

/// The present time, in ms since the Unix epoch.
fn now_ms() -> u64 {
    let now = wall_clock::now();
    let ms = u64::from(now.nanoseconds / 1_000_000);
    now.seconds.saturating_mul(1_000).saturating_add(ms)
}
