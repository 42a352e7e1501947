//! The live view on a terminal, and plain lines elsewhere.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fusewire_core::{DomainState, Phase};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as Text, Span};
use ratatui::widgets::{Block, Cell, Paragraph, Row, Table, Widget};
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::providers::{FIRST, SECOND};
use super::script::Mood;
use super::tally::{Kind, Line, Tally, tenths};

/// Lines of the part that is drawn again and again; events scroll by above it.
const HEIGHT: u16 = 10;

/// How often a plain line says how things stand.
const PLAIN_EVERY: Duration = Duration::from_secs(2);

/// What is shown at one moment.
pub(super) struct Frame<'a> {
    pub(super) tally: &'a Tally,
    pub(super) states: &'a [DomainState],
    pub(super) mood: Mood,
    pub(super) now_ms: u64,
}

/// Where it is shown.
pub(super) enum View {
    Live(Terminal<CrosstermBackend<io::Stdout>>),
    Plain { said: Option<Duration> },
}

impl View {
    pub(super) fn open(plain: bool, opening: &[String]) -> io::Result<Self> {
        let mut out = io::stdout();
        for line in opening {
            writeln!(out, "{line}")?;
        }
        writeln!(out)?;
        if plain {
            return Ok(Self::Plain { said: None });
        }
        let options = TerminalOptions {
            viewport: Viewport::Inline(HEIGHT),
        };
        let mut terminal = Terminal::with_options(CrosstermBackend::new(out), options)?;
        terminal.hide_cursor()?;
        Ok(Self::Live(terminal))
    }

    /// An event.
    pub(super) fn line(&mut self, line: &Line) -> io::Result<()> {
        let at = format!("{:>6.1} s  ", line.at.as_secs_f64());
        match self {
            Self::Plain { .. } => writeln!(io::stdout(), "{at}{}", line.text),
            Self::Live(terminal) => {
                let text = Text::from(vec![
                    Span::styled(at, Style::new().fg(Color::DarkGray)),
                    Span::styled(line.text.clone(), style_of(line.kind)),
                ]);
                terminal.insert_before(1, |buffer| Paragraph::new(text).render(buffer.area, buffer))
            }
        }
    }

    /// How things stand.
    pub(super) fn frame(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        match self {
            Self::Plain { said } => {
                let elapsed = frame.tally.started.elapsed();
                if said.is_some_and(|at| elapsed < at + PLAIN_EVERY) {
                    return Ok(());
                }
                *said = Some(elapsed);
                writeln!(
                    io::stdout(),
                    "{:>6.1} s  {}",
                    elapsed.as_secs_f64(),
                    frame.in_one_line()
                )
            }
            Self::Live(terminal) => terminal.draw(|area| frame.draw(area)).map(|_| ()),
        }
    }

    /// Leaves the terminal as it was found.
    pub(super) fn close(mut self) -> io::Result<()> {
        if let Self::Live(terminal) = &mut self {
            terminal.clear()?;
            terminal.show_cursor()?;
        }
        Ok(())
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if let Self::Live(terminal) = self {
            // On the way out because of an error: a visible cursor is all that can be done.
            let _ = terminal.show_cursor();
        }
    }
}

impl Frame<'_> {
    fn in_one_line(&self) -> String {
        let phases: Vec<String> = self
            .states
            .iter()
            .map(|s| format!("{} {}", s.domain, s.phase))
            .collect();
        let tally = self.tally;
        format!(
            "{}; {} looked up: {} by {FIRST}, {} by {SECOND}, {} without an answer; {} calls saved",
            if phases.is_empty() {
                "the store does not answer".into()
            } else {
                phases.join(", ")
            },
            get(&tally.lookups),
            get(&tally.by_first),
            get(&tally.by_second),
            get(&tally.unanswered),
            get(&tally.saved),
        )
    }

    fn draw(&self, frame: &mut ratatui::Frame<'_>) {
        let [head, domains, counters] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(5),
            Constraint::Length(4),
        ])
        .areas(frame.area());
        let truth = match self.mood {
            Mood::Healthy => Style::new().fg(Color::Green),
            Mood::Failing | Mood::Hanging => Style::new().fg(Color::Red),
        };
        let clock = format!("{:>6.1} s  ", self.tally.started.elapsed().as_secs_f64());
        frame.render_widget(
            Text::from(vec![
                Span::styled(clock, Style::new().fg(Color::DarkGray)),
                Span::raw(format!("in truth {FIRST} ")),
                Span::styled(self.mood.describe(), truth),
            ]),
            head,
        );
        let rows = self.states.iter().map(|state| self.row(state));
        let widths = [
            Constraint::Length(12),
            Constraint::Length(11),
            Constraint::Length(18),
            Constraint::Length(10),
            Constraint::Length(9),
            Constraint::Length(9),
        ];
        let titles = Row::new(["domain", "breaker", "", "openings", "good", "failed"])
            .style(Style::new().fg(Color::DarkGray));
        frame.render_widget(
            Table::new(rows, widths)
                .header(titles)
                .block(Block::bordered()),
            domains,
        );
        frame.render_widget(Paragraph::new(self.counters()), counters);
    }

    fn row(&self, state: &DomainState) -> Row<'static> {
        let (colour, note) = match state.phase {
            Phase::Closed => (Color::Green, String::new()),
            Phase::Open => (
                Color::Red,
                format!(
                    "{} left",
                    tenths(state.until_ms.saturating_sub(self.now_ms))
                ),
            ),
            Phase::HalfOpen => (
                Color::Yellow,
                format!("{} of 3 probes good", state.probes_passed),
            ),
        };
        let bold = Style::new().fg(colour).add_modifier(Modifier::BOLD);
        Row::new([
            Cell::from(state.domain.clone()),
            Cell::from(state.phase.name()).style(bold),
            Cell::from(note),
            Cell::from(state.openings.to_string()),
            Cell::from(state.successes.to_string()),
            Cell::from(state.failures.to_string()),
        ])
    }

    fn counters(&self) -> Vec<Text<'static>> {
        let tally = self.tally;
        let saved = Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD);
        vec![
            Text::from(format!(
                "  {:>6} looked up      {:>6} by {FIRST}      {:>6} by {SECOND}",
                get(&tally.lookups),
                get(&tally.by_first),
                get(&tally.by_second),
            )),
            Text::from(format!(
                "  {:>6} unanswered     {:>6} openings      {:>6} probes",
                get(&tally.unanswered),
                get(&tally.trips),
                get(&tally.probes),
            )),
            Text::from(Span::styled(
                format!("  {:>6} calls saved", get(&tally.saved)),
                saved,
            )),
        ]
    }
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn style_of(kind: Kind) -> Style {
    match kind {
        Kind::Outage => Style::new().fg(Color::Magenta),
        Kind::Opened => Style::new().fg(Color::Red),
        Kind::Testing => Style::new().fg(Color::Yellow),
        Kind::Closed => Style::new().fg(Color::Green),
    }
}
