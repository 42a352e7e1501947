//! A provider that speaks HTTP/2, as gRPC does: its answers can have trailers, and it can refuse a
//! stream.

use std::net::SocketAddr;

use fusewire_core::{Field, Response};
use h2::server::SendResponse;
use h2::{Reason, server};
use http::{HeaderMap, HeaderName, HeaderValue};
use hyper::body::Bytes;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A provider that answers every request in the same way.
pub struct Http2 {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Http2 {
    /// Starts one that gives this answer; `None`: it refuses every stream.
    ///
    /// # Panics
    /// There is no port for it.
    pub async fn start(answer: Option<Response>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let answer = answer.clone();
                // A connection that breaks is the other side's affair.
                tokio::spawn(async move { serve(stream, answer).await });
            }
        });
        Self { address, accepting }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Http2 {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(stream: TcpStream, answer: Option<Response>) -> Result<(), h2::Error> {
    let mut connection = server::handshake(stream).await?;
    while let Some(accepted) = connection.accept().await {
        let (_, mut respond) = accepted?;
        match &answer {
            Some(answer) => send(&mut respond, answer)?,
            None => respond.send_reset(Reason::REFUSED_STREAM),
        }
    }
    Ok(())
}

fn send(respond: &mut SendResponse<Bytes>, answer: &Response) -> Result<(), h2::Error> {
    let mut head = http::Response::new(());
    *head.status_mut() = answer.status.try_into().expect("a status");
    *head.headers_mut() = fields(&answer.headers);
    let body = answer.body.clone().unwrap_or_default();
    let (no_body, no_trailers) = (body.is_empty(), answer.trailers.is_empty());
    let mut stream = respond.send_response(head, no_body && no_trailers)?;
    if !no_body {
        stream.send_data(body.into(), no_trailers)?;
    }
    if !no_trailers {
        stream.send_trailers(fields(&answer.trailers))?;
    }
    Ok(())
}

fn fields(fields: &[Field]) -> HeaderMap {
    let field = |field: &Field| {
        let name = HeaderName::from_bytes(field.name.as_bytes()).expect("a field's name");
        let value = HeaderValue::from_str(&field.value).expect("a field's value");
        (name, value)
    };
    fields.iter().map(field).collect()
}
