//! How the commands write: aligned, and in colour on a terminal alone.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write, stdout};
use std::time::Duration;

use fusewire::policy::Evidence;
use ratatui::crossterm::terminal;

/// How wide a text may be where what is written to is no terminal.
const WIDTH: usize = 100;

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

    /// None, wherever it is written to.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self { on: false }
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

/// Many lines, which are kept together until there is a good many of them or a pause.
pub(super) struct Lines {
    out: BufWriter<Stdout>,
    gone: bool,
}

impl Lines {
    pub(super) fn new() -> Self {
        Self {
            out: BufWriter::new(stdout()),
            gone: false,
        }
    }

    /// Whether whoever reads has gone, as `head` does: the rest is for nobody.
    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        let written = writeln!(self.out, "{text}");
        self.unless_gone(written)
    }

    /// Hands over what was kept.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.unless_gone(flushed)
    }

    fn unless_gone(&mut self, done: io::Result<()>) -> io::Result<()> {
        match done {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            other => other,
        }
    }
}

/// How wide the terminal is, in characters.
pub(super) fn width() -> usize {
    match stdout().is_terminal().then(terminal::size) {
        Some(Ok((columns, _))) if columns > 0 => columns.into(),
        _ => WIDTH,
    }
}

/// How wide lines may be that nobody's program should find broken: `None` where what is written to
/// is no terminal.
pub(super) fn room() -> Option<usize> {
    stdout().is_terminal().then(width)
}

/// Rows as columns that are as wide as what is in them; the last one may be of any width. Each row
/// has as many cells as the first.
pub(super) fn columns<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max();
    let widths: [usize; N] = std::array::from_fn(|at| width(at).unwrap_or_default());
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths);
        let cells = cells.map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// A text over several lines of at most so many characters, broken at blanks. A word that is longer
/// has a line of its own.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut room = 0;
    for word in text.split_whitespace() {
        let long = word.chars().count();
        match lines.last_mut() {
            Some(line) if long < room => {
                line.push(' ');
                line.push_str(word);
                room -= long + 1;
            }
            _ => {
                lines.push(word.to_owned());
                room = width.saturating_sub(long);
            }
        }
    }
    lines
}

/// A name and what is to be said of it, set in under the name's column where it takes more lines.
pub(super) fn row(name: &str, text: &str, paint: Paint) -> Vec<String> {
    let lines = wrapped(text, width().saturating_sub(12).max(20));
    let names = std::iter::once(name).chain(std::iter::repeat(""));
    let line = |(name, text)| format!("  {}  {text}", paint.faint(&format!("{name:<8}")));
    names.zip(&lines).map(line).collect()
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
    fn a_text_is_broken_at_blanks_and_no_word_is_lost() {
        let text = "a word that is longer-than-the-line allows";
        let lines = ["a word", "that is", "longer-than-the-line", "allows"];
        assert_eq!(wrapped(text, 8), lines);
        assert_eq!(wrapped("", 8), Vec::<String>::new());
    }

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let rows = [["a", "22", "x"], ["bbb", "1", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(columns(&rows), ["a    22  x", "bbb  1"]);
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
