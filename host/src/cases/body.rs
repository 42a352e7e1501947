//! Bodies: written as a text, and saved as they came.

use std::io::Read;

use flate2::read::{GzDecoder, ZlibDecoder};

/// The most of a body that a policy is handed, in bytes: the contract's.
pub(super) const LOOKED_AT: usize = 64 << 10;

/// The bytes that this text stands for. JSON has no bytes, so that a PNG is often written with each
/// byte as the character of its number (Latin-1). Such a text has control characters from U+0080
/// to U+009F, which no other text has, and nothing above U+00FF.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    let numbers: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
    match numbers {
        Some(numbers) if numbers.iter().any(|byte| (0x80..0xa0).contains(byte)) => numbers,
        _ => text.as_bytes().to_vec(),
    }
}

/// Whether HTTP has a body after this method and with this status (RFC 9112, section 6.3).
pub(super) fn has_body(method: Option<&str>, status: u16) -> bool {
    let head = method.is_some_and(|method| method.eq_ignore_ascii_case("HEAD"));
    !head && !matches!(status, 100..=199 | 204 | 304)
}

/// A body that was saved, decoded as its content coding says and no longer than a policy looks.
/// `None` where it cannot be decoded. A tool that has decoded it already leaves the field as it
/// was, so that the bytes themselves are asked.
pub(super) fn decoded(bytes: &[u8], coding: Option<&str>) -> Option<Vec<u8>> {
    let mut coding = coding.unwrap_or_default().trim_ascii().to_ascii_lowercase();
    if coding == "x-gzip" {
        coding = "gzip".into();
    }
    let is_zlib = matches!(bytes, [0x78, second, ..]
        if (0x7800 | u16::from(*second)).is_multiple_of(31));
    match coding.as_str() {
        "gzip" if bytes.starts_with(&[0x1f, 0x8b]) => beginning(GzDecoder::new(bytes)),
        "deflate" if is_zlib => beginning(ZlibDecoder::new(bytes)),
        "" | "identity" | "gzip" | "deflate" => beginning(bytes),
        _ => std::str::from_utf8(bytes)
            .ok()
            .and_then(|text| beginning(text.as_bytes())),
    }
}

/// As much as a policy looks at; of a stream that breaks off, what there is of it.
fn beginning(stream: impl Read) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = stream.take(LOOKED_AT as u64).read_to_end(&mut bytes);
    (read.is_ok() || !bytes.is_empty()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};

    use super::*;

    #[test]
    fn a_saved_body_is_decoded_where_that_is_still_to_be_done() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(b"{\"a\": 1}").unwrap();
        let gzip = gzip.finish().unwrap();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(b"{\"a\": 1}").unwrap();
        let zlib = zlib.finish().unwrap();
        let whole = Some(b"{\"a\": 1}".to_vec());
        assert_eq!(decoded(&gzip, Some("GZIP")), whole);
        assert_eq!(decoded(&zlib, Some("deflate")), whole);
        for coding in [
            None,
            Some("gzip"),
            Some("deflate"),
            Some("br"),
            Some("identity"),
        ] {
            assert_eq!(decoded(b"{\"a\": 1}", coding), whole, "{coding:?}");
        }
        assert_eq!(decoded(b"\x0b\x02\x80 brotli", Some("br")), None);
        assert_eq!(decoded(&gzip[..4], Some("gzip")), None);
    }

    #[test]
    fn a_small_body_that_decodes_to_a_large_one_is_cut_off() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&vec![b' '; 8 << 20]).unwrap();
        let body = decoded(&gzip.finish().unwrap(), Some("gzip")).unwrap();
        assert_eq!(body.len(), LOOKED_AT);
    }

    #[test]
    fn a_text_of_bytes_is_those_bytes_and_any_other_is_utf_8() {
        assert_eq!(
            bytes("\u{89}PNG\r\n\u{1a}\n\u{ff}"),
            b"\x89PNG\r\n\x1a\n\xff"
        );
        assert_eq!(bytes("Zürich"), "Zürich".as_bytes());
        assert_eq!(bytes("\u{89}東京"), "\u{89}東京".as_bytes());
        assert_eq!(bytes(""), b"");
    }
}
