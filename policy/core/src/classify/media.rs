//! What an answer is, by its `content-type` and by its first bytes, and whether that is what the
//! caller can use.
//!
//! The gate stands behind the profile, whose rules know the service, and before the status, of which
//! a 200 says little: a page that says "We will be back soon", a report of an exception in place of
//! a tile, no bytes at all where there has to be a document.

use super::body::BODY_MAX;
use super::body::text::{contains, starts, trimmed};
use super::finding::{Again, Finding};
use crate::observation::{Media, Outcome, Response, named};

named!(
    /// What a body is by its first bytes.
    #[allow(missing_docs, reason = "each name is the form's own")]
    Magic {
        Empty = "empty",
        Png = "png",
        Jpeg = "jpeg",
        Gif = "gif",
        Webp = "webp",
        Tiff = "tiff",
        Bmp = "bmp",
        Avif = "avif",
        Svg = "svg",
        Pdf = "pdf",
        Gzip = "gzip",
        Html = "html",
        Xml = "xml",
        Json = "json",
        Other = "other",
    }
);

impl Magic {
    /// What these bytes are the beginning of.
    #[must_use]
    pub fn of(body: &[u8]) -> Self {
        const BINARY: &[(&[u8], Magic)] = &[
            (b"\x89PNG", Magic::Png),
            (b"\xff\xd8\xff", Magic::Jpeg),
            (b"GIF8", Magic::Gif),
            (b"II*\0", Magic::Tiff),
            (b"MM\0*", Magic::Tiff),
            (b"BM", Magic::Bmp),
            (b"%PDF", Magic::Pdf),
            (b"\x1f\x8b", Magic::Gzip),
        ];
        if body.is_empty() {
            return Self::Empty;
        }
        if let Some((_, magic)) = BINARY.iter().find(|(bytes, _)| body.starts_with(bytes)) {
            return *magic;
        }
        if body.starts_with(b"RIFF") && body.get(8..12) == Some(b"WEBP") {
            return Self::Webp;
        }
        if body.get(4..8) == Some(b"ftyp") && matches!(body.get(8..12), Some(b"avif" | b"avis")) {
            return Self::Avif;
        }
        let text = trimmed(body);
        match text.first() {
            Some(b'{' | b'[') => Self::Json,
            Some(b'<') => Self::of_markup(text),
            // A document may be a text, a number or a word.
            Some(b'"') => Self::Json,
            _ => Self::Other,
        }
    }

    fn of_markup(text: &[u8]) -> Self {
        const HTML: &[&[u8]] = &[
            b"<!doctype html",
            b"<html",
            b"<head",
            b"<body",
            b"<title",
            b"<h1",
            b"<h2",
            b"<p>",
            b"<br",
            b"<div",
            b"<center",
            b"<script",
        ];
        let beginning = text.get(..super::body::BEGINNING).unwrap_or(text);
        if HTML.iter().any(|tag| starts(text, tag)) || contains(beginning, "<html") {
            Self::Html
        } else if starts(text, b"<svg") || contains(beginning, "<svg") {
            Self::Svg
        } else {
            Self::Xml
        }
    }

    /// Whether this is a picture.
    #[must_use]
    pub fn is_image(self) -> bool {
        matches!(
            self,
            Self::Png
                | Self::Jpeg
                | Self::Gif
                | Self::Webp
                | Self::Tiff
                | Self::Bmp
                | Self::Avif
                | Self::Svg
        )
    }
}

/// Every header that is looked at here, in lower case.
pub(crate) const HEADERS: &[&str] = &["content-type", "content-encoding"];

/// The media type of an answer, without its parameters.
pub(crate) fn content_type(response: &Response) -> Option<&str> {
    let value = response.header("content-type")?;
    let media = value.split(';').next().unwrap_or_default().trim_ascii();
    (!media.is_empty()).then_some(media)
}

/// Whether a media type is one of a family (`json`, `xml`, `html`, `image`, `text`), or this one.
pub(crate) fn is_of(media: &str, family: &str) -> bool {
    let ends = |end: &str| {
        let at = media.len().saturating_sub(end.len());
        media
            .get(at..)
            .is_some_and(|tail| tail.eq_ignore_ascii_case(end))
    };
    let begins = |start: &str| starts(media.as_bytes(), start.as_bytes());
    match family {
        "json" => ends("/json") || ends("+json") || ends("/geojson") || ends("-json"),
        "xml" => ends("/xml") || ends("+xml") || ends("_xml"),
        "html" => ends("/html") || ends("/xhtml+xml"),
        "image" => begins("image/"),
        "text" => begins("text/"),
        other => media.eq_ignore_ascii_case(other),
    }
}

