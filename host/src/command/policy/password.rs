//! Passwords of secret keys.

use anyhow::{Context, bail};

/// The environment variable that a password is taken from, where there is no person to ask.
pub(super) const VARIABLE: &str = "FUSEWIRE_KEY_PASSWORD";

/// The password of a key that is there.
pub(super) fn of_key(key: &str) -> anyhow::Result<String> {
    match from_environment()? {
        Some(password) => Ok(password),
        None => ask(&format!("Password of {key}: ")),
    }
}

/// A password for a key that is to be made.
pub(super) fn for_new_key() -> anyhow::Result<String> {
    let password = match from_environment()? {
        Some(password) => password,
        None => {
            let password = ask("Password to encrypt the key with: ")?;
            if ask("The same once more: ")? != password {
                bail!("the two passwords differ; no key was made");
            }
            password
        }
    };
    if password.is_empty() {
        bail!("the password is empty; for a key that is not encrypted give --no-password");
    }
    Ok(password)
}

fn from_environment() -> anyhow::Result<Option<String>> {
    match std::env::var(VARIABLE) {
        Ok(password) => Ok(Some(password)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(error) => Err(error).context(VARIABLE),
    }
}

fn ask(prompt: &str) -> anyhow::Result<String> {
    rpassword::prompt_password(prompt).with_context(|| {
        format!(
            "the key is encrypted, and there is no terminal to ask for its password; set {VARIABLE}"
        )
    })
}
