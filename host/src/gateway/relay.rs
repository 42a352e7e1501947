//! A long answer, passed on while it comes, judged by its end.
//!
//! The beginning of an answer says little of its end: a provider that breaks off in the midst of
//! a tile is not well. So the permit goes along with the body and is settled with what the end
//! shows. Where the caller goes away in between, the body is dropped and the permit with it, which
//! reports a drop and blames nobody.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fusewire_core::{Field, Media, Observation, Response, Target, Wanted};
use futures_util::Stream;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::upstream::{Failure, Head, Incoming, Looked};
use crate::engine::evidence::wants_header;
use crate::guard::{Admitted, Guard};

/// What is known of an attempt besides what came of it.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) target: Target,
    pub(super) idempotent: bool,
    /// The least time in which the provider can be expected to answer.
    pub(super) minimum: Duration,
    /// What is looked at.
    pub(super) wanted: Arc<Wanted>,
}

/// What is told to the policy of an attempt.
pub(super) fn observe(
    guard: &Guard,
    facts: &Facts,
    head: Option<&Head>,
    failure: Option<&Failure>,
    looked: Looked,
    waited: Duration,
) -> Observation {
    Observation {
        response: head.map(|head| response(head, looked, &facts.wanted)),
        failure: failure.map(|f| f.kind),
        cause: failure.map(|f| f.cause.clone()),
        latency_ms: millis(waited),
        now_ms: guard.now_ms(),
        idempotent: facts.idempotent,
        delivered_partial: false,
        expect: Media::Any,
        minimum_budget_ms: Some(millis(facts.minimum)),
    }
}

/// What of an answer is looked at.
fn response(head: &Head, looked: Looked, wanted: &Wanted) -> Response {
    let is_wanted = |(name, _): &(&HeaderName, &HeaderValue)| wants_header(wanted, name.as_str());
    let trailers = match wanted.trailers {
        true => looked.trailers,
        false => HeaderMap::new(),
    };
    Response {
        status: head.status.as_u16(),
        headers: head.headers.iter().filter(is_wanted).map(field).collect(),
        trailers: trailers.iter().map(field).collect(),
        body: looked.body,
    }
}

fn field((name, value): (&HeaderName, &HeaderValue)) -> Field {
    Field {
        name: name.as_str().into(),
        value: String::from_utf8_lossy(value.as_bytes()).into_owned(),
    }
}

/// A span in whole milliseconds.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// An answer under way.
pub(super) struct Relay {
    pub(super) guard: Guard,
    pub(super) facts: Facts,
    pub(super) head: Head,
    pub(super) incoming: Incoming,
    /// `None`: it is settled.
    pub(super) permit: Option<Admitted>,
}

impl Relay {
    /// The body. An error breaks the caller's connection off, so that half an answer is never
    /// taken for all of it.
    pub(super) fn into_stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
        futures_util::stream::unfold(Some(self), |relay| async {
            let mut relay = relay?;
            match relay.incoming.next().await {
                Some(Ok(part)) => {
                    if relay.incoming.is_complete() {
                        relay.settle(None);
                    }
                    Some((Ok(part), Some(relay)))
                }
                Some(Err(failure)) => {
                    relay.settle(Some(&failure));
                    Some((Err(io::Error::other(failure.cause)), None))
                }
                None => {
                    relay.settle(None);
                    None
                }
            }
        })
    }

    fn settle(&mut self, failure: Option<&Failure>) {
        let Some(permit) = self.permit.take() else {
            return;
        };
        let waited = self.incoming.waited();
        let looked = self.incoming.looked();
        let head = Some(&self.head);
        let mut seen = observe(&self.guard, &self.facts, head, failure, looked, waited);
        seen.delivered_partial = true;
        let verdict = permit.classify(&self.facts.target, &seen);
        permit.settle_timed(verdict, waited);
    }
}
