//! Whether anybody reads what is written.

use std::future::pending;
use std::io::stdout;
use std::os::fd::AsFd;

use tokio::io::Interest;
use tokio::net::unix::pipe::Sender;

/// Waits until whoever reads the output of this process has gone, as `head` does. A watch would not
/// notice otherwise before it has something to say, and keep its pipeline waiting. Of an output
/// that is no pipe this never tells. Cancel-safe.
pub(super) async fn gone() {
    // Unchecked: to check would be to set the pipe to not block, for all who write to it.
    let out = stdout().as_fd().try_clone_to_owned();
    let pipe = out.and_then(Sender::from_owned_fd_unchecked);
    let Ok(pipe) = pipe else {
        return pending().await;
    };
    if pipe.ready(Interest::ERROR).await.is_err() {
        pending::<()>().await;
    }
}
