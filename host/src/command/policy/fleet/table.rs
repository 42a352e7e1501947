//! A fleet as people read it.

use std::fmt::Write;

use fusewire::core::config::duration::format_ms;
use fusewire::policy::fleet::{HostReport, Overview, Wanted};

const COLUMNS: [&str; 6] = ["HOST", "RUNS", "VERSION", "STAGE", "SINCE", "WHY"];

/// What is wanted, each host, and how many are where.
pub(super) fn table(overview: &Overview) -> String {
    let mut text = match (&overview.wanted, &overview.unreadable) {
        (Some(wanted), _) => head(wanted, overview.at_ms),
        (None, Some(why)) => format!("what the fleet is to run cannot be read: {why}"),
        (None, None) => {
            "no policy was ever pushed to this fleet: `fusewire policy push FILE` does".into()
        }
    };
    text.push('\n');
    let rows: Vec<[String; 6]> = overview
        .hosts
        .iter()
        .map(|host| row(overview, host))
        .collect();
    if !rows.is_empty() {
        let rows: Vec<[&str; 6]> = std::iter::once(COLUMNS)
            .chain(rows.iter().map(|row| row.each_ref().map(String::as_str)))
            .collect();
        let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max();
        let widths: [usize; 6] = std::array::from_fn(|at| width(at).unwrap_or_default());
        text.push('\n');
        for row in rows {
            let cells = row
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{cell:width$}"));
            let line = cells.collect::<Vec<_>>().join("  ");
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text.push('\n');
    text.push_str(&overview.summary());
    text
}

/// The overview without what changes though nothing happens.
pub(super) fn what_changes(overview: &Overview) -> String {
    let timeless = Overview {
        at_ms: 0,
        hosts: overview
            .hosts
            .iter()
            .map(|host| HostReport {
                at_ms: 0,
                ..host.clone()
            })
            .collect(),
        ..overview.clone()
    };
    format!("{timeless:?}")
}

fn head(wanted: &Wanted, now_ms: u64) -> String {
    let mut text = format!(
        "{} ({}), revision {}, {} ago by {}",
        wanted.policy.title(),
        wanted.policy.digest.short(),
        wanted.revision,
        ago(now_ms, wanted.pushed_at_ms),
        wanted.by
    );
    if let Some(note) = &wanted.note {
        let _ = write!(text, ": {note}");
    }
    if let Some(canary) = &wanted.canary {
        let (share, span) = (canary.hosts, format_ms(canary.for_ms));
        let _ = write!(text, "\ncanary hosts: a share of {share}, for {span}");
    }
    if wanted.urgent {
        text.push_str("\na rollback: taken at once");
    }
    if let Some(by) = &wanted.paused {
        let _ = write!(text, "\npaused by {by}: `fusewire policy resume` goes on");
    }
    if let Some(stopped) = &wanted.stopped {
        let (host, why) = (&stopped.host, &stopped.why);
        let _ = write!(
            text,
            "\n{host} {why}\n`fusewire policy rollback` goes back, `fusewire policy resume` tries again"
        );
    }
    text
}

fn row(overview: &Overview, host: &HostReport) -> [String; 6] {
    let stage = overview.stage(host);
    let why = match (host.why.as_str(), host.compared) {
        // What it said of an order before this one.
        _ if stage == "behind" => String::new(),
        ("", 0) => String::new(),
        ("", compared) => format!("{compared} compared, {} differ", host.differences),
        (why, _) => why.to_owned(),
    };
    [
        host.instance.clone(),
        host.digest.short(),
        format!("{} {}", host.name, host.version),
        stage.to_owned(),
        ago(overview.at_ms, host.since_ms),
        why,
    ]
}

/// How long ago that was, in its largest unit.
fn ago(now_ms: u64, at_ms: u64) -> String {
    let seconds = now_ms.saturating_sub(at_ms) / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::ago;

    #[test]
    fn a_time_is_told_in_its_largest_unit() {
        assert_eq!(ago(1_000, 2_000), "0s");
        assert_eq!(ago(59_999, 0), "59s");
        assert_eq!(ago(150_000, 0), "2m");
        assert_eq!(ago(7_200_000, 0), "2h");
        assert_eq!(ago(86_400_000 * 3, 0), "3d");
    }
}
