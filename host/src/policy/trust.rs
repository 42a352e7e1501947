//! Whose policies may run here.

use super::signature::{self, PublicKey};
use super::{Artefact, Digest};

/// What an operator trusts. Nothing given, nothing is asked for: every policy that comes through
/// the other stages may run.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// Where there are any: a policy runs only with a signature by one of them.
    pub keys: Vec<PublicKey>,
    /// Where there are any: a policy runs only with one of these digests.
    pub digests: Vec<Digest>,
}

impl Trust {
    /// Whether an artefact's digest is allowed: what was found.
    ///
    /// # Errors
    /// It is not: why.
    pub fn check_digest(&self, artefact: &Artefact) -> Result<String, String> {
        let digest = artefact.digest();
        if artefact.is_built_in() {
            Ok(format!(
                "{digest}, the policy that this host was built with"
            ))
        } else if self.digests.is_empty() {
            Ok(format!("{digest}; there is no list of allowed ones"))
        } else if self.digests.contains(&digest) {
            Ok(format!("{digest}, which is allowed"))
        } else {
            let (is, s) = match self.digests.len() {
                1 => ("is", ""),
                _ => ("are", "s"),
            };
            let allowed: Vec<String> = self.digests.iter().map(Digest::to_string).collect();
            Err(format!(
                "{digest} is not allowed: allowed {is} the digest{s} {}",
                allowed.join(", ")
            ))
        }
    }

    /// Whether an artefact is signed by a trusted key: what was found. Without keys a signature is
    /// neither asked for nor verified. The policy that this host was built with is part of the
    /// host, so whoever trusts that trusts it.
    ///
    /// # Errors
    /// It is not: why.
    pub fn check_signature(&self, artefact: &Artefact) -> Result<String, String> {
        if artefact.is_built_in() {
            return Ok("part of this host, so trusted as the host is".to_owned());
        }
        match (artefact.signature(), self.keys.is_empty()) {
            (None, true) => Ok("not signed, and no key is given that would ask for it".to_owned()),
            (Some(text), true) => Ok(match signature::claimed_key(text) {
                Some(key) => {
                    format!("not verified: no key is given; it says that the key {key} signed it")
                }
                None => "not verified: no key is given; what is there is no signature of minisign"
                    .to_owned(),
            }),
            (None, false) => {
                let keys: Vec<String> = self.keys.iter().map(PublicKey::id).collect();
                Err(format!(
                    "not signed: a signature with {} {} is asked for, in a file beside it whose \
                     name ends in .minisig",
                    if keys.len() == 1 {
                        "the key"
                    } else {
                        "one of the keys"
                    },
                    keys.join(", ")
                ))
            }
            (Some(text), false) => {
                let signed = signature::verify(&self.keys, text, artefact.bytes())?;
                // The tool's own comments have their parts between tabs.
                let comment = signed.comment.replace('\t', ", ");
                Ok(format!("by the key {} ({comment})", signed.key))
            }
        }
    }
}