/// At most [`BODY_MAX`] bytes of the body, where it was looked at and is not in a coding that hides
/// them.
pub(crate) fn beginning(response: &Response) -> Option<&[u8]> {
    let body = response.body.as_deref()?;
    let body = body.get(..BODY_MAX).unwrap_or(body);
    let coded = response
        .header("content-encoding")
        .is_some_and(|coding| !coding.trim_ascii().eq_ignore_ascii_case("identity"));
    // A host that has decoded it may have left the field.
    match coded && matches!(Magic::of(body), Magic::Gzip | Magic::Other) {
        true => None,
        false => Some(body),
    }
}

/// Whether a good status came with something else than what is expected. The rule's name, and what
/// it finds.
pub(super) fn gate(response: &Response, expect: Media) -> Option<(&'static str, &'static Finding)> {
    if !matches!(response.status, 200..=299) || expect == Media::Any {
        return None;
    }
    if matches!(response.status, 204 | 205) {
        // A document that is not there is an answer; of a tile it says that there is none.
        return matches!(expect, Media::Image | Media::VectorTile).then_some((
            "media/no-content",
            const { &Finding::good(Outcome::NoResult, "the provider has nothing there") },
        ));
    }
    let body = beginning(response);
    // Nobody has seen a body of an answer to HEAD: its stated length is another answer's.
    let magic = body.map(Magic::of);
    if magic == Some(Magic::Empty) {
        return Some(match expect {
            Media::VectorTile => (
                "media/empty",
                const { &Finding::good(Outcome::NoResult, "the tile is empty, as it may be") },
            ),
            _ => (
                "media/empty",
                const { &unusable("the answer is empty where there has to be something") },
            ),
        });
    }
    let media = content_type(response);
    let said = |family| media.is_some_and(|media| is_of(media, family));
    let is_page = magic == Some(Magic::Html)
        || (said("html") && magic != Some(Magic::Json))
        || body.is_some_and(|body| media.is_none() && contains(body, "</html"));
    let wrong = match (expect, magic) {
        (Media::Any, _) => false,
        (Media::Json, Some(Magic::Json)) | (Media::Xml, Some(Magic::Xml | Magic::Svg)) => false,
        (Media::Json, Some(Magic::Other)) => !body.is_some_and(begins_a_scalar),
        (Media::Xml, Some(Magic::Other)) => !body.is_some_and(begins_in_utf_16),
        (Media::Json, None) => said("html") || said("xml") || said("image"),
        (Media::Xml, None) => said("html") || said("json") || said("image"),
        (Media::Image, Some(magic)) if magic.is_image() => false,
        (Media::Image, Some(Magic::Other | Magic::Gzip | Magic::Pdf))
        | (Media::VectorTile, Some(Magic::Other | Magic::Gzip)) => body.is_some_and(is_text),
        (Media::Image | Media::VectorTile, None) => {
            said("html") || said("json") || (said("xml") && !said("image"))
        }
        (_, Some(_)) => true,
    };
    if is_page {
        return Some((
            "media/page",
            const { &unusable("the answer is a page for people") },
        ));
    }
    wrong.then_some((
        "media/other",
        const { &unusable("the answer is not what was asked for, whatever its status says") },
    ))
}

/// Whether this may be a JSON document that is neither list, object nor text, or one behind the
/// guard that some services put before theirs.
fn begins_a_scalar(body: &[u8]) -> bool {
    let text = trimmed(body);
    matches!(text.first(), Some(b'-' | b'0'..=b'9'))
        || [&b"true"[..], b"false", b"null", b")]}'"]
            .iter()
            .any(|word| text.starts_with(word))
}

fn begins_in_utf_16(body: &[u8]) -> bool {
    body.starts_with(b"\xff\xfe") || body.starts_with(b"\xfe\xff")
}

/// Whether this is text for people, by its first characters: pictures and tiles are not.
fn is_text(body: &[u8]) -> bool {
    let beginning = body.get(..16).unwrap_or(body);
    let is_letter = |b: &u8| b.is_ascii_graphic() || b.is_ascii_whitespace();
    beginning.iter().all(is_letter)
}

