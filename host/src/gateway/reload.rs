//! The policy's settings, taken in anew when the configuration file changes.
//!
//! `[policy]` is what changes from one day to the next: a threshold, a provider's own window. So that
//! part is taken in while calls go on, as another policy would be: through the stages, and back where
//! it does harm. All else is read at the start alone.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::config::{self, CheckError, PolicyConfig, Source};
use crate::policy::{Digest, Rollout};

/// A configuration file that is looked at for as long as this lives.
pub(super) struct Reload(AbortHandle);

impl Drop for Reload {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Looks at a configuration file, and takes in the policy's settings when they are others than those
/// `in_force`, which it was begun with.
pub(super) fn watch(
    rollout: Rollout,
    source: Source,
    mut in_force: PolicyConfig,
    every: Duration,
) -> Reload {
    let task = tokio::spawn(async move {
        let Source {
            file,
            text: mut known,
        } = source;
        let mut last = known;
        loop {
            sleep(every).await;
            // A file that cannot be read is in the midst of being replaced, or will be missed at the
            // next start.
            let Ok(text) = fs::read_to_string(&file) else {
                continue;
            };
            // Two looks in a row must find the same, or it is still being written.
            let found = Digest::of(text.as_bytes());
            let is_whole = std::mem::replace(&mut last, found) == found;
            if !is_whole || known == found {
                continue;
            }
            known = found;
            let (path, now) = (file.clone(), in_force.clone());
            // A component may have to be compiled for that.
            let read = tokio::task::spawn_blocking(move || settings(&path, &text, &now));
            // An error says that the runtime ends.
            let Ok(read) = read.await else { return };
            match read {
                Ok(policy) => {
                    tracing::info!("{}: the policy's settings have changed", file.display());
                    rollout.reconfigure(policy.json.clone());
                    in_force = policy;
                }
                Err(why) => {
                    for line in why.lines() {
                        tracing::warn!("the policy's settings are left as they were: {line}");
                    }
                }
            }
        }
    });
    Reload(task.abort_handle())
}

/// The policy's settings in this text, where they are good, and others than those in force. An error
/// is a line for each reason.
fn settings(file: &Path, text: &str, in_force: &PolicyConfig) -> Result<PolicyConfig, String> {
    let name = file.display().to_string();
    let folder = file.parent().unwrap_or(Path::new(""));
    let config = config::parse(text, &name, folder).map_err(|problems| problems.to_string())?;
    let policy = config.policy;
    if !policy.problems.is_empty() {
        let problems = policy.problems;
        return Err(CheckError::Problems {
            file: name,
            problems,
        }
        .to_string());
    }
    if policy.prefix != in_force.prefix || policy.component != in_force.component {
        return Err(format!(
            "{name}: another policy.prefix or policy.component takes effect at the next start"
        ));
    }
    if policy.json == in_force.json {
        return Err(format!(
            "{name}: what has changed besides [policy] takes effect at the next start"
        ));
    }
    Ok(policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: &str = "[providers.p]\nurl = \"http://127.0.0.1:1\"\n\n[[routes]]\npath = \"/p\"\n\
                        chain = [\"p\"]\n";

    fn read(policy: &str, in_force: &PolicyConfig) -> Result<PolicyConfig, String> {
        let text = format!("{policy}\n{REST}");
        settings(Path::new("fusewire.toml"), &text, in_force)
    }

    fn begun_with(policy: &str) -> PolicyConfig {
        let text = format!("{policy}\n{REST}");
        let config = config::parse(&text, "fusewire.toml", Path::new(""));
        config.expect("a configuration").policy
    }

    #[test]
    fn other_settings_are_taken_and_the_same_ones_are_not() {
        let now = begun_with("policy.breaker.failures.count = 3");
        let other = read("policy.breaker.failures.count = 4", &now).expect("taken");
        assert_eq!(other.json, r#"{"breaker":{"failures":{"count":4}}}"#);
        let same = read("grace = \"1s\"\npolicy.breaker.failures.count = 3", &now);
        let expected =
            "fusewire.toml: what has changed besides [policy] takes effect at the next start";
        assert_eq!(same.err().as_deref(), Some(expected));
    }

    #[test]
    fn a_mistake_leaves_everything_as_it_was_and_is_told_at_its_place() {
        let now = begun_with("");
        let why = read("policy.breaker.failures.counts = 4", &now).expect_err("a mistake");
        assert!(
            why.starts_with("fusewire.toml:1:25: policy.breaker.failures.counts: "),
            "{why}"
        );
    }

    #[test]
    fn another_prefix_would_leave_the_fleets_records_behind_so_it_waits_for_the_next_start() {
        let now = begun_with("");
        let why = read("policy.prefix = \"other\"", &now).expect_err("not taken");
        assert!(why.contains("policy.prefix"), "{why}");
    }
}
