//! An answer as a text, so that a finding can be read, and written by hand:
//!
//! ```text
//! google-geocoding json 200 post
//! content-type: application/json
//! > grpc-status: 8
//!
//! {"status": "OVER_QUERY_LIMIT"}
//! ```
//!
//! The profile, what is expected, the status, and words of which `post` says that the request was
//! not idempotent, `partial` that a part was delivered, and the name of a failure below HTTP that
//! there was one; headers; trailers; the body behind an empty line, without which nobody looked at
//! it. Every text is one of an answer: what is missing or unknown is something all the same.

use fusewire_core::classify::profile::built_in;
use fusewire_core::{Field, Media, Observation, Response, TransportFailure};

/// The clock of the answers: 2026-01-01.
pub const NOW_MS: u64 = 1_767_225_600_000;

/// An answer, and the profile to judge it by.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// One of those that are built in.
    pub profile: &'static str,
    /// What was seen.
    pub observation: Observation,
}

impl Answer {
    /// Reads an answer.
    #[must_use]
    pub fn read(text: &[u8]) -> Self {
        let (first, rest) = line(text);
        let first = String::from_utf8_lossy(first);
        let mut words = first.split_ascii_whitespace();
        let profile = profile(words.next().unwrap_or_default());
        let expect = words.next().and_then(Media::from_name);
        let status = words.next().and_then(|word| word.parse().ok());
        let mut response = Response::status(status.unwrap_or(200));
        let mut left = Some(rest);
        while let Some(rest) = left.take_if(|rest| !rest.is_empty()) {
            let (field, rest) = line(rest);
            if field.is_empty() {
                response.body = Some(rest.to_vec());
                break;
            }
            match field.strip_prefix(b">") {
                Some(trailer) => response.trailers.push(read_field(trailer)),
                None => response.headers.push(read_field(field)),
            }
            left = Some(rest);
        }
        let mut observation = Observation::response(response, NOW_MS);
        observation.expect = expect.unwrap_or(Media::Any);
        for word in words {
            match word {
                "post" => observation.idempotent = false,
                "partial" => observation.delivered_partial = true,
                other => observation.failure = TransportFailure::from_name(other),
            }
        }
        Self {
            profile,
            observation,
        }
    }

    /// The answer as a text.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let seen = &self.observation;
        let response = seen.response.clone().unwrap_or_default();
        let mut text = format!("{} {} {}", self.profile, seen.expect, response.status);
        if !seen.idempotent {
            text.push_str(" post");
        }
        if seen.delivered_partial {
            text.push_str(" partial");
        }
        if let Some(failure) = seen.failure {
            text.extend([" ", failure.name()]);
        }
        text.push('\n');
        let trailers = response.trailers.iter().map(|field| ("> ", field));
        let headers = response.headers.iter().map(|field| ("", field));
        for (mark, Field { name, value }) in headers.chain(trailers) {
            text.extend([mark, name, ": ", value, "\n"]);
        }
        let mut text = text.into_bytes();
        if let Some(body) = &response.body {
            text.push(b'\n');
            text.extend(body);
        }
        text
    }
}

/// The profile of this name, or any: each name is one of them.
fn profile(name: &str) -> &'static str {
    if let Some((name, _)) = built_in().find(|(known, _)| *known == name) {
        return name;
    }
    let sum: usize = name.bytes().map(usize::from).sum();
    let nth = sum.checked_rem(built_in().count()).unwrap_or(0);
    built_in().nth(nth).map_or("http", |(name, _)| name)
}

/// Header fields alone, a line each.
#[must_use]
pub fn fields(text: &[u8]) -> Vec<Field> {
    let lines = text.split(|byte| *byte == b'\n');
    lines
        .filter(|line| !line.is_empty())
        .map(read_field)
        .collect()
}

fn read_field(line: &[u8]) -> Field {
    let text = String::from_utf8_lossy(line);
    let (name, value) = text.split_once(':').unwrap_or((&text, ""));
    Field {
        name: name.trim().into(),
        value: value.trim().into(),
    }
}

/// The first line without its end, and what follows.
fn line(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| *byte == b'\n');
    match end {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for text in [
            "google-geocoding json 200 post\ncontent-type: a/b\n> grpc-status: 8\n\n{\n\n}",
            "http any 503 partial reset\nretry-after: 7\n",
            "tiles image 200\n\n",
        ] {
            let answer = Answer::read(text.as_bytes());
            assert_eq!(String::from_utf8(answer.write()).expect("text"), text);
        }
        let (with, without) = (Answer::read(b"tiles\n\n"), Answer::read(b"tiles\n"));
        let body = |answer: Answer| answer.observation.response.expect("one").body;
        assert_eq!((body(with), body(without)), (Some(Vec::new()), None));
    }
}
