//! Calls a provider over HTTP, with one connection that is kept while it is good.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use fusewire_core::TransportFailure;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Calls one provider.
pub struct Caller {
    address: SocketAddr,
    /// The connection of the call before, where that ended well.
    kept: Option<BufReader<TcpStream>>,
}

impl Caller {
    /// Calls the provider at this address.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            kept: None,
        }
    }

    /// Asks for a path: the status, or how the call failed within the limit.
    ///
    /// # Errors
    /// As an observation has it.
    pub async fn get(&mut self, path: &str, limit: Duration) -> Result<u16, TransportFailure> {
        match timeout(limit, self.exchange(path)).await {
            Ok(Ok(status)) => Ok(status),
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                Err(TransportFailure::ConnectRefused)
            }
            Ok(Err(_)) => Err(TransportFailure::Reset),
            Err(_) => Err(TransportFailure::ReadTimeout),
        }
    }

    async fn exchange(&mut self, path: &str) -> io::Result<u16> {
        let mut stream = match self.kept.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(self.address).await?;
                stream.set_nodelay(true)?;
                BufReader::new(stream)
            }
        };
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).await?;
        let mut status = None;
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            status = status.or_else(|| line.split(' ').nth(1)?.parse().ok());
        }
        self.kept = Some(stream);
        status.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}
