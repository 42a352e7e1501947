//! What an artefact is known by: the SHA-256 of its bytes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::Digest as _;

/// What the text of a digest begins with.
const ALGORITHM: &str = "sha256:";

/// The SHA-256 of an artefact's bytes. As a text: `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The first twelve hexadecimal digits: enough for people to tell policies apart, and too few
    /// to trust one by.
    #[must_use]
    pub fn short(&self) -> String {
        self.hex().chars().take(12).collect()
    }

    /// The 64 hexadecimal digits alone, such as for a file's name.
    #[must_use]
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ALGORITHM}{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no digest: write `sha256:` and 64 hexadecimal digits")]
pub struct NoDigest(String);

impl FromStr for Digest {
    type Err = NoDigest;

    /// Reads `sha256:` and 64 hexadecimal digits, in either case.
    fn from_str(text: &str) -> Result<Self, NoDigest> {
        let refused = || NoDigest(text.to_owned());
        let hex = text.strip_prefix(ALGORITHM).ok_or_else(refused)?;
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(refused());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| refused())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| refused())?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_sha_256_as_everyone_computes_it() {
        // FIPS 180-2, appendix B.1.
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let digest = Digest::of(b"abc");
        assert_eq!(digest.to_string(), text);
        assert_eq!(digest.short(), "ba7816bf8f01");
        assert_eq!(text.parse(), Ok(digest));
        assert_eq!(
            text.to_uppercase().replace("SHA256", "sha256").parse(),
            Ok(digest)
        );
    }

    #[test]
    fn a_text_that_is_no_digest_is_refused_with_what_would_be() {
        let good = Digest::of(b"abc").to_string();
        for text in [
            "",
            "sha256:",
            "ba7816bf8f01",
            &good[..good.len() - 1],
            &format!("{good}0"),
            &good.replace("sha256", "sha512"),
            &good.replace("ba", "+a"),
            &good.replace("ba78", "ü78"),
        ] {
            let error = text.parse::<Digest>().expect_err(text).to_string();
            assert!(error.contains("64 hexadecimal digits"), "{error}");
        }
    }

    #[test]
    fn it_is_kept_as_its_text() {
        let digest = Digest::of(b"abc");
        let json = serde_json::to_string(&digest).expect("a text");
        assert_eq!(json, format!("\"{digest}\""));
        assert_eq!(
            serde_json::from_str::<Digest>(&json).expect("read back"),
            digest
        );
    }
}
