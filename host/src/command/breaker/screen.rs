//! What is watched, on a terminal: drawn again over what was there.

use std::io::{self, Write, stdout};

use ratatui::crossterm::terminal;

/// A screen that is drawn on.
pub(super) struct Screen {
    begun: bool,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self { begun: false }
    }

    /// How many lines it has.
    pub(super) fn height() -> usize {
        terminal::size().map_or(24, |(_, rows)| rows.max(4).into())
    }

    /// Draws these lines and nothing else. Each is written over what was there, and what is left of
    /// that is taken away, so that nothing flickers.
    pub(super) fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        let mut text = String::new();
        if !self.begun {
            text.push_str("\u{1b}[2J");
            self.begun = true;
        }
        text.push_str("\u{1b}[H");
        let drawn: Vec<String> = lines.iter().map(|line| format!("{line}\u{1b}[K")).collect();
        text.push_str(&drawn.join("\r\n"));
        text.push_str("\u{1b}[J");
        let mut out = stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Leaves what was drawn last, and the cursor below it.
    pub(super) fn leave(&mut self) -> io::Result<()> {
        let mut out = stdout().lock();
        if self.begun {
            out.write_all(b"\r\n")?;
        }
        out.flush()
    }
}
