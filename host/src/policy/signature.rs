//! Signatures of [minisign](https://jedisct1.github.io/minisign/): Ed25519 over the artefact's
//! bytes, or over their BLAKE2b-512 (what the tool makes by default), with a comment that is signed
//! as well. Keys and signatures are the tool's own files, in either direction.

use std::fmt;
use std::io::Cursor;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// The first two bytes of a key: the only kind there is.
const ED25519: &[u8] = b"Ed";

/// How the secret half of a key is kept: its bytes 2 and 3.
const UNENCRYPTED: &[u8] = &[0, 0];
const ENCRYPTED: &[u8] = b"Sc";

/// The length of a secret key in its file, before Base64, and of the checksum that it ends with.
const SECRET_BYTES: usize = 158;
const CHECKSUM_BYTES: usize = 32;

/// The length of an Ed25519 signature.
const SIGNATURE_BYTES: usize = 64;

/// A key that signatures are verified with. As a text: the second line of its file, 56 characters
/// of Base64.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey(minisign::PublicKey);

impl PublicKey {
    /// Its number, as minisign writes it.
    #[must_use]
    pub fn id(&self) -> String {
        id(self.0.keynum())
    }

    /// The text of its file, to the letter as minisign writes it.
    #[must_use]
    pub fn file(&self) -> String {
        format!(
            "untrusted comment: minisign public key {}\n{self}\n",
            self.id()
        )
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_base64())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

/// A text that is no public key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a public key of minisign: write the second line of its file (56 characters that begin \
     with `RW`), or the whole file"
)]
pub struct NoKey;

impl FromStr for PublicKey {
    type Err = NoKey;

    /// Reads the line with the key, or the whole text of a `.pub` file.
    fn from_str(text: &str) -> Result<Self, NoKey> {
        let mut lines = text.trim().lines();
        let first = lines.next().ok_or(NoKey)?;
        let key = match first.starts_with("untrusted comment:") {
            true => lines.next().ok_or(NoKey)?,
            false => first,
        };
        if lines.next().is_some() {
            return Err(NoKey);
        }
        let key = minisign::PublicKey::from_base64(key.trim()).map_err(|_| NoKey)?;
        if !key.to_bytes().starts_with(ED25519) {
            return Err(NoKey);
        }
        Ok(Self(key))
    }
}

/// A key that signs.
pub struct SecretKey(minisign::SecretKey);

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", id(self.0.keynum()))
    }
}

/// Why a secret key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretKeyError {
    /// The text is none.
    #[error("not a secret key of minisign")]
    NoKey,
    /// It is encrypted, and there was no password.
    #[error("the key is encrypted, and its password is not known")]
    PasswordWanted,
    /// The password is not its own, or it is damaged: these cannot be told apart.
    #[error("the password is wrong, or the key damaged")]
    Locked,
}

impl SecretKey {
    /// Reads the text of a secret key's file. The password is used where the key is encrypted;
    /// that takes a second of work.
    ///
    /// # Errors
    /// See [`SecretKeyError`].
    pub fn read(text: &str, password: Option<&str>) -> Result<Self, SecretKeyError> {
        let bytes = text
            .lines()
            .nth(1)
            .and_then(|line| BASE64.decode(line.trim()).ok())
            .filter(|bytes| bytes.len() == SECRET_BYTES && bytes.starts_with(ED25519))
            .ok_or(SecretKeyError::NoKey)?;
        let kept = minisign::SecretKeyBox::from(text.to_owned());
        let key = match bytes.get(2..4) {
            // The tool leaves out the checksum of a key that it does not encrypt.
            Some(UNENCRYPTED) if bytes.ends_with(&[0; CHECKSUM_BYTES]) => {
                minisign::SecretKey::from_bytes(&bytes)
            }
            Some(UNENCRYPTED) => minisign::SecretKey::from_unencrypted_box(kept),
            Some(ENCRYPTED) => {
                let password = password.ok_or(SecretKeyError::PasswordWanted)?;
                kept.into_secret_key(Some(password.to_owned()))
            }
            _ => return Err(SecretKeyError::NoKey),
        };
        let key = key.map(Self).map_err(|_| SecretKeyError::Locked)?;
        // Without a checksum, what tells a damaged key is that its halves do not fit.
        key.sign(&[], "").map_err(|_| SecretKeyError::Locked)?;
        Ok(key)
    }

    /// The key that verifies what this one signs.
    ///
    /// # Errors
    /// The key is damaged.
    pub fn public(&self) -> Result<PublicKey, String> {
        minisign::PublicKey::from_secret_key(&self.0)
            .map(PublicKey)
            .map_err(told)
    }

