//! Domains as people read them: a table, with what there is to say of each beside it where there is
//! room for that, or else below it. Where there is no end of room each domain has one line, for
//! `grep` and its kin.

use super::look::{Look, Standing};
use super::words::{clauses, left};
use crate::command::output::{Paint, printable, wrapped};

/// Name, state, and then numbers.
const HEAD: [&str; 6] = ["DOMAIN", "STATE", "LEFT", "FAILED", "OK", "SLOW"];
const GAP: &str = "  ";
/// What is said of a domain is beside it where it has this many characters a line.
const BESIDE: usize = 36;
/// How far it is set in below.
const SET_IN: usize = 4;
/// Names have at least this much, however narrow the terminal,
const NAME_LEAST: usize = 20;
/// and at most this: a longer one has a line of its own rather than pushing all else away.
const NAME_MOST: usize = 32;

/// One line of the table without what is said beside it.
struct Row<'l> {
    look: &'l Look,
    cells: [String; 6],
}

/// How wide the columns are.
struct Layout {
    widths: [usize; 6],
    /// How wide they are together.
    taken: usize,
    /// How wide the whole may be.
    width: usize,
    paint: Paint,
}

/// The table, as lines of at most so many characters, but for names that are longer. `None`: of any
/// length. The first lines are of the first domains: one or more each.
pub(super) fn table<'l>(
    looks: impl IntoIterator<Item = &'l Look>,
    width: Option<usize>,
    paint: Paint,
) -> Vec<String> {
    let rows: Vec<Row<'_>> = looks.into_iter().map(Row::new).collect();
    let layout = Layout::new(&rows, width, paint);
    let mut lines = vec![layout.head()];
    for row in &rows {
        layout.row(row, &mut lines);
    }
    lines
}

impl<'l> Row<'l> {
    fn new(look: &'l Look) -> Self {
        let left = match look.until_ms() {
            Some(0) => "ever".to_owned(),
            Some(until) => left(look, until),
            None => String::new(),
        };
        let cells = [
            printable(&look.domain),
            look.standing.word().to_owned(),
            left,
            look.failures.to_string(),
            look.successes.to_string(),
            look.slow.to_string(),
        ];
        Self { look, cells }
    }
}

