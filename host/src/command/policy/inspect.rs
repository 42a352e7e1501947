//! `fusewire policy inspect`: what a policy is.

use std::process::ExitCode;

use clap::Args;
use fusewire::core::Description;
use fusewire::policy::facts::Kind;
use fusewire::policy::vet::{describe, in_bytes};
use fusewire::policy::{Artefact, Facts, PublicKey, Terms, Trust};
use serde_json::{Value, json};

use super::output::{self, Paint, printable};
use super::source::{Source, public_key};

#[derive(Args)]
pub(super) struct InspectArgs {
    /// The policy's component, with its signature in FILE.minisig; or `built-in`
    #[arg(value_name = "FILE")]
    file: Source,
    /// A public key of minisign, or its file, to verify the signature with
    #[arg(long, value_name = "KEY", value_parser = public_key)]
    key: Vec<PublicKey>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// What is told of a policy.
struct Inspected {
    facts: Facts,
    signed: bool,
    /// What was found of its signature, or why it does not hold.
    signature: Result<String, String>,
    /// Whether the signature was verified.
    asked: bool,
    /// Who it says that it is, or why it cannot be asked here.
    described: Result<Description, String>,
}

pub(super) async fn run(args: InspectArgs) -> anyhow::Result<ExitCode> {
    let artefact = args.file.read()?;
    let inspected = inspect(artefact, args.key).await;
    output::line(&match args.json {
        true => format!("{:#}", inspected.json(&args.file)),
        false => inspected.lines(&args.file).join("\n"),
    })?;
    // A signature that was asked for and does not hold is an answer that a script must notice.
    Ok(match inspected.signature {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

async fn inspect(artefact: Artefact, keys: Vec<PublicKey>) -> Inspected {
    let trust = Trust {
        keys,
        digests: Vec::new(),
    };
    let terms = Terms {
        trust,
        ..Terms::default()
    };
    Inspected {
        facts: Facts::of(artefact.bytes()),
        signed: artefact.signature().is_some(),
        signature: terms.trust.check_signature(&artefact),
        asked: !terms.trust.keys.is_empty() && !artefact.is_built_in(),
        described: describe(artefact, &terms)
            .await
            .map_err(|refused| refused.to_string()),
    }
}

impl Inspected {
    fn lines(&self, source: &Source) -> Vec<String> {
        let paint = Paint::of_stdout();
        let facts = &self.facts;
        let mut rows = vec![("name", self.name(paint))];
        if let Ok(who) = &self.described {
            rows.push(("records", format!("schema {}", who.record_schema)));
        }
        rows.push((
            "size",
            match facts.size {
                small @ 0..1024 => in_bytes(small as u64),
                size => format!("{} ({size} bytes)", in_bytes(size as u64)),
            },
        ));
        rows.push(("digest", facts.digest.to_string()));
        rows.push((
            "signature",
            match &self.signature {
                Ok(found) if self.asked => paint.good(found),
                Ok(found) => found.clone(),
                Err(why) => paint.bad(why),
            },
        ));
        if matches!(
            facts.kind,
            Kind::Component | Kind::CoreModule | Kind::WitPackage
        ) {
            rows.extend(list("imports", &facts.imports));
            rows.extend(list("exports", &facts.exports));
            rows.push(("memory", format!("{} at its start", in_bytes(facts.memory))));
            rows.extend(list("scenarios", &facts.scenarios));
        }
        if let Some(problem) = &facts.problem {
            rows.push(("unread", paint.bad(&printable(problem))));
        }
        let rows = rows
            .iter()
            .map(|(name, value)| format!("  {}  {value}", paint.faint(&format!("{name:<9}"))));
        std::iter::once(source.to_string()).chain(rows).collect()
    }

    fn name(&self, paint: Paint) -> String {
        match &self.described {
            Ok(who) => format!("{} {}", printable(&who.name), printable(&who.version)),
            Err(why) => paint.bad(&format!("cannot be asked here: {why}")),
        }
    }

    fn json(&self, source: &Source) -> Value {
        let mut value = json!(self.facts);
        let (why, who) = match &self.described {
            Ok(who) => (None, Some(who)),
            Err(why) => (Some(why), None),
        };
        let more = json!({
            "file": source.to_string(),
            "name": who.map(|who| &who.name),
            "version": who.map(|who| &who.version),
            "record-schema": who.map(|who| who.record_schema),
            "refused": why,
            "signature": {
                "present": self.signed,
                "verified": self.asked.then_some(self.signature.is_ok()),
                "found": self.signature.as_ref().unwrap_or_else(|why| why),
            },
        });
        if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
            value.extend(more);
        }
        value
    }
}

/// A row for each of these, the first with their name.
fn list<'n>(name: &'n str, values: &[String]) -> Vec<(&'n str, String)> {
    if values.is_empty() {
        return vec![(name, "none".to_owned())];
    }
    let names = std::iter::once(name).chain(std::iter::repeat(""));
    let values = values.iter().map(|value| printable(value));
    names.zip(values).collect()
}
