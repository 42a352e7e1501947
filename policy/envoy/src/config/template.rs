//! Path templates: which segment of a path names the operation.

/// A pattern of a path with one segment that names the operation, such as
/// `/v1/{operation}/*/**`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    segments: Vec<Segment>,
    /// Whether any number of segments may follow.
    open: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Literal(String),
    Any,
    Operation,
}

/// What a template looks like, for messages.
pub const FORM: &str = "write a path with one segment `{operation}`; of the others, `*` is any \
                        segment, and `**` at the end is all that follow";

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some(rest) = text.strip_prefix('/') else {
            return Err("it does not begin with `/`".into());
        };
        let (rest, open) = match rest.strip_suffix("**") {
            Some(rest) if rest.is_empty() || rest.ends_with('/') => {
                (rest.strip_suffix('/').unwrap_or(rest), true)
            }
            _ => (rest, false),
        };
        let mut segments = Vec::new();
        for segment in rest.split('/') {
            segments.push(match segment {
                "{operation}" => Segment::Operation,
                "*" => Segment::Any,
                "**" => return Err("`**` stands before its end".into()),
                other if other.contains(['{', '}', '*', '?', '#']) => {
                    return Err(format!("the segment `{other}` is none"));
                }
                other => Segment::Literal(other.to_owned()),
            });
        }
        match segments
            .iter()
            .filter(|s| **s == Segment::Operation)
            .count()
        {
            1 => Ok(Self { segments, open }),
            0 => Err("it has no segment `{operation}`".into()),
            _ => Err("it has more than one segment `{operation}`".into()),
        }
    }

    /// The operation that a path names; `None`: the path is another. The query is no part of it.
    #[must_use]
    pub fn operation<'p>(&self, path: &'p str) -> Option<&'p str> {
        let path = path.split(['?', '#']).next()?.strip_prefix('/')?;
        let mut operation = None;
        let mut found = path.split('/');
        for segment in &self.segments {
            let text = found.next()?;
            match segment {
                Segment::Literal(literal) if literal == text => {}
                Segment::Literal(_) => return None,
                Segment::Any => {}
                Segment::Operation => operation = Some(text),
            }
        }
        if !self.open && found.next().is_some() {
            return None;
        }
        operation.filter(|name| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_segment_in_braces_names_the_operation() {
        for (template, path, operation) in [
            ("/v1/{operation}/*", "/v1/tiles/7", Some("tiles")),
            ("/v1/{operation}/*", "/v1/tiles/7?x=/8", Some("tiles")),
            ("/v1/{operation}/*", "/v1/tiles", None),
            ("/v1/{operation}/*", "/v1/tiles/7/8", None),
            ("/v1/{operation}/*", "/v2/tiles/7", None),
            ("/{operation}", "/search", Some("search")),
            ("/{operation}", "/", None),
            ("/{operation}", "", None),
            ("/{operation}/**", "/maps", Some("maps")),
            ("/{operation}/**", "/maps/7/8/9", Some("maps")),
            ("/*/{operation}/**", "/a/b/c", Some("b")),
            ("/{operation}", "*", None),
        ] {
            let template = Template::parse(template).unwrap();
            assert_eq!(
                template.operation(path),
                operation,
                "{template:?} on {path:?}"
            );
        }
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for text in [
            "",
            "v1/{operation}",
            "/v1",
            "/{operation}/{operation}",
            "/**/{operation}",
            "/{layer}",
            "/v*/{operation}",
            "/**",
        ] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(template: String, path: String) {
            if let Ok(template) = Template::parse(&template) {
                let _ = template.operation(&path);
            }
        }
    }
}
