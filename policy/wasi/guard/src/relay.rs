//! Bodies, chunk by chunk: what has come is passed on before more is waited for.

use crate::bindings::wasi::http::types::http_error_code;
use crate::bindings::wasi::io::poll::Pollable;
use crate::bindings::wasi::io::streams::{InputStream, OutputStream, StreamError};
use crate::failure::Failure;
use crate::patience::Patience;

/// The most that is read at once, in bytes.
const CHUNK: u64 = 64 * 1024;

/// The beginning of a body, kept while all of it passes by.
pub(crate) struct Beginning {
    bytes: Vec<u8>,
    /// How many bytes more are kept.
    room: usize,
}

impl Beginning {
    /// Nothing yet, and at most so many bytes.
    pub(crate) fn of(most: usize) -> Self {
        Self {
            bytes: Vec::new(),
            room: most,
        }
    }

    fn keep(&mut self, chunk: &[u8]) {
        let kept = chunk.get(..self.room).unwrap_or(chunk);
        self.bytes.extend_from_slice(kept);
        self.room = self.room.saturating_sub(kept.len());
    }

    /// What was kept.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// How a body came to its end.
pub(crate) enum End {
    /// All of it was passed on.
    Whole,
    /// What was to interrupt it happened.
    Interrupted,
    /// The side that it goes to takes no more.
    Refused,
    /// The side that it comes from broke off.
    Broken(Failure),
}

/// Passes a body on, and keeps its beginning where that is wanted. `patience` is for the service: it
/// runs while the service is waited for, on whichever side of the body it is.
///
/// # Errors
/// The service took too long.
pub(crate) fn pump(
    from: &InputStream,
    to: &OutputStream,
    interrupt: Option<&Pollable>,
    mut beginning: Option<&mut Beginning>,
    patience: &mut Patience,
) -> Result<End, Failure> {
    let (readable, writable) = (from.subscribe(), to.subscribe());
    loop {
        if interrupt.is_some_and(Pollable::ready) {
            return Ok(End::Interrupted);
        }
        let room = match to.check_write() {
            Ok(room) => room.min(CHUNK),
            Err(_) => return Ok(End::Refused),
        };
        if room == 0 {
            wait(&writable, interrupt, patience, interrupt.is_some())?;
            continue;
        }
        match from.read(room) {
            Ok(chunk) if chunk.is_empty() => {
                wait(&readable, interrupt, patience, interrupt.is_none())?;
            }
            Ok(chunk) => {
                if let Some(beginning) = &mut beginning {
                    beginning.keep(&chunk);
                }
                if to.write(&chunk).is_err() {
                    return Ok(End::Refused);
                }
            }
            Err(StreamError::Closed) => return Ok(end(to, interrupt)),
            Err(StreamError::LastOperationFailed(error)) => {
                let code = http_error_code(&error);
                return Ok(End::Broken(Failure::mid_body(code.as_ref())));
            }
        }
    }
}

/// All was read: what was written is on its way before the end is said.
fn end(to: &OutputStream, interrupt: Option<&Pollable>) -> End {
    match to.blocking_flush() {
        Ok(()) => End::Whole,
        Err(_) if interrupt.is_some_and(Pollable::ready) => End::Interrupted,
        Err(_) => End::Refused,
    }
}

/// Waits for one side. Where that is not the service, for as long as it takes.
fn wait(
    side: &Pollable,
    interrupt: Option<&Pollable>,
    patience: &mut Patience,
    is_service: bool,
) -> Result<(), Failure> {
    if is_service {
        let mut events = vec![side];
        events.extend(interrupt);
        return patience.wait(&events);
    }
    match interrupt {
        Some(interrupt) => {
            crate::bindings::wasi::io::poll::poll(&[side, interrupt]);
        }
        None => side.block(),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Beginning;

    #[test]
    fn of_a_body_no_more_is_kept_than_there_is_room_for() {
        let mut beginning = Beginning::of(6);
        for chunk in ["four", "more", "and more"] {
            beginning.keep(chunk.as_bytes());
        }
        assert_eq!(beginning.into_bytes(), b"fourmo");
    }
}
