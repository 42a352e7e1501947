//! `/policy`, at the operators' address: how the policy stands, and replacing it.
//!
//! | request | what it does |
//! |---|---|
//! | `GET /policy` | how it stands: what serves, what is on its way and how it fares, what was refused and why |
//! | `POST /policy` | offers the component in the body; `fusewire-signature` has its signature's file in base64, where it is signed |
//! | `POST /policy/rollback` | stops the candidate, or puts the policy before back in place; the body may say why |
//! | `POST /policy/pause`, `POST /policy/resume` | keeps candidates from going on under traffic, or lets them |
//!
//! Whoever may `POST` decides about every call, so these are there only where a token is configured,
//! and ask for it. What is offered goes through the same stages as any other policy: the token opens
//! no way round a signature.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::header::{self, HeaderMap};
use http::{HeaderName, StatusCode};
use serde::Serialize;
use serde_json::json;

use super::reply::problem;
use super::token;
use crate::policy::{Artefact, How, Rollout};

/// The signature of what is offered.
const SIGNATURE: HeaderName = HeaderName::from_static("fusewire-signature");
/// The longest reason, in bytes.
const REASON_MAX_BYTES: usize = 1 << 10;

struct Admin {
    rollout: Rollout,
    token: Option<String>,
    largest: usize,
}

/// Where operators come in. Without a token they can look, and change nothing.
pub(super) fn router(rollout: Rollout, token: Option<String>, largest: usize) -> Router {
    let mut router = Router::new().route("/policy", get(status));
    if token.is_some() {
        router = router
            .route("/policy", post(offer))
            .route("/policy/rollback", post(rollback))
            .route("/policy/pause", post(pause))
            .route("/policy/resume", post(resume));
    }
    router.with_state(Arc::new(Admin {
        rollout,
        token,
        largest,
    }))
}

async fn status(State(admin): State<Arc<Admin>>) -> Response {
    json_text(StatusCode::OK, &admin.rollout.status())
}

async fn offer(State(admin): State<Arc<Admin>>, request: Request) -> Response {
    if let Some(refusal) = admin.unknown(request.headers()) {
        return refusal;
    }
    let signature = match signature(request.headers()) {
        Ok(signature) => signature,
        Err(why) => return malformed(&why),
    };
    let bytes = match to_bytes(request.into_body(), admin.largest).await {
        Ok(bytes) => bytes,
        Err(error) => {
            let why = format!("{error}; a policy may have {} bytes here", admin.largest);
            return malformed(&why);
        }
    };
    let artefact = Artefact::new(bytes.to_vec(), signature, "the admin interface");
    let digest = artefact.digest();
    admin.rollout.offer(artefact, How::Staged);
    json_text(StatusCode::ACCEPTED, &json!({ "digest": digest }))
}

async fn rollback(State(admin): State<Arc<Admin>>, request: Request) -> Response {
    if let Some(refusal) = admin.unknown(request.headers()) {
        return refusal;
    }
    let why = match reason(request.into_body()).await {
        Ok(why) => why,
        Err(why) => return malformed(&why),
    };
    match admin.rollout.rollback(&why).await {
        Ok(digest) => json_text(StatusCode::OK, &json!({ "serving": digest })),
        Err(why) => problem(
            StatusCode::CONFLICT,
            "no-policy-before",
            "There is nothing to go back to",
            &why,
        ),
    }
}

async fn pause(State(admin): State<Arc<Admin>>, headers: HeaderMap) -> Response {
    admin.set_paused(&headers, true)
}

async fn resume(State(admin): State<Arc<Admin>>, headers: HeaderMap) -> Response {
    admin.set_paused(&headers, false)
}

impl Admin {
    fn set_paused(&self, headers: &HeaderMap, paused: bool) -> Response {
        if let Some(refusal) = self.unknown(headers) {
            return refusal;
        }
        self.rollout.pause(paused);
        json_text(StatusCode::OK, &json!({ "paused": paused }))
    }

    /// The answer to those who do not know the token.
    fn unknown(&self, headers: &HeaderMap) -> Option<Response> {
        let known = token::authorised(self.token.as_deref(), headers);
        (!known).then(|| {
            token::unauthorised(
                "Send the gateway's `rollout.token` as `authorization: Bearer TOKEN`.",
            )
        })
    }
}

/// The signature that comes along, where one does.
fn signature(headers: &HeaderMap) -> Result<Option<String>, String> {
    let Some(value) = headers.get(SIGNATURE) else {
        return Ok(None);
    };
    let bytes = BASE64.decode(value.as_bytes()).map_err(|_| ());
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(|_| ()));
    text.map(Some).map_err(|()| {
        format!("{SIGNATURE} is not the base64 of a signature's file (policy.wasm.minisig)")
    })
}

/// Why an operator goes back.
async fn reason(body: Body) -> Result<String, String> {
    let bytes = to_bytes(body, REASON_MAX_BYTES).await;
    let bytes = bytes.map_err(|_| format!("a reason has at most {REASON_MAX_BYTES} bytes"))?;
    let text = String::from_utf8_lossy(&bytes);
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    Ok(match text.trim() {
        "" => "an operator asked for it".to_owned(),
        why => format!("an operator asked for it: {why}"),
    })
}

fn malformed(why: &str) -> Response {
    problem(
        StatusCode::BAD_REQUEST,
        "request",
        "This cannot be read",
        why,
    )
}

fn json_text(status: StatusCode, value: &impl Serialize) -> Response {
    let text = serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    let media_type = [(header::CONTENT_TYPE, "application/json")];
    (status, media_type, text).into_response()
}
