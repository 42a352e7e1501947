//! Whether an attempt has its connection yet.
//!
//! The read limit runs from the connection on, and the HTTP client does not say when it has one.
//! So its connector is wrapped: what connects on behalf of an attempt notes it in the attempt's
//! own [`Progress`], which a task-local leads to. A connection out of the pool never connects.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::sync::watch;
use tower_layer::Layer;
use tower_service::Service;

tokio::task_local! {
    static ATTEMPT: Arc<watch::Sender<Progress>>;
}

/// How far an attempt has come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    /// Connections being made for it.
    connecting: u32,
    /// Since when that is so.
    since: Instant,
}

impl Progress {
    /// Since when the provider itself is waited for. `None`: there is no connection yet.
    pub(super) fn waiting_since(&self) -> Option<Instant> {
        (self.connecting == 0).then_some(self.since)
    }

    fn change(&mut self, connecting: u32) {
        *self = Self {
            connecting,
            since: Instant::now(),
        };
    }
}

/// Does something such that connections made for it are noted.
pub(super) fn noting<F: Future>(
    work: F,
) -> (watch::Receiver<Progress>, impl Future<Output = F::Output>) {
    let (sender, receiver) = watch::channel(Progress {
        connecting: 0,
        since: Instant::now(),
    });
    (receiver, ATTEMPT.scope(Arc::new(sender), work))
}

/// Wraps a connector.
#[derive(Debug, Clone, Copy)]
pub(super) struct NotingLayer;

impl<S> Layer<S> for NotingLayer {
    type Service = Noting<S>;

    fn layer(&self, connector: S) -> Noting<S> {
        Noting { connector }
    }
}

/// A connector that notes when it connects.
#[derive(Debug, Clone)]
pub(super) struct Noting<S> {
    connector: S,
}

impl<S, R> Service<R> for Noting<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let note = ATTEMPT.try_with(Arc::clone).ok().map(Note::begin);
        let connection = self.connector.call(request);
        Box::pin(async move {
            let made = connection.await;
            drop(note);
            made
        })
    }
}

/// One connection in the making. Given up, it counts as ended.
struct Note(Arc<watch::Sender<Progress>>);

impl Note {
    fn begin(attempt: Arc<watch::Sender<Progress>>) -> Self {
        attempt.send_modify(|p| p.change(p.connecting.saturating_add(1)));
        Self(attempt)
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        self.0
            .send_modify(|p| p.change(p.connecting.saturating_sub(1)));
    }
}
