//! The fleet's store, for runtimes that reach HTTP and no Redis: filters in Envoy.
//!
//! Such a runtime decides by a store of its own, and a few times a second tells this host what it
//! has changed and asks what the fleet has. What it changes is an operation of the contract
//! (`wit/keyvalue.wit`) and done as one: a record is replaced only where the fleet's is the one
//! that the runtime last learnt, and counts are added. So this host needs to know no rule of the
//! policy, and nothing that a runtime learnt late can undo what the fleet has decided meanwhile.
//!
//! `POST` with a JSON object; `[exchange]` in the configuration opens it.
//!
//! ```json
//! {"instance": "envoy-1", "prefix": "fusewire",
//!  "records": [{"key": "fusewire:s:{p}", "have": null,
//!               "swap": {"replacement": "eyJzY2hlbWEiOjF9", "ttl-ms": 60000}}],
//!  "counters": [{"key": "fusewire:w:{p}", "epoch": 0, "ttl-ms": 60000, "since": [0, 5000],
//!                "add": [{"bucket": 5000, "lanes": {"failure": 2}}]}]}
//! ```
//!
//! - `have`: the fleet's value as the runtime last learnt it, in base64; null: none.
//! - `swap`: what is to be in its place (null: nothing), where the runtime has changed it.
//! - `since`: ascending; the fleet's counts since each of these times are answered.
//! - `add`: what the runtime has counted and not told yet.
//!
//! The answer has the same lists in the same order:
//!
//! ```json
//! {"now-ms": 1767225600000,
//!  "records": [{"key": "fusewire:s:{p}", "swapped": true}],
//!  "counters": [{"key": "fusewire:w:{p}", "epoch": 0, "tallies": [{"failure": 7}, {"failure": 2}]}]}
//! ```
//!
//! - `now-ms`: the fleet's clock.
//! - `value`: the fleet's present value (null: none), only where it is not the one that the runtime
//!   has: `have`, or the replacement of a swap that was made.
//! - `epoch`, `tallies`: whose the counter is, and the sums since each time in `since`. A newer epoch
//!   than the one asked for: nothing was added.
//! - `refused`: why this one was not done, in place of all that.
//!
//! Statuses: 200; 400 for what is not such an object, with its place; 401 for a wrong token; 503
//! where the store is out of reach. Then what was told may have been done or not.
//!
//! | module | subject |
//! |---|---|
//! | `wire` | the object and the answer |
//! | `apply` | doing it on the store |

mod apply;
mod wire;

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use http::{Request, StatusCode};

use self::wire::Exchange;
use super::reply::problem;
use super::server::Shared;
use super::token;
use crate::store::StoreError;

/// The longest object, in bytes: a thousand records of some KiB, which is more than one filter
/// sends.
const REQUEST_MAX_BYTES: usize = 4 << 20;

/// Where a gateway answers exchanges, and to whom.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    /// What keys begin with, before a colon.
    pub(super) prefix: String,
    /// What a runtime has to know; `None`: nothing.
    pub(super) token: Option<String>,
}

/// Answers one exchange.
pub(super) async fn handle(
    State((shared, terms)): State<(Arc<Shared>, Arc<Terms>)>,
    request: Request<Body>,
) -> Response {
    let (outcome, response) = match answer(&shared, &terms, request).await {
        Ok(body) => (
            "ok",
            ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        ),
        Err(Failed::Unauthorised) => (
            "unauthorised",
            token::unauthorised(
                "Exchanges are answered to those who know the token of `[exchange]`.",
            ),
        ),
        Err(Failed::Request(why)) => (
            "refused",
            problem(StatusCode::BAD_REQUEST, "exchange", "No exchange", &why),
        ),
        Err(Failed::Store(why)) => (
            "unavailable",
            problem(
                StatusCode::SERVICE_UNAVAILABLE,
                "store",
                "The fleet's store is out of reach",
                &why,
            ),
        ),
    };
    shared.metrics.exchanged(outcome);
    response
}

enum Failed {
    Unauthorised,
    Request(String),
    Store(String),
}

async fn answer(shared: &Shared, terms: &Terms, request: Request<Body>) -> Result<String, Failed> {
    if !token::authorised(terms.token.as_deref(), request.headers()) {
        return Err(Failed::Unauthorised);
    }
    let body = to_bytes(request.into_body(), REQUEST_MAX_BYTES).await;
    let body = body.map_err(|error| Failed::Request(format!("the body: {error}")))?;
    let exchange = Exchange::read(&body, &terms.prefix).map_err(Failed::Request)?;
    let store = Arc::clone(shared.guard.store());
    let answer = apply::apply(&*store, exchange).await;
    match answer {
        Ok(answer) => Ok(answer.to_json()),
        Err(StoreError::Unavailable(why) | StoreError::Refused(why)) => Err(Failed::Store(why)),
    }
}
