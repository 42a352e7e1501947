//! From an error of the HTTP client to the contract's name for it.
//!
//! The client wraps errors in errors. The chain is walked from the outside in, and the first link
//! that says something decides; the words of an error are looked at only where its type is
//! private (name resolution).

use std::error::Error;
use std::io;

use fusewire_core::TransportFailure;

/// A failure below HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What failed.
    pub kind: TransportFailure,
    /// More about it, for people: never a URL, which may have a key in it.
    pub cause: String,
}

/// EMFILE and ENFILE, the same number on every Unix: no file descriptor is left, in this process
/// or on this machine. `io::ErrorKind` has no name for them.
const NO_DESCRIPTOR: [i32; 2] = [24, 23];

impl Failure {
    /// A failure of this kind.
    #[must_use]
    pub fn new(kind: TransportFailure, cause: impl Into<String>) -> Self {
        Self {
            kind,
            cause: cause.into(),
        }
    }

    /// What an error means that came instead of an answer.
    #[must_use]
    pub fn before_answer(error: reqwest::Error) -> Self {
        let kind = before_answer(&error);
        Self::new(kind, words(error))
    }

    /// What an error means that came while the body was read.
    #[must_use]
    pub fn mid_body(error: reqwest::Error) -> Self {
        let kind = mid_body(&error);
        Self::new(kind, words(error))
    }
}

fn before_answer(error: &reqwest::Error) -> TransportFailure {
    use TransportFailure as F;
    if error.is_builder() {
        return F::InvalidRequest;
    }
    if error.is_redirect() {
        return F::TooManyRedirects;
    }
    let is_tls = error.url().is_some_and(|url| url.scheme() == "https");
    if error.is_connect() {
        if error.is_timeout() {
            return F::ConnectTimeout;
        }
        if let Some(failure) = name_resolution(error) {
            return failure;
        }
        return match links(error).find_map(of_link) {
            // A handshake that ends or makes no sense is the handshake's failure.
            Some(F::Reset | F::Protocol | F::Other) | None if is_tls => F::TlsHandshake,
            Some(failure) => failure,
            None => F::ConnectRefused,
        };
    }
    links(error).find_map(of_link).unwrap_or(F::Other)
}

fn mid_body(error: &reqwest::Error) -> TransportFailure {
    use TransportFailure as F;
    for link in links(error) {
        if let Some(hyper) = link.downcast_ref::<hyper::Error>()
            && hyper.is_incomplete_message()
        {
            return F::IncompleteBody;
        }
        if let Some(io) = link.downcast_ref::<io::Error>() {
            return match io.kind() {
                io::ErrorKind::UnexpectedEof => F::IncompleteBody,
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => F::Protocol,
                _ => F::ResetMidBody,
            };
        }
    }
    F::ResetMidBody
}

/// What one link of the chain says, if anything.
fn of_link(link: &(dyn Error + 'static)) -> Option<TransportFailure> {
    use TransportFailure as F;
    if let Some(tls) = link.downcast_ref::<rustls::Error>() {
        return Some(match tls {
            rustls::Error::InvalidCertificate(_) => F::TlsCertificate,
            _ => F::TlsHandshake,
        });
    }
    if let Some(hyper) = link.downcast_ref::<hyper::Error>() {
        return if hyper.is_parse() || hyper.is_parse_too_large() || hyper.is_parse_status() {
            Some(F::Protocol)
        } else if hyper.is_canceled() {
            // The connection closed before the request was written to it.
            Some(F::StaleConnection)
        } else if hyper.is_incomplete_message() {
            Some(F::Reset)
        } else if hyper.is_user() {
            Some(F::InvalidRequest)
        } else {
            None
        };
    }
    of_io(link.downcast_ref::<io::Error>()?)
}

fn of_io(error: &io::Error) -> Option<TransportFailure> {
    use TransportFailure as F;
    use io::ErrorKind as K;
    if error
        .raw_os_error()
        .is_some_and(|code| NO_DESCRIPTOR.contains(&code))
    {
        return Some(F::LocalResources);
    }
    match error.kind() {
        K::ConnectionRefused => Some(F::ConnectRefused),
        // Timed out: the kernel gave up a connection that had been made.
        K::ConnectionReset
        | K::ConnectionAborted
        | K::BrokenPipe
        | K::UnexpectedEof
        | K::TimedOut => Some(F::Reset),
        // The host alone being out of reach may be its own fault; without a route to any of it
        // nobody can tell, and the contract lays that to the caller's side.
        K::NetworkUnreachable | K::NetworkDown | K::HostUnreachable => Some(F::NetworkUnreachable),
        K::AddrNotAvailable => Some(F::LocalResources),
        // An error around another one: what is inside decides.
        _ if error.get_ref().is_some() => None,
        _ => Some(F::Other),
    }
}

/// Name resolution fails with an error whose type is private, around one whose kind says nothing:
/// the resolver's words are all there is (`gai_strerror`; glibc, musl and macOS are alike in
/// these). What is not known to be final is taken as temporary.
fn name_resolution(error: &reqwest::Error) -> Option<TransportFailure> {
    const FINAL: [&str; 4] = [
        "Name or service not known",
        "No address associated with",
        "Name does not resolve",
        "nodename nor servname provided",
    ];
    let is_dns = error.is_dns() || links(error).any(|link| link.to_string() == "dns error");
    is_dns.then(|| {
        let said = links(error).last().map(ToString::to_string);
        if said.is_some_and(|said| FINAL.iter().any(|words| said.contains(words))) {
            TransportFailure::DnsNotFound
        } else {
            TransportFailure::DnsTemporary
        }
    })
}

/// The errors inside an error, from the outside in. An `io::Error` that was made of another error
/// hides it from `source`, so it is looked into.
fn links(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(Error::source(error), |link| inside(*link))
}

fn inside<'a>(link: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let io = link.downcast_ref::<io::Error>();
    match io.and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => link.source(),
    }
}

/// An error in words: its innermost cause, and nothing of the URL.
fn words(error: reqwest::Error) -> String {
    let error = error.without_url();
    match links(&error).last() {
        Some(innermost) => innermost.to_string(),
        None => error.to_string(),
    }
}
