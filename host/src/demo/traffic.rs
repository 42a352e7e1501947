//! The lookups: place names at a steady rate, through the gateway.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::places::PLACES;
use super::providers::{FIRST, SECOND};
use super::tally::Tally;

/// One lookup each.
pub(super) const EVERY: Duration = Duration::from_millis(40);

/// Looks places up for ever. Dropping it stops it.
pub(super) async fn run(gateway: SocketAddr, tally: Arc<Tally>) {
    // The gateway is on this machine, whatever the environment says of proxies.
    let client = reqwest::Client::builder().no_proxy().build();
    let Ok(client) = client else { return };
    let mut beat = tokio::time::interval(EVERY);
    for (name, ..) in PLACES.iter().cycle() {
        beat.tick().await;
        let url = format!("http://{gateway}/geocode?q={}", name.replace(' ', "%20"));
        let (client, tally) = (client.clone(), Arc::clone(&tally));
        tokio::spawn(async move {
            let answer = client.get(url).send().await;
            tally.lookups.fetch_add(1, Ordering::Relaxed);
            let provider = answer.ok().and_then(|answer| {
                let name = answer.headers().get("fusewire-provider")?;
                Some(name.to_str().ok()?.to_owned())
            });
            let counter = match provider.as_deref() {
                Some(FIRST) => &tally.by_first,
                Some(SECOND) => &tally.by_second,
                _ => &tally.unanswered,
            };
            counter.fetch_add(1, Ordering::Relaxed);
        });
    }
}
