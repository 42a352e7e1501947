//! `fusewire policy sign`: a policy's signature.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow};
use clap::Args;
use fusewire::policy::artefact::signature_path;
use fusewire::policy::contract::Valid;
use fusewire::policy::signature::SecretKeyError;
use fusewire::policy::{Artefact, LARGEST, SecretKey};

use super::source::write_whole;
use super::{output, password};

#[derive(Args)]
pub(super) struct SignArgs {
    /// The policy's component
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The file of a secret key of minisign; where it is encrypted, its password is taken from
    /// FUSEWIRE_KEY_PASSWORD, or asked for
    #[arg(long, value_name = "SECRETKEY")]
    key: PathBuf,
}

pub(super) fn run(args: &SignArgs) -> anyhow::Result<ExitCode> {
    let (file, key_file) = (args.file.display(), args.key.display());
    let bytes = fs::read(&args.file).with_context(|| file.to_string())?;
    let artefact = Artefact::new(bytes, None, file.to_string());
    // A signature says that this may run, so it is not put on what cannot.
    Valid::read(&artefact, LARGEST)
        .and_then(|valid| valid.check_world())
        .map_err(|why| anyhow!("{file} is no policy, and is not signed: {why}"))?;

    let text = fs::read_to_string(&args.key).with_context(|| key_file.to_string())?;
    let key = match SecretKey::read(&text, None) {
        Err(SecretKeyError::PasswordWanted) => {
            let password = password::of_key(&key_file.to_string())?;
            SecretKey::read(&text, Some(&password))
        }
        other => other,
    };
    let key = key.with_context(|| format!("cannot sign with {key_file}"))?;
    let signature = key
        .sign(artefact.bytes(), &comment(&args.file, &artefact))
        .and_then(|signature| Ok((signature, key.public()?)));
    let (signature, public) =
        signature.map_err(|why| anyhow!("cannot sign with {key_file}: {why}"))?;

    let path = signature_path(&args.file);
    write_whole(&path, signature.as_bytes())?;
    output::line(&format!("{}: by the key {}", path.display(), public.id()))?;
    output::line(&format!(
        "verify it with: fusewire policy verify {file} --key {public}"
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// What is signed with the bytes: when, which file, which digest.
fn comment(file: &std::path::Path, artefact: &Artefact) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    format!(
        "timestamp:{}\tfile:{name}\t{}",
        now.as_secs(),
        artefact.digest()
    )
}