const fn unusable(reason: &'static str) -> Finding {
    Finding::transient(Again::IfIdempotent, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Field;

    fn passes(expect: Media, media: &str, body: Option<&[u8]>) -> Option<&'static str> {
        let mut response = Response::status(200);
        if !media.is_empty() {
            response.headers.push(Field {
                name: "Content-Type".into(),
                value: media.into(),
            });
        }
        response.body = body.map(<[u8]>::to_vec);
        gate(&response, expect).map(|(rule, _)| rule)
    }

    #[test]
    fn what_is_expected_passes_by_its_bytes_or_by_its_media_type() {
        for (expect, media, body) in [
            (Media::Any, "text/html", Some(&b"<html>"[..])),
            (
                Media::Json,
                "application/json; charset=utf-8",
                Some(b" {\"a\": 1}"),
            ),
            (Media::Json, "text/plain", Some(b"[]")),
            (Media::Json, "application/geo+json", None),
            (Media::Json, "application/json", Some(b"12")),
            (Media::Json, "application/json", Some(b"null")),
            (Media::Json, "application/json", Some(b")]}'\n{\"a\": 1}")),
            (Media::Xml, "text/xml", Some(b"\xff\xfe<\0")),
            (Media::Json, "text/html", Some(b"{}")),
            (
                Media::Xml,
                "application/vnd.ogc.wms_xml",
                Some(b"<WMS_Capabilities>"),
            ),
            (Media::Image, "image/png", Some(b"\x89PNG\r\n\x1a\n")),
            (Media::Image, "image/png", Some(b"\x89PNG")),
            (
                Media::Image,
                "application/octet-stream",
                Some(b"\xff\xd8\xff\xe0"),
            ),
            (
                Media::Image,
                "image/svg+xml",
                Some(b"<?xml version=\"1.0\"?><svg>"),
            ),
            (Media::Image, "image/svg+xml", None),
            (Media::Image, "image/x-unheard-of", Some(b"\x01\x02")),
            (
                Media::VectorTile,
                "application/x-protobuf",
                Some(b"\x1a\x05"),
            ),
            (
                Media::VectorTile,
                "application/vnd.mapbox-vector-tile",
                Some(b"\x1f\x8b\x08"),
            ),
        ] {
            assert_eq!(
                passes(expect, media, body),
                None,
                "{expect} {media} {body:?}"
            );
        }
    }

    #[test]
    fn what_is_not_expected_does_not_pass_whatever_it_says_it_is() {
        for (expect, media, body, rule) in [
            (
                Media::Json,
                "text/html",
                Some(&b"<!doctype html><title>Back soon"[..]),
                "media/page",
            ),
            (
                Media::Json,
                "application/json",
                Some(b"<html>"),
                "media/page",
            ),
            (Media::Json, "application/json", Some(b""), "media/empty"),
            (Media::Json, "text/html", None, "media/page"),
            (Media::Xml, "text/xml", Some(b"{}"), "media/other"),
            (
                Media::Image,
                "image/png",
                Some(b"<!DOCTYPE html>"),
                "media/page",
            ),
            (
                Media::Image,
                "image/png",
                Some(b"<?xml version=\"1.0\"?><E/>"),
                "media/other",
            ),
            (Media::Image, "text/xml", None, "media/other"),
            (
                Media::Image,
                "application/json",
                Some(b"{\"error\":1}"),
                "media/other",
            ),
            (Media::Image, "image/png", Some(b""), "media/empty"),
            (
                Media::Image,
                "text/plain",
                Some(b"tile not found"),
                "media/other",
            ),
            (
                Media::Json,
                "text/plain",
                Some(b"Service unavailable"),
                "media/other",
            ),
            (
                Media::Json,
                "application/json",
                Some(b"Too many requests"),
                "media/other",
            ),
            (Media::Xml, "text/xml", Some(b"ORA-12541"), "media/other"),
            (
                Media::VectorTile,
                "application/x-protobuf",
                Some(b"<html>"),
                "media/page",
            ),
            (
                Media::VectorTile,
                "application/x-protobuf",
                Some(b""),
                "media/empty",
            ),
        ] {
            assert_eq!(
                passes(expect, media, body),
                Some(rule),
                "{expect} {media} {body:?}"
            );
        }
    }

    #[test]
    fn a_body_in_a_coding_is_not_taken_for_the_wrong_thing() {
        let mut response = Response::status(200);
        response.headers.push(Field {
            name: "content-encoding".into(),
            value: "gzip".into(),
        });
        response.body = Some(b"\x1f\x8b\x08\0".to_vec());
        assert!(gate(&response, Media::Json).is_none());
        response.body = Some(b"{}".to_vec());
        assert_eq!(beginning(&response), Some(&b"{}"[..]));
    }
}
