//! The fleet at one moment: what is wanted, and what each host says.

use std::collections::BTreeMap;

use serde::Serialize;

use super::access::Unreadable;
use super::plain::id;
use super::report::{HostReport, Step};
use super::wanted::Wanted;

/// What a script wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every host runs what is wanted.
    AllRun,
    /// Some do not, or not yet.
    NotAll,
    /// Nothing is wanted, it cannot be read, or no host reports.
    Unknown,
}

/// The fleet at one moment.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Overview {
    /// What is wanted.
    pub wanted: Option<Wanted>,
    /// Why that cannot be told, where it cannot.
    pub unreadable: Option<String>,
    /// The hosts that report, in the order of their ids.
    pub hosts: Vec<HostReport>,
    /// Those that are listed and have not reported for longer than reports live, or in a way that
    /// cannot be read.
    pub silent: Vec<String>,
    /// When, in ms on the fleet's clock.
    pub at_ms: u64,
    /// What a script wants to know.
    pub verdict: Verdict,
}

impl Overview {
    pub(super) fn new(
        wanted: Option<Result<Wanted, Unreadable>>,
        listed: impl Iterator<Item = (String, Option<Result<HostReport, Unreadable>>)>,
        at_ms: u64,
    ) -> Self {
        let (wanted, unreadable) = match wanted.transpose() {
            Ok(wanted) => (wanted, None),
            Err(why) => (None, Some(why.to_string())),
        };
        let (mut hosts, mut silent) = (Vec::new(), Vec::new());
        for (host, report) in listed {
            match report {
                Some(Ok(report)) => hosts.push(report),
                _ => silent.push(id(&host)),
            }
        }
        hosts.sort_by(|a, b| a.instance.cmp(&b.instance));
        silent.sort_unstable();
        let verdict = match &wanted {
            None => Verdict::Unknown,
            Some(_) if hosts.is_empty() => Verdict::Unknown,
            Some(wanted) if hosts.iter().all(|host| host.digest == wanted.policy.digest) => {
                Verdict::AllRun
            }
            Some(_) => Verdict::NotAll,
        };
        Self {
            wanted,
            unreadable,
            hosts,
            silent,
            at_ms,
            verdict,
        }
    }

    /// How far a host is with what is wanted now: what it reported of an order before that is no
    /// answer.
    #[must_use]
    pub fn stage(&self, host: &HostReport) -> &'static str {
        match &self.wanted {
            Some(wanted) if host.is_at(wanted, host.stage) => host.stage.name(),
            Some(wanted) if host.digest == wanted.policy.digest => Step::Active.name(),
            Some(_) => "behind",
            None => host.stage.name(),
        }
    }

    /// The hosts by their stages, such as `3 hosts: 2 active, 1 refused`.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut counts = BTreeMap::new();
        for host in &self.hosts {
            *counts.entry(self.stage(host)).or_insert(0_usize) += 1;
        }
        let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|(name, _)| *name != Step::Active.name());
        let stages: Vec<String> = counts
            .iter()
            .map(|(name, n)| format!("{n} {name}"))
            .collect();
        let hosts = match self.hosts.len() {
            0 => "no host reports".to_owned(),
            1 => format!("1 host: {}", stages.join(", ")),
            n => format!("{n} hosts: {}", stages.join(", ")),
        };
        if self.silent.is_empty() {
            return hosts;
        }
        format!("{hosts}; not heard of: {}", self.silent.join(", "))
    }
}
