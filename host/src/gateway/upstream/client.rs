//! One provider's connections, and one attempt over them.

use std::collections::VecDeque;
use std::pin::pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use http_body_util::BodyExt as _;
use reqwest::{Client, Url, redirect};

use super::connecting::{self, NotingLayer};
use super::events::Events;
use super::limits::read_timeout;
use super::look::Look;
use super::{Failure, Limits, Timer};
use crate::gateway::headers;

/// What is sent to a provider.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The method.
    pub method: Method,
    /// Where to.
    pub url: Url,
    /// The fields, without the host and the length.
    pub headers: HeaderMap,
    /// The body; none where it is empty.
    pub body: Bytes,
}

/// The beginning of an answer.
#[derive(Debug, Clone)]
pub struct Head {
    /// The status.
    pub status: StatusCode,
    /// The fields that are for the caller.
    pub headers: HeaderMap,
}

/// What came of one attempt.
#[derive(Debug)]
pub struct Asked {
    /// The beginning of the answer, where there was one.
    pub head: Option<Head>,
    /// The body, or what failed, be it before the answer or in the midst of it.
    pub body: Result<Body, Failure>,
    /// What a policy may look at besides the beginning. Of [`Body::More`] so far.
    pub looked: Looked,
    /// How long the provider was waited for.
    pub waited: Duration,
}

/// What a policy may look at of an answer, besides its beginning.
#[derive(Debug, Clone, Default)]
pub struct Looked {
    /// The beginning of the body, decoded. `None`: nobody looked, there is none by the method or the
    /// status, or it cannot be decoded.
    pub body: Option<Vec<u8>>,
    /// The fields after the body.
    pub trailers: HeaderMap,
}

/// The body of an answer.
#[derive(Debug)]
pub enum Body {
    /// All of it.
    Whole(Bytes),
    /// More than was to be kept: a part, and the rest that is still coming.
    More(Box<Incoming>),
}

/// An answer that is still coming. Dropping it closes its connection.
#[derive(Debug)]
pub struct Incoming {
    kept: VecDeque<Bytes>,
    body: reqwest::Body,
    /// `None`: nobody looks.
    look: Option<Look>,
    trailers: HeaderMap,
    read: Duration,
    timer: Timer,
    /// What the stated length leaves, in bytes. `None`: none was stated.
    left: Option<u64>,
}

/// One provider's HTTP client. It keeps connections open between attempts, follows redirects on
/// the same origin alone, repeats nothing by itself, and decodes nothing.
#[derive(Debug, Clone)]
pub struct Upstream {
    client: Client,
    limits: Limits,
    buffer: usize,
}

