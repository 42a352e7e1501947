//! What the trailers of a gRPC answer tell, wherever they are.

use super::{Dialect, details, dialect, web, whole};
use crate::classify::body::text;
use crate::observation::{Field, Response};

/// The most of a message that is looked at, in bytes.
const MESSAGE_BYTES: usize = 1_024;

/// Fields of this name: those of the trailers or, where there are none, of the headers, since an
/// answer without a body has its trailers there; at last those in the body of gRPC-Web.
fn fields<'a>(response: &'a Response, name: &'static str) -> impl Iterator<Item = &'a str> {
    let named = move |fields: &'a [Field]| {
        fields
            .iter()
            .filter(move |field| field.name.eq_ignore_ascii_case(name))
            .map(|field| field.value.trim_ascii())
            .peekable()
    };
    let mut own = named(&response.trailers);
    if own.peek().is_none() {
        own = named(&response.headers);
    }
    let body = match own.peek() {
        None if dialect(response) == Some(Dialect::Web) => response.body.as_deref(),
        _ => None,
    };
    own.chain(
        body.into_iter()
            .flat_map(move |body| web::fields(body, name)),
    )
}

pub(super) fn field<'a>(response: &'a Response, name: &'static str) -> Option<&'a str> {
    fields(response, name).next()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pushback {
    None,
    Wait(u64),
    DoNotRetry,
}

/// `grpc-retry-pushback-ms` (gRFC A6). What is negative or no number forbids any retry, other
/// than with Retry-After, and so do several values, which clients do not choose among.
pub(super) fn pushback(response: &Response) -> Pushback {
    let mut values = fields(response, "grpc-retry-pushback-ms");
    match (values.next(), values.next()) {
        (None, _) => Pushback::None,
        (Some(text), None) => whole(text).map_or(Pushback::DoNotRetry, Pushback::Wait),
        (Some(_), Some(_)) => Pushback::DoNotRetry,
    }
}

/// The wait of a `google.rpc.RetryInfo`, decoded by whoever watched or not.
pub(super) fn retry_info_ms(response: &Response) -> Option<u64> {
    field(response, "retry-info-ms")
        .and_then(whole)
        .or_else(|| {
            fields(response, "grpc-status-details-bin")
                .flat_map(|value| value.split(','))
                .find_map(details::retry_delay_ms)
        })
}

/// Whether the message is about the size of a message, which libraries of gRPC report with the
/// same code as a used-up quota.
pub(super) fn is_message_too_large(response: &Response) -> bool {
    field(response, "grpc-message").is_some_and(|message| {
        let message = percent_decoded(message);
        ["message larger than", "larger than max"]
            .into_iter()
            .any(|phrase| text::contains(&message, phrase))
    })
}

/// `grpc-message` as it was meant. What is not well encoded stays as it is, as gRPC wants it.
fn percent_decoded(text: &str) -> Vec<u8> {
    let mut rest = text.as_bytes();
    let mut decoded = Vec::with_capacity(rest.len().min(MESSAGE_BYTES));
    while decoded.len() < MESSAGE_BYTES {
        let (byte, tail) = match rest {
            [b'%', high, low, tail @ ..] => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => ((high << 4) | low, tail),
                _ => (b'%', rest.get(1..).unwrap_or_default()),
            },
            [byte, tail @ ..] => (*byte, tail),
            [] => break,
        };
        decoded.push(byte);
        rest = tail;
    }
    decoded
}

fn hex(digit: u8) -> Option<u8> {
    u8::try_from(char::from(digit).to_digit(16)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_decoded_and_what_is_badly_encoded_is_kept() {
        for (text, decoded) in [
            ("a%20b", "a b"),
            ("%c3%BC", "ü"),
            ("100%", "100%"),
            ("%4", "%4"),
            ("%%41", "%A"),
            ("%+1", "%+1"),
        ] {
            assert_eq!(percent_decoded(text), decoded.as_bytes(), "{text}");
        }
        assert_eq!(percent_decoded(&"x".repeat(9_000)).len(), MESSAGE_BYTES);
    }
}
