//! Bearer tokens (RFC 6750): who may do what not everybody may.

use axum::response::Response;
use http::StatusCode;
use http::header::{self, HeaderMap, HeaderValue};

use super::reply::problem;

/// Whether a request knows the token, where there is one. Compares all of both, so that the time
/// taken does not tell how far a guess was right.
pub(super) fn authorised(token: Option<&str>, headers: &HeaderMap) -> bool {
    let Some(token) = token else { return true };
    let given = headers
        .get(header::AUTHORIZATION)
        .map_or(&b""[..], HeaderValue::as_bytes);
    let expected = format!("Bearer {token}");
    let differs = given
        .iter()
        .zip(expected.as_bytes())
        .fold(0, |differs, (a, b)| differs | (a ^ b));
    given.len() == expected.len() && differs == 0
}

/// The answer to one that does not.
pub(super) fn unauthorised(detail: &str) -> Response {
    let mut response = problem(
        StatusCode::UNAUTHORIZED,
        "token",
        "The token is missing or wrong",
        detail,
    );
    let headers = response.headers_mut();
    headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}
