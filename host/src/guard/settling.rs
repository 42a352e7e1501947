//! Outcomes that are on their way to the policy, off the caller's path.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

use tokio::runtime::Handle;
use tokio::sync::Notify;

/// How many outcomes are on their way.
#[derive(Default)]
pub(super) struct Settling {
    on_their_way: AtomicUsize,
    idle: Notify,
    /// Where calls were first admitted: a permit may come to its end on a thread of the caller's
    /// own.
    home: OnceLock<Handle>,
}

impl Settling {
    /// Notes the runtime that this is called in as the one to go on in.
    pub(super) fn settle_here(&self) {
        if self.home.get().is_none()
            && let Ok(here) = Handle::try_current()
        {
            // Another thread may have been first, which is as good.
            let _ = self.home.set(here);
        }
    }

    /// The runtime to go on in; none where there never was one.
    pub(super) fn runtime(&self) -> Option<Handle> {
        Handle::try_current()
            .ok()
            .or_else(|| self.home.get().cloned())
    }

    /// Tells an outcome. What needs no waiting is done before this returns, so that a host sees
    /// its own state changes at once; the rest goes on in a task. In a runtime that has ended the
    /// rest is lost, as in a process that ends.
    pub(super) fn tell(
        self: &Arc<Self>,
        runtime: &Handle,
        telling: impl Future<Output = ()> + Send + 'static,
    ) {
        let mut telling: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(telling);
        let _inside = runtime.enter();
        if let Poll::Ready(()) = telling
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            return;
        }
        let on_its_way = OnItsWay::begin(self);
        runtime.spawn(async move {
            let _on_its_way = on_its_way;
            telling.await;
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

/// One outcome on its way; at its end when it is dropped, however that comes about.
struct OnItsWay(Arc<Settling>);

impl OnItsWay {
    fn begin(settling: &Arc<Settling>) -> Self {
        settling.on_their_way.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(settling))
    }
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        if self.0.on_their_way.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}
