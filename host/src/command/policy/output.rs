//! How the commands write: aligned, and in colour on a terminal alone.

use std::io::{self, IsTerminal, Write, stdout};
use std::time::Duration;

use fusewire::policy::Evidence;

/// Colours, where what is written to is a terminal and nobody has asked for none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    on: bool,
}

impl Paint {
    /// For standard output. `NO_COLOR` is honoured (<https://no-color.org>).
    pub(super) fn of_stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            on: stdout().is_terminal() && !refused,
        }
    }

    pub(super) fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(super) fn bad(self, text: &str) -> String {
        self.with("1;31", text)
    }

    pub(super) fn faint(self, text: &str) -> String {
        self.with("2", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        match self.on {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }
}

/// Writes a line at once. Where whoever reads has gone, as `head` does, the rest is for nobody.
pub(super) fn line(text: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// What was seen at a stage, as a line; further lines of it are set in.
pub(super) fn evidence(evidence: &Evidence, paint: Paint) -> String {
    let mark = match evidence.passed {
        true => paint.good("ok     "),
        false => paint.bad("REFUSED"),
    };
    let took = paint.faint(&format!(
        "{:>8}",
        span(Duration::from_micros(evidence.took_us))
    ));
    let found = evidence.found.replace('\n', "\n         ");
    format!("{mark}  {:<9}  {took}  {found}", evidence.stage)
}

/// A text of a policy's own, fit for a terminal.
pub(super) fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// A span of time in three figures or so.
pub(super) fn span(span: Duration) -> String {
    let ns = span.as_secs_f64() * 1e9;
    let (value, unit) = match ns {
        ..1e3 => (ns, "ns"),
        ..1e6 => (ns / 1e3, "µs"),
        ..1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let digits = match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_three_figures_and_its_unit() {
        for (ns, text) in [
            (0, "0.00 ns"),
            (999, "999 ns"),
            (1_500, "1.50 µs"),
            (9_996, "10.0 µs"),
            (142_400, "142 µs"),
            (31_400_000, "31.4 ms"),
            (2_000_000_000, "2.00 s"),
        ] {
            assert_eq!(span(Duration::from_nanos(ns)), text);
        }
    }

    #[test]
    fn further_lines_of_what_was_seen_are_set_in() {
        let seen = Evidence {
            stage: fusewire::policy::Stage::Configure,
            passed: false,
            found: "not accepted:\n  /breaker: no".to_owned(),
            took_us: 1_230,
        };
        assert_eq!(
            evidence(&seen, Paint { on: false }),
            "REFUSED  configure   1.23 ms  not accepted:\n           /breaker: no"
        );
    }
}
