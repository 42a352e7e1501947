//! An answer as `curl -i` saves it: the head as it came, then the body.

use fusewire_core::{Field, Media, Observation, Response};
use http::HeaderName;

use super::body;
use super::case::Input;
use super::observed::{date_ms, idempotent};
use super::read::Reading;
use super::setup::{Setup, Whom};

/// Why a text is not such an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {wrong}")]
pub struct BadResponse {
    /// The line, counted from one.
    pub line: u64,
    /// What is wrong with it, and what would be right.
    pub wrong: String,
}

/// Whether a text that begins so is an answer, and not lines of JSON.
#[must_use]
pub fn is_response(beginning: &[u8]) -> bool {
    beginning.starts_with(b"HTTP/")
}

impl Reading {
    /// Reads an answer as `curl -i` saves it. Of several heads in a row the last counts: those
    /// before it are of redirects, of a proxy, or interim. A field that is folded over several
    /// lines is one. A body that is still compressed is decoded, or left out where it cannot be.
    ///
    /// # Errors
    /// The first line that is not as HTTP has it.
    pub fn response(&self, bytes: &[u8]) -> Result<Input, BadResponse> {
        let mut rest = Text { bytes, line: 0 };
        let (status, headers) = last_head(&mut rest)?;
        let mut response = Response {
            status,
            headers,
            ..Response::default()
        };
        if body::has_body(self.method.as_deref(), status) {
            response.body = body::decoded(rest.bytes, response.header("content-encoding"));
        }
        let method = self.method.as_deref();
        let whom = self.whom.clone().unwrap_or(Whom::General);
        Ok(Input {
            id: None,
            setup: Setup::of(whom),
            observation: Observation {
                idempotent: idempotent(method),
                expect: self.expect.unwrap_or(Media::Any),
                ..Observation::response(response.clone(), date_ms(&response).unwrap_or(self.now_ms))
            },
        })
    }
}

/// The last of the heads, with the body left over.
fn last_head(rest: &mut Text<'_>) -> Result<(u16, Vec<Field>), BadResponse> {
    let mut last = head(rest)?;
    loop {
        let mut further = *rest;
        match head(&mut further) {
            Ok(next) => (last, *rest) = (next, further),
            // A body that begins like a head and does not go on like one.
            Err(_) => return Ok(last),
        }
    }
}

/// One head: a status line, fields, and the empty line.
fn head(rest: &mut Text<'_>) -> Result<(u16, Vec<Field>), BadResponse> {
    let first = rest.take_line().unwrap_or_default();
    let Some(status) = status(&first) else {
        let wrong = format!(
            "`{}` is not the first line of an answer; it looks like `HTTP/1.1 200 OK`",
            shortened(&first)
        );
        return Err(rest.bad(wrong));
    };
    let mut fields: Vec<Field> = Vec::new();
    loop {
        let Some(line) = rest.take_line() else {
            // A head without a body may have lost its empty line.
            return Ok((status, fields));
        };
        if line.is_empty() {
            return Ok((status, fields));
        }
        if line.starts_with([' ', '\t'])
            && let Some(folded) = fields.last_mut()
        {
            folded.value.push(' ');
            folded.value.push_str(line.trim_ascii());
            continue;
        }
        // HTTP/2 has names that begin with a colon, which are no fields of the answer.
        let name = line.find(':').map(|end| line.split_at(end));
        match name {
            Some((name, value)) if HeaderName::try_from(name).is_ok() => fields.push(Field {
                name: name.to_owned(),
                value: value.trim_start_matches(':').trim_ascii().to_owned(),
            }),
            _ => {
                let wrong = format!(
                    "`{}` is not a header field; write `name: value`, and an empty line before \
                     the body",
                    shortened(&line)
                );
                return Err(rest.bad(wrong));
            }
        }
    }
}

/// The status of a status line. HTTP/2 and HTTP/3 have no reason after it.
fn status(line: &str) -> Option<u16> {
    let (version, rest) = line.strip_prefix("HTTP/")?.split_once(' ')?;
    if !matches!(version, "1.0" | "1.1" | "2" | "2.0" | "3" | "3.0") {
        return None;
    }
    let status = rest.trim_ascii_start().split(' ').next()?;
    let is_status = status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit());
    status.parse().ok().filter(|_| is_status)
}

