//! The beginning of a body, as a policy looks at it.
//!
//! Taken from the parts as they come, decoded as the content coding says, and no more of it than is
//! wanted: a few bytes can stand for a gigabyte. What is passed on to callers is another matter, and
//! stays as it came.

use std::io::{self, Write};
use std::mem;

use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::header::{self, HeaderMap};

/// The beginning of a body.
#[derive(Debug)]
pub(super) struct Look {
    coding: Coding,
    /// Whether there was any body so far: an empty one is empty in every coding.
    begun: bool,
}

#[derive(Debug)]
enum Coding {
    Identity(Beginning),
    Gzip(Box<MultiGzDecoder<Beginning>>),
    /// Of `deflate`, until there is enough to tell which of the two it is.
    Deflate(Vec<u8>, Beginning),
    Zlib(Box<ZlibDecoder<Beginning>>),
    Raw(Box<DeflateDecoder<Beginning>>),
    /// As much as is wanted is there.
    Full(Vec<u8>),
    /// It cannot be decoded.
    Unknown,
}

/// What has been decoded so far.
#[derive(Debug)]
struct Beginning {
    bytes: Vec<u8>,
    most: usize,
}

impl Beginning {
    fn is_full(&self) -> bool {
        self.bytes.len() >= self.most
    }
}

