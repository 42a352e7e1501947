//! A line there, a line back.

use std::ffi::OsStr;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::DriverError;
use crate::gateway::upstream::install_crypto;

/// How long an answer may take: a runtime may have to compile the policy first.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tells a request to a driver from those that it guards.
const HEADER: (&str, &str) = ("fusewire-drive", "1");

type Answer = Result<String, String>;

/// One end of a line. Requests are sent one after the other, each when the answer before is there.
#[derive(Debug, Clone)]
pub(super) struct Link {
    requests: mpsc::UnboundedSender<(String, oneshot::Sender<Answer>)>,
}

impl Link {
    pub(super) fn process(program: &OsStr, arguments: &[&OsStr]) -> Result<Self, DriverError> {
        let failed = |error| DriverError::Start {
            driver: program.to_string_lossy().into_owned(),
            error,
        };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(std::io::Error::other("it has no standard streams")));
        };
        Ok(Self::spawn(End::Process(Box::new(Process {
            input,
            output: BufReader::new(output).lines(),
            child,
        }))))
    }

    pub(super) fn http(url: &str) -> Result<Self, DriverError> {
        install_crypto();
        // A driver is on this machine, whatever the environment says of proxies and certificates.
        let client = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .build()
            .map_err(|error| DriverError::Start {
                driver: url.to_owned(),
                error: std::io::Error::other(error),
            })?;
        Ok(Self::spawn(End::Http {
            url: url.to_owned(),
            client,
        }))
    }

    fn spawn(mut end: End) -> Self {
        let (requests, mut waiting) =
            mpsc::unbounded_channel::<(String, oneshot::Sender<Answer>)>();
        tokio::spawn(async move {
            while let Some((line, answer)) = waiting.recv().await {
                let came = timeout(PATIENCE, end.exchange(line))
                    .await
                    .unwrap_or_else(|_| Err(format!("did not answer within {PATIENCE:?}")));
                // After a failure the next answer could be one to an earlier request.
                let over = came.is_err();
                // Nobody may be waiting any more.
                let _ = answer.send(came);
                if over {
                    break;
                }
            }
        });
        Self { requests }
    }

    /// Sends a line and waits for the one that answers it. Cancel-safe.
    pub(super) async fn exchange(&self, line: String) -> Result<String, DriverError> {
        let (answer, answered) = oneshot::channel();
        let gone = || DriverError::Gone("is gone, after the failure before this one".into());
        self.requests.send((line, answer)).map_err(|_| gone())?;
        let came = answered.await.map_err(|_| gone())?;
        came.map_err(DriverError::Gone)
    }
}

/// What is at the other end.
enum End {
    Process(Box<Process>),
    Http {
        url: String,
        client: reqwest::Client,
    },
}

struct Process {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// Killed when it is dropped.
    child: Child,
}

impl End {
    async fn exchange(&mut self, line: String) -> Answer {
        match self {
            Self::Process(process) => process.exchange(line).await,
            Self::Http { url, client } => {
                let answer = async {
                    let request = client.post(&*url).header(HEADER.0, HEADER.1).body(line);
                    let answer = request.send().await?;
                    answer.error_for_status()?.text().await
                };
                answer
                    .await
                    .map_err(|error: reqwest::Error| format!("is out of reach: {error}"))
            }
        }
    }
}

impl Process {
    async fn exchange(&mut self, line: String) -> Answer {
        let came = async {
            self.input.write_all(line.as_bytes()).await?;
            self.input.write_all(b"\n").await?;
            self.input.flush().await?;
            self.output.next_line().await
        };
        match came.await {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err(match self.child.wait().await {
                Ok(status) => format!("ended: {status}"),
                Err(error) => format!("ended: {error}"),
            }),
            Err(error) => Err(format!("is out of reach: {error}")),
        }
    }
}
