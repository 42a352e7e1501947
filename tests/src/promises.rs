//! The contract of a store, as the tests report it.

use std::sync::Arc;

use fusewire::store::{Store, contract};

/// The promises of the contract that this store breaks, one a line; empty: it keeps them all.
pub async fn broken_promises(store: Arc<dyn Store>) -> String {
    let broken = contract::check(store).await.err().unwrap_or_default();
    let lines: Vec<String> = broken.iter().map(|one| format!("- {one}")).collect();
    lines.join("\n")
}
