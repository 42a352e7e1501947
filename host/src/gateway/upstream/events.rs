//! The first event of a `text/event-stream` (WHATWG HTML, section 9.2).
//!
//! A provider whose stream begins with an error has failed, and there are others to ask as long as
//! nothing has been passed on. So such an answer is kept back until it has said something, and no
//! longer: who reads it waits for each token. Comments and pings say nothing.

use http::header::{self, HeaderMap};

use super::look::Look;

/// The most that may come before the first event, decoded, in bytes.
const BEFORE_MAX: usize = 64 << 10;

/// How much of a line is looked at, in bytes: enough to tell `event: ping` from another.
const LINE_SEEN: usize = 16;

/// A stream of events until it has said something.
pub(super) struct Events {
    first: FirstEvent,
    look: Look,
    /// How much of what was looked at has been gone through.
    at: usize,
}

impl Events {
    /// For an answer with these fields, where it is such a stream.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let media_type = headers.get(header::CONTENT_TYPE)?.as_bytes();
        let essence = media_type.split(|byte| *byte == b';').next()?.trim_ascii();
        let is_one = essence.eq_ignore_ascii_case(b"text/event-stream");
        is_one.then(|| Self {
            first: FirstEvent::default(),
            look: Look::new(headers, BEFORE_MAX),
            at: 0,
        })
    }

    /// Takes the next part. Whether the stream has said something, or nobody can tell.
    pub(super) fn has_said(&mut self, part: &[u8]) -> bool {
        self.look.take(part);
        let seen = self.look.seen().unwrap_or_default();
        let new = seen.get(self.at..).unwrap_or_default();
        self.at = seen.len();
        self.first.has_come(new) || self.look.is_over()
    }
}

/// Waits for the first event.
#[derive(Debug, Default)]
struct FirstEvent {
    /// The beginning of the line under way.
    line: Vec<u8>,
    /// Whether the byte before ended a line, and a line feed after it belongs to that.
    after_return: bool,
    /// Whether the event under way has a field that says something.
    says: bool,
    is_ping: bool,
}

impl FirstEvent {
    /// Takes the next bytes of the stream. Whether an event has come to its end.
    fn has_come(&mut self, bytes: &[u8]) -> bool {
        bytes.iter().any(|byte| self.take(*byte))
    }

    fn take(&mut self, byte: u8) -> bool {
        let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
        match byte {
            b'\n' if after_return => false,
            b'\n' | b'\r' => self.end_of_line(),
            _ => {
                if self.line.len() < LINE_SEEN {
                    self.line.push(byte);
                }
                false
            }
        }
    }

    fn end_of_line(&mut self) -> bool {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        if line.is_empty() {
            let (says, is_ping) = (self.says, self.is_ping);
            (self.says, self.is_ping) = (false, false);
            return says && !is_ping;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        match name {
            b"event" => {
                self.says = true;
                self.is_ping = matches!(value, b":ping" | b": ping");
            }
            b"data" => self.says = true,
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many bytes it takes.
    fn comes_after(stream: &str) -> Option<usize> {
        let mut first = FirstEvent::default();
        (1..=stream.len()).find(|n| first.has_come(&stream.as_bytes()[n - 1..*n]))
    }

    #[test]
    fn an_event_has_come_with_the_empty_line_after_it() {
        for stream in [
            "data: 1\n\n",
            "data: 1\r\n\r",
            "data: 1\r\r",
            "\u{feff}data:1\n\n",
            "event: error\ndata: {}\n\n",
            "id: 7\ndata\n\n",
            "event: pingpong\n\n",
            "\n\ndata: a long line that goes on and on\ndata: and another\n\n",
        ] {
            assert_eq!(comes_after(stream), Some(stream.len()), "{stream:?}");
        }
    }

    #[test]
    fn comments_and_pings_are_no_events() {
        for stream in [
            ": keep-alive\n\n:\n\n",
            "event: ping\ndata: {\"type\": \"ping\"}\n\n",
            "event:ping\r\n\r\n",
            "retry: 10\n\nid: 3\n\n",
            "data: not to its end\n",
        ] {
            assert_eq!(comes_after(stream), None, "{stream:?}");
            let then = format!("{stream}\ndata: 1\n\n");
            assert!(comes_after(&then).is_some(), "{then:?}");
        }
    }
}