    /// Signs bytes, and a comment with them; answers the text of the signature's file. Control
    /// characters in the comment, but for tabs, become blanks: it is one line.
    ///
    /// # Errors
    /// The key is damaged, or this machine has no random numbers.
    pub fn sign(&self, bytes: &[u8], comment: &str) -> Result<String, String> {
        let comment: String = comment
            .trim()
            .chars()
            .map(|c| if c.is_control() && c != '\t' { ' ' } else { c })
            .collect();
        let public = self.public()?;
        let untrusted = format!("verify with the key {}", public.id());
        let signed = minisign::sign(
            Some(&public.0),
            &self.0,
            Cursor::new(bytes),
            Some(&comment),
            Some(&untrusted),
        );
        signed.map(String::from).map_err(told)
    }
}

/// The texts of a new key's two files.
pub struct KeyPair {
    /// The public half.
    pub public: PublicKey,
    /// The text of the secret half's file.
    pub secret: String,
}

impl KeyPair {
    /// Makes a key. With a password the secret half is encrypted, which takes a second of work.
    ///
    /// # Errors
    /// This machine has no random numbers, or not enough memory to encrypt the key.
    pub fn generate(password: Option<&str>) -> Result<Self, String> {
        let (pair, comment) = match password {
            Some(password) => (
                minisign::KeyPair::generate_encrypted_keypair(Some(password.to_owned())),
                "minisign encrypted secret key",
            ),
            None => (
                minisign::KeyPair::generate_unencrypted_keypair(),
                "minisign secret key, not encrypted",
            ),
        };
        let pair = pair.map_err(told)?;
        let secret = pair.sk.to_box(Some(comment)).map_err(told)?;
        Ok(Self {
            public: PublicKey(pair.pk),
            secret: secret.to_string(),
        })
    }
}

/// What a signature says that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The number of the key that made it.
    pub key: String,
    /// The comment that was signed with it.
    pub comment: String,
}

/// The number of the key that a signature says it was made with; nobody has verified that.
/// `None`: the text is no signature.
#[must_use]
pub fn claimed_key(signature: &str) -> Option<String> {
    read(signature).ok().map(|signature| id(signature.keynum()))
}

/// Verifies a signature of these bytes. It holds where one of the keys made it, of these very
/// bytes, and of its trusted comment.
///
/// # Errors
/// It does not hold: why, as a text that a person can read.
pub fn verify(keys: &[PublicKey], signature: &str, bytes: &[u8]) -> Result<Signed, String> {
    let signature = read(signature)?;
    let claimed = id(signature.keynum());
    let mut why = None;
    for key in keys.iter().filter(|key| key.id() == claimed) {
        match minisign::verify(&key.0, &signature, Cursor::new(bytes), true, false, true) {
            Ok(()) => {
                let comment = signature.trusted_comment().map_err(told)?;
                return Ok(Signed {
                    key: claimed,
                    comment,
                });
            }
            Err(error) => why = Some(error.to_string()),
        }
    }
    Err(match why {
        None => {
            let trusted: Vec<String> = keys.iter().map(PublicKey::id).collect();
            let s = if trusted.len() == 1 { "" } else { "s" };
            format!(
                "it is signed with the key {claimed}, and not with the trusted key{s} {}",
                trusted.join(", ")
            )
        }
        Some(why) if why.starts_with("Comment") => format!(
            "the trusted comment of the signature by the key {claimed} was changed after it was signed"
        ),
        Some(_) => format!(
            "the signature by the key {claimed} is not one of these bytes: they were changed after \
             they were signed, or it belongs to another file"
        ),
    })
}

/// Reads a signature, all of it: minisign's own reader takes a last line that is cut off, and then
/// panics when it verifies it.
fn read(text: &str) -> Result<minisign::SignatureBox, String> {
    let refused = |what: &str| format!("what should be its signature is none of minisign: {what}");
    let whole = text
        .lines()
        .nth(3)
        .and_then(|line| BASE64.decode(line.trim()).ok())
        .is_some_and(|bytes| bytes.len() == SIGNATURE_BYTES);
    if !whole {
        return Err(refused("its four lines are not all there"));
    }
    minisign::SignatureBox::from_string(text).map_err(|error| refused(&error.to_string()))
}

/// A key's number as minisign writes it: hexadecimal, the last byte first.
fn id(bytes: &[u8]) -> String {
    bytes
        .iter()
        .rev()
        .map(|byte| format!("{byte:02X}"))
        .collect()
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "it is handed to map_err as it is"
)]
fn told(error: minisign::PError) -> String {
    error.to_string()
}
