//! Recorded answers and failures, played by real providers.

use fusewire_core::{Observation, Response, TransportFailure as Failure};
use serde_json::json;

use super::{Http2, Provider};
use crate::upstream::{End, FullHouse, Reply, Upstream};

/// A provider that plays one recorded answer or failure again and again.
pub struct Recorded {
    /// How Envoy gets there.
    pub provider: Provider,
    _running: Running,
}

/// What runs for it, until this is dropped.
enum Running {
    Http1 { _upstream: Upstream },
    Http2 { _upstream: Http2 },
    Full { _house: FullHouse },
}

/// Why something that was seen cannot be played to a filter in Envoy, or is something else there.
#[must_use]
pub fn not_played(seen: &Observation) -> Option<&'static str> {
    let Some(failure) = seen.failure else {
        let answer = seen.response.as_ref()?;
        let unseen = answer.body.is_none() && !matches!(answer.status, 204 | 304);
        return unseen.then_some("nobody looked at a body, or it was HEAD: here somebody does");
    };
    Some(match failure {
        Failure::Shutdown
        | Failure::Cancelled
        | Failure::CallerDeadline
        | Failure::DeadlineBeforeSend
        | Failure::BreakerOpen
        | Failure::LocalResources
        | Failure::InvalidRequest => "it is the caller's, or the client's own, and no provider's",
        Failure::StaleConnection => "Envoy takes it for any other reset, as the README says",
        Failure::Goaway => "Envoy sends such a request on another connection",
        Failure::TooManyRedirects => "Envoy passes redirects on and follows none",
        Failure::ContentDecoding => "the filter decodes nothing",
        Failure::NetworkUnreachable => "the loopback is reachable",
        Failure::DnsNotFound | Failure::DnsTemporary => "clusters here have addresses, not names",
        Failure::TlsCertificate => "there is no server with a certificate here",
        Failure::ConnectRefused
        | Failure::ConnectTimeout
        | Failure::TlsHandshake
        | Failure::Reset
        | Failure::ResetMidBody
        | Failure::RefusedStream
        | Failure::ReadTimeout
        | Failure::TotalTimeout
        | Failure::IncompleteBody
        | Failure::Protocol
        | Failure::Other => return None,
    })
}

impl Recorded {
    /// Starts a provider of this name that plays what was seen.
    ///
    /// # Panics
    /// It is something that cannot be played.
    pub async fn start(name: &str, seen: &Observation) -> Self {
        let answer = seen.response.as_ref();
        match seen.failure {
            None => {
                let answer = answer.expect("an answer or a failure");
                match is_grpc(answer) {
                    true => Self::http2(name, Some(answer.clone())).await,
                    false => Self::http1(name, reply(answer)).await,
                }
            }
            Some(Failure::RefusedStream) => Self::http2(name, None).await,
            Some(Failure::Reset | Failure::Other) => Self::http1(name, Reply::Reset).await,
            Some(Failure::Protocol) => {
                Self::http1(name, Reply::raw("no HTTP\r\n\r\n", End::Close)).await
            }
            Some(Failure::IncompleteBody) => Self::http1(name, broken(answer, End::Close)).await,
            Some(Failure::ResetMidBody) => Self::http1(name, broken(answer, End::Reset)).await,
            Some(Failure::ReadTimeout | Failure::TotalTimeout) => {
                let this = Self::http1(name, Reply::Hang).await;
                this.with(|provider| provider.route(json!({"timeout": "0.2s"})))
            }
            Some(Failure::TlsHandshake) => {
                let this = Self::http1(name, Reply::ok("this is no TLS")).await;
                this.with(Provider::tls)
            }
            Some(Failure::ConnectTimeout) => {
                let house = FullHouse::start().await;
                let provider = Provider::new(name, house.address());
                Self {
                    provider: provider.cluster(json!({"connect_timeout": "0.2s"})),
                    _running: Running::Full { _house: house },
                }
            }
            Some(other) => panic!("nobody knows to play {other}"),
        }
    }

    async fn http1(name: &str, reply: Reply) -> Self {
        let upstream = Upstream::start().await;
        upstream.say(reply);
        Self {
            provider: Provider::new(name, upstream.address()),
            _running: Running::Http1 {
                _upstream: upstream,
            },
        }
    }

    async fn http2(name: &str, answer: Option<Response>) -> Self {
        let upstream = Http2::start(answer).await;
        Self {
            provider: Provider::new(name, upstream.address()).http2(),
            _running: Running::Http2 {
                _upstream: upstream,
            },
        }
    }

    fn with(self, more: impl FnOnce(Provider) -> Provider) -> Self {
        Self {
            provider: more(self.provider),
            ..self
        }
    }
}

fn is_grpc(answer: &Response) -> bool {
    let media = answer.header("content-type").unwrap_or_default();
    media.starts_with("application/grpc") || !answer.trailers.is_empty()
}

fn reply(answer: &Response) -> Reply {
    let fields = answer.headers.iter();
    let fields = fields.filter(|field| !field.name.eq_ignore_ascii_case("content-length"));
    Reply::Answer {
        status: answer.status,
        headers: fields
            .map(|field| (field.name.clone(), field.value.clone()))
            .collect(),
        body: answer.body.clone().unwrap_or_default(),
    }
}

/// The answer with a length that is longer than what comes of it.
fn broken(answer: Option<&Response>, end: End) -> Reply {
    let Some(answer) = answer else {
        return Reply::half_body(end);
    };
    let mut bytes = format!("HTTP/1.1 {} X\r\n", answer.status).into_bytes();
    for field in &answer.headers {
        bytes.extend(format!("{}: {}\r\n", field.name, field.value).into_bytes());
    }
    let body = answer.body.clone().unwrap_or_default();
    if answer.header("content-length").is_none() {
        bytes.extend(format!("content-length: {}\r\n", body.len() + 100).into_bytes());
    }
    bytes.extend(b"\r\n");
    bytes.extend(body);
    Reply::raw(bytes, end)
}
