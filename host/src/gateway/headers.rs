//! Which header fields pass through a gateway.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// What a gateway's own fields begin with. They never pass through, in either direction, so that
/// a caller can believe them.
pub const OWN: &str = "fusewire-";

/// Fields that are about one connection (RFC 9110, section 7.6.1, and what RFC 2616 named).
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The fields that are for the other end: without those about the connection, those that
/// `Connection` names, and a gateway's own.
#[must_use]
pub fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let passes = |name: &HeaderName| {
        !HOP_BY_HOP.contains(&name.as_str())
            && !name.as_str().starts_with(OWN)
            && !named.iter().any(|n| n == name.as_str())
    };
    headers
        .iter()
        .filter(|(name, _)| passes(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The fields of a caller's request that go on to a provider. `Host`, the length and the
/// expectation are about this side of the gateway and are made anew.
#[must_use]
pub fn to_provider(headers: &HeaderMap) -> HeaderMap {
    let mut headers = end_to_end(headers);
    for name in [header::HOST, header::CONTENT_LENGTH, header::EXPECT] {
        headers.remove(name);
    }
    // RFC 9110, section 7.6.3: what forwards says so, which also shows a loop.
    headers.append(header::VIA, HeaderValue::from_static("1.1 fusewire"));
    headers
}

/// Leaves those content codings in `Accept-Encoding` that can be undone here, for a request whose
/// answer is looked at: what comes in another one cannot be judged by its body. Without the field, and
/// where that would leave nothing, it stays as it is.
pub fn accept_what_can_be_read(headers: &mut HeaderMap) {
    const READABLE: [&str; 3] = ["gzip", "deflate", "identity"];
    let asked: Vec<(String, &str)> = headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|asked| asked.split_once(';').unwrap_or((asked, "")))
        .map(|(coding, weight)| (coding.trim().to_ascii_lowercase(), weight.trim()))
        .collect();
    let weight = |coding: &str| {
        let named = asked.iter().find(|(asked, _)| asked == coding);
        let any = || asked.iter().find(|(asked, _)| asked == "*");
        named.or_else(any).map(|(_, weight)| *weight)
    };
    let is_refused = |weight: &str| {
        let value = weight.strip_prefix("q=").map(str::parse::<f32>);
        matches!(value, Some(Ok(0.0)))
    };
    let mut left = Vec::new();
    for coding in READABLE {
        match weight(coding) {
            Some("") => left.push(coding.to_owned()),
            Some(weight) => left.push(format!("{coding};{weight}")),
            None => {}
        }
    }
    // What is not named is accepted without a coding.
    let plain = !weight("identity").is_some_and(is_refused);
    let any = READABLE.iter().filter_map(|coding| weight(coding));
    if asked.is_empty() || !plain && any.into_iter().all(is_refused) {
        return;
    }
    if left.is_empty() {
        left.push("identity".to_owned());
    }
    if let Ok(value) = HeaderValue::from_str(&left.join(", ")) {
        headers.insert(header::ACCEPT_ENCODING, value);
    }
}

/// Whether a configuration may give every request this field. Not one about the connection or the
/// length, which the gateway makes to fit, and none of its own.
#[must_use]
pub fn may_be_configured(name: &HeaderName) -> bool {
    let is_framing = HOP_BY_HOP.contains(&name.as_str()) && name != header::PROXY_AUTHORIZATION
        || [header::CONTENT_LENGTH, header::EXPECT].contains(name);
    !is_framing && !name.as_str().starts_with(OWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_looked_at_comes_in_a_coding_that_can_be_undone() {
        for (asked, left) in [
            (&["gzip, deflate, br, zstd"][..], Some("gzip, deflate")),
            (
                &["br", "gzip;q=0.8, identity; q=0.1"],
                Some("gzip;q=0.8, identity;q=0.1"),
            ),
            (&["br"], Some("identity")),
            (&["*"], Some("gzip, deflate, identity")),
            (&["GZIP, *;q=0"], Some("gzip, deflate;q=0, identity;q=0")),
            (&["br, identity;q=0"], Some("br, identity;q=0")),
            (&["br, *;q=0.0"], Some("br, *;q=0.0")),
            (&[""], Some("identity")),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in asked {
                headers.append("accept-encoding", value.parse().unwrap());
            }
            accept_what_can_be_read(&mut headers);
            let found: Vec<_> = headers.get_all("accept-encoding").iter().collect();
            let left: Vec<_> = left.into_iter().collect();
            assert_eq!(found, left, "{asked:?}");
        }
    }

    #[test]
    fn what_is_about_the_connection_or_made_by_a_gateway_does_not_pass() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Mine"),
            ("connection", "x-other"),
            ("x-mine", "1"),
            ("x-other", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("upgrade", "h2c"),
            ("transfer-encoding", "chunked"),
            ("fusewire-provider", "forged"),
            ("host", "here"),
            ("content-length", "3"),
            ("accept", "a"),
            ("accept", "b"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let sent = to_provider(&headers);
        let names: Vec<&str> = sent.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["accept", "accept", "via"]);
        assert!(end_to_end(&headers).contains_key("content-length"));
    }
}
