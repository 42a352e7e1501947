//! One request: the chain, the attempts, the answer.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use fusewire_core::{Target, TransportFailure, Wanted};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, StatusCode};
use reqwest::Url;

use super::headers;
use super::relay::{Facts, Relay, millis, observe};
use super::reply::{self, How};
use super::routes::{self, Pattern};
use super::server::Shared;
use super::template::{Template, Unfit};
use super::upstream::{
    self, Asked, Failure, Head, Looked, Outgoing, Timer, Upstream, client::is_idempotent,
};
use crate::guard::{Attempt, CallFacts, Called, Candidate, Guard, Try};
use crate::metrics::Metrics;

/// How long a caller may take to send a request's body: it holds memory meanwhile.
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// A provider, ready to be asked.
pub(super) struct Provider {
    pub(super) target: Target,
    pub(super) url: Template,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) upstream: Upstream,
}

/// A route, ready to be taken.
pub(super) struct Route {
    pub(super) path: Pattern,
    pub(super) chain: Vec<Arc<Provider>>,
    pub(super) methods: Option<Vec<Method>>,
    pub(super) deadline: Option<Duration>,
}

/// What the gateway answers by itself. Boxed, since it is much larger than what is expected.
type Refusal = Box<Response>;

/// Answers one request. Dropping it, because the caller went away, drops the attempt under way.
pub(super) async fn handle(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    tokio::select! {
        answer = respond(&shared, request) => answer.unwrap_or_else(|refusal| *refusal),
        () = shared.out_of_grace() => reply::problem(
            StatusCode::SERVICE_UNAVAILABLE,
            "stopping",
            "The gateway is stopping",
            "The gateway was told to stop, and this request took longer than it could wait.",
        ),
    }
}

async fn respond(shared: &Shared, request: Request) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let (route, rest) = find(shared, &parts)?;
    let call = Call {
        chain: chain(route, rest, parts.uri.query().unwrap_or_default())?,
        body: read(body, shared.request_limit).await?,
        guard: &shared.guard,
        idempotent: is_idempotent(&parts.method, &parts.headers),
        headers: headers::to_provider(&parts.headers),
        ends: route.deadline.map(|deadline| Instant::now() + deadline),
        method: parts.method,
    };
    let called = call.make().await;
    Ok(call.answer(&route.path.to_string(), &shared.metrics, called))
}

fn find<'s, 'p>(shared: &'s Shared, parts: &'p Parts) -> Result<(&'s Route, &'p str), Refusal> {
    let path = parts.uri.path();
    let found = routes::find(shared.routes.iter().map(|r| &r.path), path);
    let Some((route, rest)) =
        found.and_then(|(at, rest)| shared.routes.get(at).map(|route| (route, rest)))
    else {
        let known: Vec<String> = shared.routes.iter().map(|r| r.path.to_string()).collect();
        return Err(Box::new(reply::problem_with(
            StatusCode::NOT_FOUND,
            "no-route",
            "No route takes this path",
            &format!("The gateway has no route for {path}."),
            ("routes", known.into()),
        )));
    };
    match &route.methods {
        Some(methods) if !methods.contains(&parts.method) => {
            let allowed: Vec<&str> = methods.iter().map(Method::as_str).collect();
            let allowed = allowed.join(", ");
            let mut response = reply::problem(
                StatusCode::METHOD_NOT_ALLOWED,
                "method",
                "The route does not take this method",
                &format!("{} takes {allowed}.", route.path),
            );
            if let Ok(allowed) = HeaderValue::from_str(&allowed) {
                response.headers_mut().insert(header::ALLOW, allowed);
            }
            Err(Box::new(response))
        }
        _ => Ok((route, rest)),
    }
}

/// The providers of a route in order, each with the URL that the request becomes there.
fn chain<'s>(
    route: &'s Route,
    rest: &str,
    query: &str,
) -> Result<Vec<(&'s Provider, Url)>, Refusal> {
    let filled = route
        .chain
        .iter()
        .map(|provider| Ok((&**provider, provider.url.fill(rest, query)?)));
    filled.collect::<Result<_, Unfit>>().map_err(|unfit| {
        Box::new(reply::problem(
            StatusCode::BAD_REQUEST,
            "request",
            "The request does not fit the route",
            &format!("The request does not fit the route: {unfit}."),
        ))
    })
}

/// The whole body: it is sent again where an attempt fails.
async fn read(body: Body, limit: usize) -> Result<Bytes, Refusal> {
    let whole = axum::body::to_bytes(body, limit);
    let (status, kind, title, detail) = match tokio::time::timeout(BODY_PATIENCE, whole).await {
        Ok(Ok(body)) => return Ok(body),
        Ok(Err(error)) if is_too_long(&error) => (
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-long",
            "The body is too long",
            format!("The gateway takes bodies of {limit} bytes at the most."),
        ),
        Ok(Err(error)) => (
            StatusCode::BAD_REQUEST,
            "request",
            "The body broke off",
            format!("The body could not be read: {error}."),
        ),
        Err(_) => (
            StatusCode::REQUEST_TIMEOUT,
            "request",
            "The body did not come",
            format!("The body took longer than {BODY_PATIENCE:?}."),
        ),
    };
    Err(Box::new(reply::problem(status, kind, title, &detail)))
}