/// Chooses the cryptography for TLS in this process, unless somebody has chosen before.
/// [`Upstream::new`] does this; what makes a `reqwest` client of its own in the same process has
/// to do it first.
pub fn install_crypto() {
    // An error says that there is one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

impl Upstream {
    /// A client for a provider that is asked with TLS, or without.
    ///
    /// `buffer` is how many bytes of an answer are kept back, so that one which breaks off within
    /// them is the next provider's turn and not the caller's trouble. A stream of events is kept back
    /// until its first event at the most.
    ///
    /// # Errors
    /// TLS cannot be set up, such as without any root certificates on this machine.
    pub fn new(
        tls: bool,
        limits: Limits,
        redirects: usize,
        buffer: usize,
    ) -> Result<Self, Failure> {
        install_crypto();
        let builder = || {
            Client::builder()
                .connect_timeout(limits.connect)
                .connector_layer(NotingLayer)
                .redirect(same_origin(redirects))
                .referer(false)
                // A proxy of the environment would be between the breaker and what it judges.
                .no_proxy()
                // Every attempt is admitted and counted, so none is made behind the policy's back.
                .retry(reqwest::retry::never())
        };
        let client = match builder().build() {
            // No root certificates are to be had, and none are needed.
            Err(_) if !tls => builder().tls_certs_only([]).build(),
            built => built,
        };
        Ok(Self {
            client: client.map_err(Failure::before_answer)?,
            limits,
            buffer,
        })
    }

    /// The time limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Makes one attempt, and looks at so many bytes of the answer's body at the most. Dropping it
    /// gives the attempt up and closes its connection.
    pub async fn ask(&self, outgoing: Outgoing, mut timer: Timer, look: usize) -> Asked {
        let method = outgoing.method.clone();
        let response = match self.send(outgoing, &mut timer).await {
            Ok(response) => response,
            Err(failure) => {
                return Asked {
                    head: None,
                    body: Err(failure),
                    looked: Looked::default(),
                    waited: timer.waited(),
                };
            }
        };
        let left = response.content_length();
        let (parts, body) = http::Response::<reqwest::Body>::from(response).into_parts();
        let head = Head {
            status: parts.status,
            headers: headers::end_to_end(&parts.headers),
        };
        let is_looked_at = look > 0 && has_body(&method, head.status);
        let mut incoming = Incoming {
            kept: VecDeque::new(),
            left,
            body,
            look: is_looked_at.then(|| Look::new(&head.headers, look)),
            trailers: HeaderMap::new(),
            read: self.limits.read,
            timer,
        };
        let events = Events::of(&head.headers);
        let kept = incoming.keep(self.buffer, events).await;
        let looked = incoming.looked();
        let waited = incoming.timer.waited();
        let body = match kept {
            Ok(true) => Ok(Body::Whole(incoming.joined())),
            Ok(false) => Ok(Body::More(Box::new(incoming))),
            Err(failure) => Err(failure),
        };
        Asked {
            head: Some(head),
            body,
            looked,
            waited,
        }
    }

    /// Sends a request and waits for the beginning of the answer.
    async fn send(
        &self,
        outgoing: Outgoing,
        timer: &mut Timer,
    ) -> Result<reqwest::Response, Failure> {
        let Outgoing {
            method,
            url,
            headers,
            body,
        } = outgoing;
        let mut request = self.client.request(method, url).headers(headers);
        if !body.is_empty() {
            request = request.body(body);
        }
        let begun = Instant::now();
        let ends = begun + timer.left();
        let (mut progress, sending) = connecting::noting(request.send());
        let mut sending = pin!(sending);
        let answer = loop {
            let waiting_since = progress.borrow_and_update().waiting_since();
            let read_ends = waiting_since.map(|since| since + self.limits.read);
            let wake = read_ends.map_or(ends, |read_ends| read_ends.min(ends));
            tokio::select! {
                biased;
                answer = &mut sending => break answer.map_err(Failure::before_answer),
                Ok(()) = progress.changed() => {}
                () = tokio::time::sleep_until(wake.into()) => {
                    break Err(if wake < ends { read_timeout(self.limits.read) } else { timer.overrun() });
                }
            }
        };
        timer.spend(begun.elapsed());
        answer
    }
}

impl Incoming {
    /// The next part of the answer, within the limits. `None`: it has ended as it should. After
    /// an error nothing more comes. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<Bytes, Failure>> {
        if let Some(part) = self.kept.pop_front() {
            return Some(Ok(part));
        }
        self.fetch().await.transpose()
    }

    /// Whether all of the stated length has been handed over. A caller's connection does not ask
    /// for what comes after the last byte that it was told to expect.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.left == Some(0) && self.kept.is_empty()
    }

    /// What a policy may look at so far.
    #[must_use]
    pub fn looked(&self) -> Looked {
        let seen = self.look.as_ref().and_then(Look::seen);
        Looked {
            body: seen.map(<[u8]>::to_vec),
            trailers: self.trailers.clone(),
        }
    }

    /// How long the provider was waited for so far.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.timer.waited()
    }

    async fn fetch(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            let frame = self.timer.within(self.read, self.body.frame()).await?;
            let Some(frame) = frame else {
                self.has_ended();
                return Ok(None);
            };
            match frame.map_err(Failure::mid_body)?.into_data() {
                Ok(part) => {
                    if let Some(left) = &mut self.left {
                        *left = left.saturating_sub(part.len() as u64);
                    }
                    if let Some(look) = &mut self.look {
                        look.take(&part);
                    }
                    if self.left == Some(0) {
                        self.has_ended();
                    }
                    return Ok(Some(part));
                }
                Err(frame) => {
                    let trailers = frame.into_trailers();
                    self.trailers.extend(trailers.unwrap_or_default());
                }
            }
        }
    }

    /// Notes that all of the body has come.
    fn has_ended(&mut self) {
        if let Some(look) = &mut self.look {
            look.end();
        }
    }

    /// Keeps parts back up to this many bytes in all, or until the first event; whether that is the
    /// whole answer.
    async fn keep(&mut self, bytes: usize, mut events: Option<Events>) -> Result<bool, Failure> {
        let mut length = 0;
        while length <= bytes {
            if self.left == Some(0) {
                return Ok(true);
            }
            let Some(part) = self.fetch().await? else {
                return Ok(true);
            };
            length += part.len();
            let said = events.as_mut().is_some_and(|events| events.has_said(&part));
            self.kept.push_back(part);
            if said {
                return Ok(self.left == Some(0));
            }
        }
        Ok(false)
    }

    fn joined(mut self) -> Bytes {
        match (self.kept.pop_front(), self.kept.is_empty()) {
            (None, _) => Bytes::new(),
            (Some(only), true) => only,
            (Some(first), false) => {
                let mut all = first.to_vec();
                all.extend(self.kept.iter().flatten());
                all.into()
            }
        }
    }
}

/// Follows redirects as long as they stay at one origin: elsewhere the caller's and the
/// configuration's keys would go along. One that leads elsewhere is the answer.
fn same_origin(most: usize) -> redirect::Policy {
    redirect::Policy::custom(move |attempt| {
        let from = attempt.previous().last().map(Url::origin);
        if most == 0 || from.is_some_and(|origin| origin != attempt.url().origin()) {
            attempt.stop()
        } else if attempt.previous().len() > most {
            attempt.error("more redirects than allowed")
        } else {
            attempt.follow()
        }
    })
}

/// Whether a request of this method may be sent twice without harm (RFC 9110, section 9.2.2), or
/// its sender has said so.
#[must_use]
pub fn is_idempotent(method: &Method, headers: &HeaderMap) -> bool {
    method.is_idempotent() || headers.contains_key("idempotency-key")
}

/// Whether an answer with this status to this method may have a body (RFC 9110, section 6.4.1).
fn has_body(method: &Method, status: StatusCode) -> bool {
    let never = status.is_informational() || status == StatusCode::NO_CONTENT;
    !never && !has_length_only(method, status)
}

/// Whether an answer with this status to this method has a stated length but no body (RFC 9110,
/// section 8.6).
#[must_use]
pub fn has_length_only(method: &Method, status: StatusCode) -> bool {
    method == Method::HEAD || status == StatusCode::NOT_MODIFIED
}
