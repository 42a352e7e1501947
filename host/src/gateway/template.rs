//! Where a request goes: a URL with places that each request fills in.
//!
//! | in the template | becomes |
//! |---|---|
//! | `{name}` | the request's query parameter `name`, percent-encoded; without it the request is refused |
//! | `{name=text}` | the same, with `text` where the request has none |
//! | `{path}` | the rest of the request's path after the route's, as it was written |
//! | `{query}` | the whole query string, as it was written |
//!
//! The scheme and the host are fixed: no request decides whom it is sent to. Nor does one leave
//! the path that the template begins with, so dot segments are refused.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;

/// What is percent-encoded in a value: everything but RFC 3986's unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A URL with places that each request fills in. The default fits no request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Parameter {
        name: String,
        default: Option<String>,
    },
    Path,
    Query,
}

/// What is wrong with a template, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// What is wrong.
    pub wrong: String,
    /// What would be right.
    pub right: String,
}

/// Why a request does not fit a template: the fault is the caller's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A query parameter is missing.
    #[error("the query parameter `{0}` is missing")]
    Missing(String),
    /// The path has `.` or `..` in it.
    #[error("the path has a segment that is `.` or `..`")]
    DotSegment,
    /// The result is not a URL.
    #[error("the request makes no URL: {0}")]
    NoUrl(String),
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let parts = parts(text)?;
        let template = Self { parts };
        template.check()?;
        Ok(template)
    }

    /// The URL for a request with this rest of its path and this query string.
    ///
    /// # Errors
    /// The request does not fit.
    pub fn fill(&self, rest: &str, query: &str) -> Result<Url, Unfit> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(fixed) => text.push_str(fixed),
                Part::Path => text.push_str(rest),
                Part::Query => text.push_str(query),
                Part::Parameter { name, default } => {
                    let given = form_urlencoded::parse(query.as_bytes()).find(|(n, _)| n == name);
                    let value = match (given, default) {
                        (Some((_, value)), _) => value,
                        (None, Some(default)) => default.into(),
                        (None, None) => return Err(Unfit::Missing(name.clone())),
                    };
                    text.extend(utf8_percent_encode(&value, RESERVED));
                }
            }
        }
        // A query that nobody sent leaves nothing behind: `/x?` is another address than `/x`.
        if query.is_empty() && self.parts.last() == Some(&Part::Query) && text.ends_with('?') {
            text.pop();
        }
        if has_dot_segment(&text) {
            return Err(Unfit::DotSegment);
        }
        Url::parse(&text).map_err(|error| Unfit::NoUrl(error.to_string()))
    }

    /// Whether it is asked with TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        matches!(self.parts.first(), Some(Part::Text(text)) if text.to_ascii_lowercase().starts_with("https:"))
    }

    /// Whether a request's parts can be filled in without changing whom it is sent to.
    fn check(&self) -> Result<(), Malformed> {
        const FORM: &str =
            r#"write a URL such as "https://geo.example/search?q={q}", with the host in full"#;
        let Some(Part::Text(fixed)) = self.parts.first() else {
            return Err(malformed(
                "it does not begin with a scheme and a host",
                FORM,
            ));
        };
        let after_scheme = fixed.split_once("://").map_or("", |(_, rest)| rest);
        if self.parts.len() > 1 && !after_scheme.contains(['/', '?']) {
            return Err(malformed("its host depends on the request", FORM));
        }
        let url = Url::parse(fixed)
            .map_err(|error| malformed(format!("it does not begin as a URL: {error}"), FORM))?;
        if !matches!(url.scheme(), "http" | "https") {
            let wrong = format!("its scheme is `{}`", url.scheme());
            return Err(malformed(wrong, "write http or https"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(malformed(
                "it has a user name or password in it",
                r#"write `headers = { authorization = "env:NAME" }`"#,
            ));
        }
        let mut in_query = false;
        for part in &self.parts {
            match part {
                Part::Text(text) if text.contains('#') => {
                    return Err(malformed(
                        "it has a fragment, which is never sent",
                        "leave it out",
                    ));
                }
                Part::Text(text) => in_query |= text.contains('?'),
                Part::Path if in_query => {
                    return Err(malformed(
                        "`{path}` comes after the `?`",
                        "put it before the `?`",
                    ));
                }
                Part::Query if !in_query => {
                    return Err(malformed(
                        "`{query}` comes before the `?`",
                        "put it after a `?`",
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn parts(text: &str) -> Result<Vec<Part>, Malformed> {
    const ESCAPE: &str = "write %7B and %7D for braces that are meant literally";
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (fixed, tail) = rest.split_at(at);
        if !fixed.is_empty() {
            parts.push(Part::Text(fixed.into()));
        }
        let Some((name, tail)) = tail.strip_prefix('{').and_then(|t| t.split_once('}')) else {
            return Err(malformed("a brace has no partner", ESCAPE));
        };
        parts.push(placeholder(name)?);
        rest = tail;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.into()));
    }
    Ok(parts)
}

fn placeholder(inside: &str) -> Result<Part, Malformed> {
    let (name, default) = match inside.split_once('=') {
        Some((name, default)) => (name, Some(default.to_owned())),
        None => (inside, None),
    };
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    match (name, default) {
        ("path", None) => Ok(Part::Path),
        ("query", None) => Ok(Part::Query),
        (name, default) if is_name && !matches!(name, "path" | "query") => Ok(Part::Parameter {
            name: name.into(),
            default,
        }),
        _ => Err(malformed(
            format!("`{{{inside}}}` is not something that can be filled in"),
            "write {name} or {name=default} for a query parameter, {path}, or {query}",
        )),
    }
}

fn malformed(wrong: impl Into<String>, right: &str) -> Malformed {
    Malformed {
        wrong: wrong.into(),
        right: right.into(),
    }
}

/// Whether the path of a URL has a segment that URL parsers resolve: `.`, `..`, and both with
/// `%2e` for a dot (WHATWG URL, section 4.1). A backslash separates segments there as well.
fn has_dot_segment(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.split(['/', '\\']).any(|segment| {
        matches!(
            segment.to_ascii_lowercase().replace("%2e", ".").as_str(),
            "." | ".."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(template: &str, rest: &str, query: &str) -> Result<String, Unfit> {
        let template = Template::parse(template).unwrap();
        template.fill(rest, query).map(String::from)
    }

    #[test]
    fn a_request_fills_in_its_parameters_encoded_and_its_path_and_query_as_they_are() {
        let search = "http://h/search?q={q}&lang={lang=en}";
        assert_eq!(
            fill(search, "", "q=caf%C3%A9+%26+bar").unwrap(),
            "http://h/search?q=caf%C3%A9%20%26%20bar&lang=en"
        );
        assert_eq!(
            fill("http://h/t/{path}?key=1&{query}", "3/4%2F5.png", "a=b&c").unwrap(),
            "http://h/t/3/4%2F5.png?key=1&a=b&c"
        );
        assert_eq!(fill(search, "", "lang=de"), Err(Unfit::Missing("q".into())));
        let through = |query| fill("http://h/{path}?{query}", "x", query).unwrap();
        assert_eq!(
            (through("a=b"), through("")),
            ("http://h/x?a=b".into(), "http://h/x".into())
        );
    }

    #[test]
    fn no_request_leaves_the_path_that_the_template_begins_with() {
        for rest in ["../admin", "a/%2E%2e/b", "a/./b", "..\\admin"] {
            let filled = fill("http://h/tiles/{path}", rest, "");
            assert_eq!(filled, Err(Unfit::DotSegment), "{rest}");
        }
        let filled = fill("http://h/{layer}/x", "", "layer=..");
        assert_eq!(filled, Err(Unfit::DotSegment));
        assert!(fill("http://h/{layer}/x", "", "layer=a/../../b").is_ok());
        assert!(fill("http://h/{path}", "a..b/...", "x=..").is_ok());
    }

    #[test]
    fn a_template_that_would_let_the_request_choose_the_host_is_refused() {
        for text in [
            "{q}",
            "http://{host}/x",
            "http://h{port}/",
            "http://h:{port}/",
            "http://h",
            "ftp://h/x",
            "h/x",
            "http://me:secret@h/",
            "http://h/#x",
            "http://h/{}",
            "http://h/{a b}",
            "http://h/{path=x}",
            "http://h/{query}",
            "http://h/?{path}",
            "http://h/{q",
            "http://h/q}",
        ] {
            let refused = Template::parse(text).is_err();
            assert_eq!(refused, text != "http://h", "{text}");
        }
    }
}
