//! `fusewire reference`: what can be set.

use std::process::ExitCode;

use clap::Args;
use fusewire::reference;

use super::output;

#[derive(Args)]
pub(crate) struct ReferenceArgs {
    /// One setting and what is within it, such as policy.breaker.quorum; all where left out
    #[arg(value_name = "NAME", conflicts_with = "schema")]
    name: Option<String>,
    /// A JSON Schema, for editors
    #[arg(long)]
    schema: bool,
}

pub(crate) fn run(args: &ReferenceArgs) -> anyhow::Result<ExitCode> {
    let text = match &args.name {
        _ if args.schema => format!("{:#}", reference::schema()),
        None => reference::page(),
        Some(name) => {
            let entry = reference::entry(name);
            entry.ok_or_else(|| {
                let all = reference::settings();
                let names = all.iter().map(|setting| reference::name(&setting.path));
                let last = name.rsplit('.').next().unwrap_or_default().to_owned();
                let near: Vec<String> = names.filter(|known| known.contains(&last)).collect();
                match near.is_empty() {
                    true => anyhow::anyhow!(
                        "there is no setting {name}; `fusewire reference` shows all of them"
                    ),
                    false => anyhow::anyhow!(
                        "there is no setting {name}; did you mean {}?",
                        near.join(" or ")
                    ),
                }
            })?
        }
    };
    output::line(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}
