//! The two providers: real HTTP servers on free loopback ports.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use super::script::{self, Mood};
use super::{places, tally};

/// The provider with the outage, which is asked first.
pub(super) const FIRST: &str = "atlas";
/// The provider without one.
pub(super) const SECOND: &str = "meridian";

/// How long a healthy answer takes. The second provider is slower, which is why it is second.
const FIRST_TAKES: Duration = Duration::from_millis(15);
const SECOND_TAKES: Duration = Duration::from_millis(40);

/// Where the providers are, and how the first one is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Providers {
    pub(super) first: SocketAddr,
    pub(super) second: SocketAddr,
}

/// What the provider with the outage knows of itself.
#[derive(Debug)]
pub(super) struct Outage {
    started: Instant,
    /// Requests that came in while it was not healthy.
    pub(super) hit: AtomicU64,
}

impl Outage {
    pub(super) fn mood(&self) -> Mood {
        script::mood(self.started.elapsed())
    }

    pub(super) fn mood_began(&self) -> Duration {
        script::began(self.started.elapsed())
    }
}

/// Starts both. They end with the process.
pub(super) async fn start() -> std::io::Result<(Providers, Arc<Outage>)> {
    let outage = Arc::new(Outage {
        started: Instant::now(),
        hit: AtomicU64::new(0),
    });
    let first = Router::new()
        .route("/search", get(fickle))
        .with_state(Arc::clone(&outage));
    let second = Router::new().route("/search", get(steady));
    Ok((
        Providers {
            first: serve(first).await?,
            second: serve(second).await?,
        },
        outage,
    ))
}

async fn serve(router: Router) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(axum::serve(listener, router).into_future());
    Ok(address)
}

async fn fickle(State(outage): State<Arc<Outage>>, RawQuery(query): RawQuery) -> Response {
    match outage.mood() {
        Mood::Healthy => found(query, FIRST_TAKES).await,
        Mood::Failing => {
            outage.hit.fetch_add(1, Ordering::Relaxed);
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "down for unplanned maintenance",
            )
                .into_response()
        }
        Mood::Hanging => {
            outage.hit.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(tally::LONGEST).await;
            StatusCode::GATEWAY_TIMEOUT.into_response()
        }
    }
}

async fn steady(RawQuery(query): RawQuery) -> Response {
    found(query, SECOND_TAKES).await
}

async fn found(query: Option<String>, takes: Duration) -> Response {
    tokio::time::sleep(takes).await;
    let name = query
        .unwrap_or_default()
        .trim_start_matches("q=")
        .replace("%20", " ")
        .replace('+', " ");
    match places::find(&name) {
        Some((latitude, longitude)) => {
            let found = serde_json::json!({"name": name, "lat": latitude, "lon": longitude});
            ([(CONTENT_TYPE, "application/json")], found.to_string()).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
