//! `fusewire policy keygen`: keys to sign policies with.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use fusewire::policy::KeyPair;

use super::{output, password};

#[derive(Args)]
pub(super) struct KeygenArgs {
    /// The name of both files: the secret key is in NAME.key, the public one in NAME.pub
    #[arg(long, short, value_name = "NAME", default_value = "fusewire-policy")]
    output: PathBuf,
    /// Do not encrypt the secret key; otherwise its password is taken from FUSEWIRE_KEY_PASSWORD,
    /// or asked for
    #[arg(long)]
    no_password: bool,
}

pub(super) fn run(args: &KeygenArgs) -> anyhow::Result<ExitCode> {
    let named = |extension: &str| {
        let mut name = args.output.as_os_str().to_owned();
        name.push(extension);
        PathBuf::from(name)
    };
    let (secret, public) = (named(".key"), named(".pub"));
    for path in [&secret, &public] {
        // Looked for before a person types a password; what counts is that neither is written over.
        if path.exists() {
            bail!(
                "{} is there already; give another name with --output",
                path.display()
            );
        }
    }
    let password = match args.no_password {
        true => None,
        false => Some(password::for_new_key()?),
    };
    let pair = KeyPair::generate(password.as_deref())
        .map_err(|why| anyhow!("cannot make a key: {why}"))?;
    write_new(&secret, &pair.secret, 0o600)?;
    if let Err(error) = write_new(&public, &pair.public.file(), 0o644) {
        // One without the other is of no use.
        let _ = fs::remove_file(&secret);
        return Err(error);
    }
    let kept = match args.no_password {
        true => "not encrypted: whoever can read it can sign",
        false => "encrypted with its password",
    };
    output::line(&format!(
        "{}: the secret key {}, {kept}",
        secret.display(),
        pair.public.id()
    ))?;
    output::line(&format!(
        "{}: the public key, to be given to hosts:",
        public.display()
    ))?;
    output::line(&pair.public.to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}
