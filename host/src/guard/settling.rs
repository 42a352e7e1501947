//! Outcomes that are on their way to the policy, off the caller's path.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;

/// How many outcomes are on their way.
#[derive(Default)]
pub(super) struct Settling {
    on_their_way: AtomicUsize,
    idle: Notify,
}

impl Settling {
    /// Tells an outcome. What needs no waiting is done before this returns, so that a host sees
    /// its own state changes at once; the rest goes on in a task. Without a runtime to go on in
    /// the rest is lost, as in a process that ends.
    pub(super) fn tell(self: &Arc<Self>, telling: impl Future<Output = ()> + Send + 'static) {
        let mut telling: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(telling);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        if let Poll::Ready(()) = telling
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            return;
        }
        self.on_their_way.fetch_add(1, Ordering::AcqRel);
        let settling = Arc::clone(self);
        runtime.spawn(async move {
            telling.await;
            if settling.on_their_way.fetch_sub(1, Ordering::AcqRel) == 1 {
                settling.idle.notify_waiters();
            }
        });
    }

    /// Waits until none is on its way.
    pub(super) async fn idle(&self) {
        loop {
            let woken = self.idle.notified();
            if self.on_their_way.load(Ordering::Acquire) == 0 {
                return;
            }
            woken.await;
        }
    }
}