/// The beginning of a line, fit for a message.
fn shortened(line: &str) -> String {
    let fit = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut text: String = line.chars().take(60).map(fit).collect();
    if text.len() < line.len() {
        text.push('…');
    }
    text
}

/// What is left of a text, and the number of the line before it.
#[derive(Debug, Clone, Copy)]
struct Text<'a> {
    bytes: &'a [u8],
    line: u64,
}

impl Text<'_> {
    /// The next line without its end.
    fn take_line(&mut self) -> Option<String> {
        if self.bytes.is_empty() {
            return None;
        }
        let end = self.bytes.iter().position(|byte| *byte == b'\n');
        let (line, rest) = match end {
            Some(end) => (&self.bytes[..end], &self.bytes[end + 1..]),
            None => (self.bytes, &[][..]),
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.bytes = rest;
        self.line += 1;
        Some(String::from_utf8_lossy(line).into_owned())
    }

    /// Something wrong with the line that was taken last.
    fn bad(&self, wrong: String) -> BadResponse {
        BadResponse {
            line: self.line.max(1),
            wrong,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Response {
        let input = Reading::default().response(text.as_bytes()).unwrap();
        input.observation.response.unwrap()
    }

    fn fields(response: &Response) -> Vec<(&str, &str)> {
        let fields = response.headers.iter();
        fields.map(|field| (&*field.name, &*field.value)).collect()
    }

    #[test]
    fn every_version_is_read_with_either_end_of_line() {
        for version in ["1.0", "1.1", "2", "3"] {
            for end in ["\r\n", "\n"] {
                let text = format!("HTTP/{version} 429 {end}retry-after:  7 {end}{end}slow\ndown");
                let found = read(&text);
                assert_eq!(found.status, 429, "{text}");
                assert_eq!(fields(&found), [("retry-after", "7")], "{text}");
                assert_eq!(found.body.as_deref(), Some(&b"slow\ndown"[..]), "{text}");
            }
        }
        assert_eq!(read("HTTP/2 200\r\n\r\n").body.as_deref(), Some(&b""[..]));
    }

    #[test]
    fn of_redirects_a_proxy_and_interim_answers_the_last_one_counts() {
        let found = read(
            "HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\
             HTTP/1.1 302 Found\r\nlocation: /there\r\n\r\nHTTP/2 404\r\na: b\r\n\r\nHTTP/ is fine",
        );
        assert_eq!((found.status, fields(&found)), (404, vec![("a", "b")]));
        assert_eq!(found.body.as_deref(), Some(&b"HTTP/ is fine"[..]));
    }

    #[test]
    fn a_field_over_several_lines_is_one() {
        let found = read("HTTP/1.1 200 OK\r\nx: one\r\n\ttwo\r\n  three\r\ny:\r\n\r\n");
        assert_eq!(fields(&found), [("x", "one two three"), ("y", "")]);
    }

    #[test]
    fn a_body_is_what_nobody_looked_at_where_http_has_none() {
        assert_eq!(read("HTTP/1.1 204 No Content\r\n\r\n").body, None);
        let head = Reading {
            method: Some("head".into()),
            ..Reading::default()
        };
        let input = head.response(b"HTTP/1.1 503 Busy\r\n\r\n").unwrap();
        assert_eq!(input.observation.response.unwrap().body, None);
    }

    #[test]
    fn an_answer_is_judged_as_of_the_moment_when_it_was_sent() {
        let text = b"HTTP/1.1 503 Busy\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n";
        let input = Reading::default().response(text).unwrap();
        assert_eq!(input.observation.now_ms, 1_767_225_600_000);
    }

    #[test]
    fn what_is_not_an_answer_is_told_with_its_line() {
        for (text, message) in [
            ("HTTP/1.1 OK\r\n", "1: `HTTP/1.1 OK` is not the first line"),
            ("HTTP/9 200\r\n", "1: `HTTP/9 200` is not the first line"),
            (
                "HTTP/1.1 200 OK\r\na: b\r\n<html>\r\n",
                "3: `<html>` is not a header field; write `name: value`",
            ),
            ("", "1: `` is not the first line"),
        ] {
            let error = Reading::default().response(text.as_bytes()).unwrap_err();
            assert!(error.to_string().starts_with(message), "{error}");
        }
    }
}