fn is_too_long(error: &axum::Error) -> bool {
    std::error::Error::source(error)
        .is_some_and(|inner| inner.is::<http_body_util::LengthLimitError>())
}

/// One request on its way through a chain.
struct Call<'s> {
    guard: &'s Guard,
    chain: Vec<(&'s Provider, Url)>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
    idempotent: bool,
    /// The route's deadline.
    ends: Option<Instant>,
}

/// An answer to pass on.
struct Answer {
    head: Head,
    body: upstream::Body,
    /// What is looked at in what still comes of it.
    wanted: Arc<Wanted>,
}

impl Call<'_> {
    async fn make(&self) -> Called<Answer> {
        let candidate = |(provider, _): &(&Provider, Url)| Candidate {
            target: provider.target.clone(),
            limit: provider.upstream.limits().total,
        };
        let candidates: Vec<Candidate> = self.chain.iter().map(candidate).collect();
        let facts = CallFacts {
            limit: None,
            fingerprint: Some(self.fingerprint()),
            deadline_ms: self
                .left()
                .map(|left| self.guard.now_ms().saturating_add(millis(left))),
        };
        let attempt = |now| self.attempt(now);
        self.guard.call(&candidates, &facts, attempt).await
    }

    /// What the route's deadline leaves.
    fn left(&self) -> Option<Duration> {
        self.ends
            .map(|ends| ends.saturating_duration_since(Instant::now()))
    }

    /// The same for equal requests, whichever host of the fleet they come to: this hasher has no
    /// key of the process.
    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.method.hash(&mut hasher);
        self.chain
            .first()
            .map(|(_, url)| url.as_str())
            .hash(&mut hasher);
        self.body.hash(&mut hasher);
        hasher.finish()
    }

    async fn attempt(&self, now: Try) -> Attempt<Answer> {
        let (provider, url) = &self.chain[now.candidate];
        let Asked {
            head,
            body,
            looked,
            waited,
        } = self.ask(provider, url, &now).await;
        let failure = body.as_ref().err();
        let facts = self.facts(provider, &now.wanted);
        let observation = observe(self.guard, &facts, head.as_ref(), failure, looked, waited);
        let still_coming = matches!(body, Ok(upstream::Body::More(_)));
        let value = match (head, body) {
            (Some(head), Ok(body)) => Some(Answer {
                head,
                body,
                wanted: now.wanted,
            }),
            _ => None,
        };
        Attempt {
            observation,
            value,
            still_coming,
        }
    }

    async fn ask(&self, provider: &Provider, url: &Url, now: &Try) -> Asked {
        let limits = provider.upstream.limits();
        let total = match now.probe {
            true => limits.probe.min(now.limit),
            false => now.limit,
        };
        let left = self.left();
        if left == Some(Duration::ZERO) {
            let kind = TransportFailure::DeadlineBeforeSend;
            return Asked {
                head: None,
                body: Err(Failure::new(kind, "the route's deadline was over")),
                looked: Looked::default(),
                waited: Duration::ZERO,
            };
        }
        let mut headers = self.headers.clone();
        for (name, value) in &provider.headers {
            headers.insert(name, value.clone());
        }
        let look = now.wanted.body_bytes as usize;
        if look > 0 {
            headers::accept_what_can_be_read(&mut headers);
        }
        let outgoing = Outgoing {
            method: self.method.clone(),
            url: url.clone(),
            headers,
            body: self.body.clone(),
        };
        let timer = Timer::new(total, left);
        provider.upstream.ask(outgoing, timer, look).await
    }

    fn facts(&self, provider: &Provider, wanted: &Arc<Wanted>) -> Facts {
        Facts {
            target: provider.target.clone(),
            idempotent: self.idempotent,
            // A route's deadline that leaves less than the provider's own read limit, and runs
            // out, says nothing of the provider.
            minimum: provider.upstream.limits().read,
            wanted: Arc::clone(wanted),
        }
    }

    fn answer(&self, route: &str, metrics: &Metrics, called: Called<Answer>) -> Response {
        let how = How {
            provider: called
                .given
                .as_ref()
                .map(|given| self.target(given.candidate)),
            attempts: called.attempts,
            skipped: called
                .skipped
                .iter()
                .map(|skip| (self.target(skip.candidate), skip))
                .collect(),
        };
        for (target, skip) in &how.skipped {
            metrics.passed_over(route, &target.provider, skip.reason.name());
        }
        metrics.answered(route, how.provider.map(|target| target.provider.as_str()));
        let Some(given) = called.given else {
            return how.nobody_left();
        };
        let Answer { head, body, wanted } = given.value;
        match body {
            upstream::Body::Whole(body) => {
                reply::answer(&self.method, head, body.into(), true, &how)
            }
            upstream::Body::More(incoming) => {
                let relay = Relay {
                    guard: self.guard.clone(),
                    facts: self.facts(self.chain[given.candidate].0, &wanted),
                    head: head.clone(),
                    incoming: *incoming,
                    permit: given.unsettled,
                };
                let body = Body::from_stream(relay.into_stream());
                reply::answer(&self.method, head, body, false, &how)
            }
        }
    }

    fn target(&self, candidate: usize) -> &Target {
        &self.chain[candidate].0.target
    }
}