impl Write for Beginning {
    /// Takes what there is room for. Nothing taken is an error to who decodes, and ends that.
    fn write(&mut self, decoded: &[u8]) -> io::Result<usize> {
        let room = self.most.saturating_sub(self.bytes.len());
        let taken = decoded.get(..room).unwrap_or(decoded);
        self.bytes.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Look {
    /// Begins to look at an answer with these fields; at so many bytes of its body.
    pub(super) fn new(headers: &HeaderMap, most: usize) -> Self {
        let beginning = Beginning {
            bytes: Vec::new(),
            most,
        };
        let mut codings = headers
            .get_all(header::CONTENT_ENCODING)
            .iter()
            .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
            .map(|coding| coding.trim_ascii().to_ascii_lowercase())
            .filter(|coding| !coding.is_empty() && coding != b"identity");
        let coding = match (codings.next().as_deref(), codings.next()) {
            (None, _) => Coding::Identity(beginning),
            (Some(b"gzip" | b"x-gzip"), None) => {
                Coding::Gzip(Box::new(MultiGzDecoder::new(beginning)))
            }
            (Some(b"deflate"), None) => Coding::Deflate(Vec::new(), beginning),
            _ => Coding::Unknown,
        };
        Self {
            coding,
            begun: false,
        }
    }

    /// Takes the next part.
    pub(super) fn take(&mut self, part: &[u8]) {
        if part.is_empty() {
            return;
        }
        self.begun = true;
        self.coding = mem::replace(&mut self.coding, Coding::Unknown).taken(part);
    }

    /// Notes that the body has ended as it should: what is coded is checked as a whole.
    pub(super) fn end(&mut self) {
        if self.begun {
            self.coding = mem::replace(&mut self.coding, Coding::Unknown).ended();
        }
    }

    /// What there is to be looked at so far. `None`: it cannot be decoded.
    pub(super) fn seen(&self) -> Option<&[u8]> {
        match &self.coding {
            Coding::Unknown if self.begun => None,
            Coding::Unknown => Some(&[]),
            Coding::Identity(beginning) | Coding::Deflate(_, beginning) => Some(&beginning.bytes),
            Coding::Gzip(decoder) => Some(&decoder.get_ref().bytes),
            Coding::Zlib(decoder) => Some(&decoder.get_ref().bytes),
            Coding::Raw(decoder) => Some(&decoder.get_ref().bytes),
            Coding::Full(bytes) => Some(bytes),
        }
    }

    /// Whether more of the body would change what is seen.
    pub(super) fn is_over(&self) -> bool {
        match &self.coding {
            Coding::Identity(beginning) => beginning.is_full(),
            Coding::Full(_) | Coding::Unknown => true,
            _ => false,
        }
    }
}

impl Coding {
    fn taken(self, part: &[u8]) -> Self {
        match self {
            Self::Identity(mut beginning) => {
                // What does not fit is not wanted.
                let _ = beginning.write(part);
                Self::Identity(beginning)
            }
            Self::Gzip(mut decoder) => match fed(&mut decoder, part) {
                Err(_) => Self::of_failed(decoder.get_mut()),
                Ok(()) => Self::Gzip(decoder),
            },
            Self::Zlib(mut decoder) => match fed(&mut decoder, part) {
                Err(_) => Self::of_failed(decoder.get_mut()),
                Ok(()) => Self::Zlib(decoder),
            },
            Self::Raw(mut decoder) => match fed(&mut decoder, part) {
                Err(_) => Self::of_failed(decoder.get_mut()),
                Ok(()) => Self::Raw(decoder),
            },
            Self::Deflate(mut start, beginning) => {
                start.extend_from_slice(part);
                match *start {
                    [first, second, ..] if is_zlib(first, second) => {
                        Self::Zlib(Box::new(ZlibDecoder::new(beginning))).taken(&start)
                    }
                    [_, _, ..] => Self::Raw(Box::new(DeflateDecoder::new(beginning))).taken(&start),
                    _ => Self::Deflate(start, beginning),
                }
            }
            Self::Full(_) | Self::Unknown => self,
        }
    }

    fn ended(self) -> Self {
        match self {
            Self::Gzip(mut decoder) => {
                let ended = decoder.try_finish();
                Self::of_ended(ended, decoder.get_mut())
            }
            Self::Zlib(mut decoder) => {
                let ended = decoder.try_finish();
                Self::of_ended(ended, decoder.get_mut())
            }
            Self::Raw(mut decoder) => {
                let ended = decoder.try_finish();
                Self::of_ended(ended, decoder.get_mut())
            }
            // One byte is no coding.
            Self::Deflate(..) => Self::Unknown,
            other => other,
        }
    }

    fn of_ended(ended: io::Result<()>, beginning: &mut Beginning) -> Self {
        match ended {
            Ok(()) => Self::Full(mem::take(&mut beginning.bytes)),
            Err(_) => Self::of_failed(beginning),
        }
    }

    /// What remains of a decoder that cannot go on: where there was no more room, all is well.
    fn of_failed(beginning: &mut Beginning) -> Self {
        match beginning.is_full() {
            true => Self::Full(mem::take(&mut beginning.bytes)),
            false => Self::Unknown,
        }
    }
}

/// Decodes a part, and as much of it as can be had without the next.
fn fed(decoder: &mut impl Write, mut part: &[u8]) -> io::Result<()> {
    while !part.is_empty() {
        match decoder.write(part)? {
            // What follows the coded body is not the body.
            0 => break,
            taken => part = part.get(taken..).unwrap_or_default(),
        }
    }
    decoder.flush()
}

/// Whether `deflate` begins with zlib's header, as it should (RFC 9110, section 8.4.1.2; RFC 1950,
/// section 2.2). Some servers leave it out.
fn is_zlib(first: u8, second: u8) -> bool {
    first & 0x0f == 8 && (u16::from(first) << 8 | u16::from(second)).is_multiple_of(31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    const TEXT: &[u8] = br#"{"status": "OVER_QUERY_LIMIT", "results": []}"#;

    fn coded(coding: &str, text: &[u8]) -> Vec<u8> {
        macro_rules! with {
            ($encoder:ident) => {{
                let mut encoder = $encoder::new(Vec::new(), Compression::best());
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }};
        }
        match coding {
            "gzip" | "x-gzip" | "GZIP" => with!(GzEncoder),
            "deflate" => with!(ZlibEncoder),
            "raw" => with!(DeflateEncoder),
            _ => text.to_vec(),
        }
    }

    fn look(coding: &str, most: usize) -> Look {
        let mut headers = HeaderMap::new();
        let name = if coding == "raw" { "deflate" } else { coding };
        headers.insert(header::CONTENT_ENCODING, name.parse().unwrap());
        Look::new(&headers, most)
    }

    fn whole(coding: &str, body: &[u8], most: usize, size: usize) -> Option<Vec<u8>> {
        let mut look = look(coding, most);
        body.chunks(size).for_each(|part| look.take(part));
        look.end();
        look.seen().map(<[u8]>::to_vec)
    }

    #[test]
    fn every_coding_is_undone_however_it_is_cut_into_parts() {
        for coding in ["identity", "gzip", "x-gzip", "GZIP", "deflate", "raw"] {
            let body = coded(coding, TEXT);
            for size in [1, 2, 7, body.len()] {
                let seen = whole(coding, &body, 1_000, size);
                assert_eq!(seen.as_deref(), Some(TEXT), "{coding} by {size}");
                let seen = whole(coding, &body, 10, size);
                assert_eq!(seen.as_deref(), Some(&TEXT[..10]), "{coding} by {size}");
            }
        }
        let twice = [coded("gzip", b"one, "), coded("gzip", b"two")].concat();
        assert_eq!(
            whole("gzip", &twice, 100, 3).as_deref(),
            Some(&b"one, two"[..])
        );
    }

    #[test]
    fn what_comes_is_seen_as_soon_as_it_can_be_decoded() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(b"data: 1\n\n").unwrap();
        encoder.flush().unwrap();
        let mut look = look("gzip", 1_000);
        look.take(encoder.get_ref());
        assert_eq!(look.seen(), Some(&b"data: 1\n\n"[..]));
    }

    #[test]
    fn a_few_bytes_that_stand_for_many_are_decoded_as_far_as_they_are_wanted() {
        let bomb = coded("gzip", &vec![b'x'; 64 << 20]);
        let mut look = look("gzip", 1_000);
        look.take(&bomb);
        assert_eq!(look.seen().map(<[u8]>::len), Some(1_000));
        assert!(look.is_over());
    }

    #[test]
    fn what_cannot_be_decoded_is_not_seen_and_an_empty_body_is_empty() {
        let good = coded("gzip", TEXT);
        let cut = &good[..good.len() - 1];
        let mut changed = good.clone();
        let sum = changed.len() - 8;
        changed[sum] ^= 1;
        for (coding, body) in [
            ("br", TEXT),
            ("gzip, gzip", &good),
            ("gzip", TEXT),
            ("gzip", cut),
            ("gzip", &changed),
            ("deflate", b"x"),
            ("deflate", b"\x78\x9c broken"),
        ] {
            assert_eq!(whole(coding, body, 1_000, 5), None, "{coding}");
        }
        for coding in ["identity", "gzip", "deflate", "br"] {
            assert_eq!(
                whole(coding, b"", 1_000, 1).as_deref(),
                Some(&b""[..]),
                "{coding}"
            );
        }
        let mut broken_off = look("gzip", 1_000);
        broken_off.take(cut);
        assert_eq!(broken_off.seen(), Some(TEXT), "what had come of it");
    }
}
