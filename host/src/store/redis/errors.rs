//! Which of Redis's errors mean "out of reach", and which "will not be done".

use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::store::StoreError;

/// A failure that a client of the store sees, and whether the connection is to be looked at.
pub(super) struct Failure {
    pub(super) error: StoreError,
    /// The server may be gone, or may be one that takes no writes any more.
    pub(super) doubtful: bool,
}

/// What an error of Redis, or of the way there, means for `what` that was tried at `address`.
///
/// States that pass by themselves (loading, a fail-over, a script that runs too long) are out of
/// reach, as a lost connection is. Everything else that a server says is an answer: the operation
/// is refused and nothing was changed.
pub(super) fn judge(error: &RedisError, what: &str, address: &str) -> Failure {
    let text = || format!("{what} at {address}: {error}");
    match error.kind() {
        ErrorKind::Server(kind) if !passes(kind) && !is_read_only(error) => Failure {
            error: StoreError::Refused(text()),
            doubtful: false,
        },
        ErrorKind::Extension
            if !matches!(error.code(), Some("BUSY" | "NOREPLICAS" | "MISCONF")) =>
        {
            Failure {
                error: StoreError::Refused(text()),
                doubtful: false,
            }
        }
        ErrorKind::AuthenticationFailed => Failure {
            error: StoreError::Refused(text()),
            doubtful: false,
        },
        kind => Failure {
            error: StoreError::Unavailable(text()),
            doubtful: !matches!(kind, ErrorKind::Server(_) | ErrorKind::Extension)
                || is_read_only(error),
        },
    }
}

fn passes(kind: ServerErrorKind) -> bool {
    matches!(
        kind,
        ServerErrorKind::BusyLoading
            | ServerErrorKind::TryAgain
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::MasterDown
            | ServerErrorKind::ReadOnly
    )
}

/// A replica takes no writes. Before version 7 the error of a command inside a script is only
/// told in the text.
fn is_read_only(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly)
        || error
            .detail()
            .is_some_and(|detail| detail.contains("READONLY"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error that a server's line becomes.
    fn said(line: &str) -> RedisError {
        let value = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).expect("a reply");
        value.extract_error().expect_err("an error")
    }

    fn is_unavailable(error: &RedisError) -> bool {
        let failure = judge(error, "GET k", "redis:6379");
        matches!(failure.error, StoreError::Unavailable(_))
    }

    #[test]
    fn a_state_that_passes_by_itself_is_out_of_reach() {
        for line in [
            "LOADING Redis is loading the dataset in memory",
            "READONLY You can't write against a read only replica.",
            "CLUSTERDOWN The cluster is down",
            "MASTERDOWN Link with MASTER is down",
            "TRYAGAIN Multiple keys request during rehashing of slot",
            "BUSY Redis is busy running a script.",
            "NOREPLICAS Not enough good replicas to write.",
            "MISCONF Redis is configured to save RDB snapshots",
            "ERR Error running script (call to f_0): @user_script:3: -READONLY You can't write",
        ] {
            assert!(is_unavailable(&said(line)), "{line}");
        }
        let lost = RedisError::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert!(is_unavailable(&lost));
    }

    #[test]
    fn what_the_server_will_not_do_is_refused() {
        for line in [
            "WRONGTYPE Operation against a key holding the wrong kind of value",
            "ERR value is not an integer or out of range",
            "NOPERM this user has no permissions to run the 'eval' command",
            "NOAUTH Authentication required.",
            "OOM command not allowed when used memory > 'maxmemory'.",
            "CROSSSLOT Keys in request don't hash to the same slot",
            "MOVED 3999 127.0.0.1:6381",
        ] {
            assert!(!is_unavailable(&said(line)), "{line}");
        }
    }

    #[test]
    fn a_replica_and_a_silent_server_are_looked_at_again() {
        let doubtful = |error: &RedisError| judge(error, "GET k", "redis:6379").doubtful;
        assert!(doubtful(&said("READONLY You can't write")));
        assert!(doubtful(&RedisError::from(std::io::Error::from(
            std::io::ErrorKind::TimedOut
        ))));
        assert!(!doubtful(&said("LOADING Redis is loading")));
        assert!(!doubtful(&said("WRONGTYPE Operation against a key")));
    }

    #[test]
    fn an_error_says_what_was_tried_and_where() {
        let failure = judge(&said("WRONGTYPE no"), "count \"k\"", "redis:6379");
        let text = failure.error.to_string();
        assert!(
            text.contains("count \"k\"") && text.contains("redis:6379"),
            "{text}"
        );
    }
}