impl Layout {
    fn new(rows: &[Row<'_>], width: Option<usize>, paint: Paint) -> Self {
        let mut widths = HEAD.map(str::len);
        for (at, widest) in widths.iter_mut().enumerate() {
            let cells = rows.iter().map(|row| row.cells[at].chars().count());
            *widest = cells.fold(*widest, usize::max);
        }
        let gaps = GAP.len() * (widths.len() - 1);
        let others = gaps + widths.iter().skip(1).sum::<usize>();
        if let Some(width) = width {
            let room = width.saturating_sub(others);
            widths[0] = widths[0].min(room.clamp(NAME_LEAST, NAME_MOST));
        }
        Self {
            widths,
            taken: widths[0] + others,
            width: width.unwrap_or(usize::MAX),
            paint,
        }
    }

    /// How much is left beside the columns.
    fn beside(&self) -> usize {
        self.width.saturating_sub(self.taken + GAP.len())
    }

    fn has_room_beside(&self) -> bool {
        self.beside() >= BESIDE
    }

    fn head(&self) -> String {
        let head = self.line(HEAD, |state| state);
        match self.has_room_beside() {
            true => format!("{head}{GAP}WHY"),
            false => head,
        }
    }

    /// Aligned cells. The state is painted once it is as wide as its column.
    fn line(&self, cells: [&str; 6], paint: impl Fn(String) -> String) -> String {
        let [name, state, numbers @ ..] = cells;
        let [name_width, state_width, widths @ ..] = self.widths;
        let mut line = format!("{name:name_width$}{GAP}");
        line.push_str(&paint(format!("{state:state_width$}")));
        for (number, width) in numbers.into_iter().zip(widths) {
            line.push_str(&format!("{GAP}{number:>width$}"));
        }
        line
    }

    fn row(&self, row: &Row<'_>, lines: &mut Vec<String>) {
        let [name, numbers @ ..] = row.cells.each_ref().map(String::as_str);
        let name = match name.chars().count() > self.widths[0] {
            true => {
                lines.push(name.to_owned());
                ""
            }
            false => name,
        };
        let [state, left, failed, ok, slow] = numbers;
        let cells = [name, state, left, failed, ok, slow];
        let line = self.line(cells, |state| {
            painted(row.look.standing, &state, self.paint)
        });
        let said = clauses(row.look).join("; ");
        let faint = |part: &String| self.paint.faint(part);
        if self.has_room_beside() {
            let parts = wrapped(&said, self.beside());
            let first = parts.first().map(|part| format!("{GAP}{}", faint(part)));
            lines.push(line + &first.unwrap_or_default());
            let blank = " ".repeat(self.taken + GAP.len());
            let rest = parts.iter().skip(1);
            lines.extend(rest.map(|part| format!("{blank}{}", faint(part))));
        } else {
            lines.push(line);
            let room = self.width.saturating_sub(SET_IN).max(NAME_LEAST);
            let blank = " ".repeat(SET_IN);
            let parts = wrapped(&said, room);
            lines.extend(parts.iter().map(|part| format!("{blank}{}", faint(part))));
        }
    }
}

/// A state's word, in colour where calls are kept away.
pub(super) fn painted(standing: Standing, word: &str, paint: Paint) -> String {
    match standing {
        Standing::ForcedOpen | Standing::Open | Standing::HalfOpen | Standing::Held => {
            paint.bad(word)
        }
        Standing::Closed => paint.good(word),
        Standing::Observed | Standing::ForcedClosed | Standing::Off | Standing::Ramp => {
            word.to_owned()
        }
    }
}

/// How many there are of each state, such as `3 domains: 1 open, 2 closed`.
pub(super) fn summary<'l>(looks: impl IntoIterator<Item = &'l Look>) -> String {
    let mut counts: Vec<(Standing, usize)> = Vec::new();
    for look in looks {
        match counts.iter_mut().find(|(it, _)| *it == look.standing) {
            Some((_, count)) => *count += 1,
            None => counts.push((look.standing, 1)),
        }
    }
    counts.sort_unstable();
    let all: usize = counts.iter().map(|(_, count)| count).sum();
    let each = counts.iter();
    let each = each.map(|(standing, count)| format!("{count} {}", standing.word()));
    let plural = if all == 1 { "" } else { "s" };
    format!(
        "{all} domain{plural}: {}",
        each.collect::<Vec<_>>().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use fusewire::core::{DomainState, OverrideMode};

    use super::super::look::tests::{NOW_MS, open, order, state};
    use super::*;

    fn looks() -> Vec<Look> {
        let long = "maps.example.org/a_layer_with_a_name_that_is_longer_than_a_column";
        let ordered = DomainState {
            order: order(OverrideMode::Open),
            ..state("tiles", Some("{}"))
        };
        [open("geocoder"), open(long), ordered, state("mailer", None)]
            .map(|state| Look::new(state, NOW_MS))
            .into()
    }

    #[test]
    fn on_a_narrow_terminal_what_is_said_is_below_and_on_a_wide_one_beside() {
        let lines = table(&looks(), Some(80), Paint::none());
        assert_eq!(
            lines,
            [
                "DOMAIN                            STATE        LEFT  FAILED  OK  SLOW",
                "geocoder                          open           1m       5   0     0",
                "    opened by the rule `failures`",
                "maps.example.org/a_layer_with_a_name_that_is_longer_than_a_column",
                "                                  open           1m       5   0     0",
                "    opened by the rule `failures`",
                "tiles                             forced open    1m       0   0     0",
                "    by on-call@desk: a test",
                "mailer                            closed                  0   0     0",
            ]
        );
        let lines = table(&looks(), Some(120), Paint::none());
        assert_eq!(
            lines,
            [
                "DOMAIN                            STATE        LEFT  FAILED  OK  SLOW  WHY",
                "geocoder                          open           1m       5   0     0  opened by the rule `failures`",
                "maps.example.org/a_layer_with_a_name_that_is_longer_than_a_column",
                "                                  open           1m       5   0     0  opened by the rule `failures`",
                "tiles                             forced open    1m       0   0     0  by on-call@desk: a test",
                "mailer                            closed                  0   0     0",
            ]
        );
    }

    #[test]
    fn no_line_is_longer_than_the_terminal_but_for_a_name_that_is() {
        let mut all = looks();
        for look in &mut all {
            let order = look.order.get_or_insert_with(|| {
                let order = order(OverrideMode::Observe).expect("one");
                order.into()
            });
            order.why = "a reason that somebody has taken some trouble to write down ".repeat(4);
        }
        for width in [60, 80, 100, 120, 200] {
            let lines = table(&all, Some(width), Paint::none());
            let longest = lines
                .iter()
                .filter(|line| !line.starts_with("maps."))
                .max_by_key(|line| line.len());
            let longest = longest.expect("lines");
            assert!(longest.chars().count() <= width, "{width}: {longest}");
        }
    }

    #[test]
    fn where_there_is_no_end_of_room_each_domain_has_one_line() {
        let lines = table(&looks(), None, Paint::none());
        assert_eq!(lines.len(), 1 + looks().len());
        for (line, look) in lines.iter().skip(1).zip(looks()) {
            assert!(line.starts_with(&look.domain), "{line}");
        }
    }

    #[test]
    fn the_summary_counts_each_state() {
        assert_eq!(
            summary(&looks()),
            "4 domains: 1 forced open, 2 open, 1 closed"
        );
        assert_eq!(summary(&looks()[..1]), "1 domain: 1 open");
    }
}
