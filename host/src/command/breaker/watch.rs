//! `fusewire status --watch`: the fleet's breakers whenever something changes.
//!
//! The store tells of each record that changes, and that domain is looked at. Some things change by
//! time alone (a cool-down ends, an order is over), and counters are not told of, so once a second
//! those are looked at that may have; all of them, where the store tells nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::io::{IsTerminal, stdout};
use std::time::{Duration, Instant};

use anyhow::bail;
use fusewire::store::redis::{Changes, News};
use tokio::time::sleep;

use super::desk::{Desk, MOST};
use super::look::Look;
use super::names::Wanted;
use super::reader;
use super::screen::Screen;
use super::status::{nothing, too_many, verdict};
use super::table::{summary, table};
use super::verdict::Verdict;
use super::words::{in_a_line, utc};
use crate::command::output::{Lines, Paint, printable, width, wrapped};

/// How often those are looked at that the store tells nothing of.
const TICK: Duration = Duration::from_secs(1);
/// How long word of changes is gathered: twenty looks a second are enough for anybody.
const GATHER: Duration = Duration::from_millis(50);
/// How often a store is asked to tell of changes that did not.
const ASK_AGAIN: Duration = Duration::from_secs(5);
/// How often all are looked at, whatever was told.
const ALL_AGAIN: Duration = Duration::from_secs(30);

/// Watches until interrupted, or until nobody reads. Answers how the domains stood last.
pub(super) async fn watch(desk: &Desk, wanted: &Wanted, json: bool) -> anyhow::Result<Verdict> {
    let mut watched = Watched::new(desk, wanted, json);
    let interrupted = async {
        tokio::select! {
            () = crate::interrupted() => {}
            () = reader::gone() => {}
        }
    };
    tokio::pin!(interrupted);
    let mut changes = None;
    let mut which = Which::All;
    let mut all_again = Instant::now();
    let mut ask_again = all_again;
    loop {
        let now = Instant::now();
        if changes.is_none() && now >= ask_again {
            // Before anything is looked at, so that no change falls between the two. A store that
            // does not tell is looked at more often instead.
            ask_again = now + ASK_AGAIN;
            changes = tokio::select! {
                () = &mut interrupted => break,
                changes = desk.changes() => changes.ok(),
            };
            which = Which::All;
        }
        if now >= all_again || watched.trouble.is_some() {
            which = Which::All;
        }
        if let Which::All = which {
            all_again = now + ALL_AGAIN;
        }
        tokio::select! {
            () = &mut interrupted => break,
            () = watched.look(which) => {}
        }
        watched.show()?;
        if watched.is_for_nobody() {
            break;
        }
        which = tokio::select! {
            () = &mut interrupted => break,
            news = news(changes.as_ref()) => match news {
                News::Keys(keys) => Which::These(desk.of_keys(keys, wanted)),
                News::All => Which::All,
                News::Lost => {
                    changes = None;
                    Which::All
                }
            },
            () = sleep(TICK) => match changes {
                Some(_) => Which::These(watched.may_have_changed()),
                None => Which::All,
            },
        };
    }
    watched.leave()?;
    Ok(watched.verdict())
}

/// Which domains are to be looked at.
enum Which {
    All,
    These(BTreeSet<String>),
}

async fn news(changes: Option<&Changes>) -> News {
    sleep(GATHER).await;
    match changes {
        Some(changes) => changes.next().await,
        None => pending().await,
    }
}

/// How it is shown.
enum Form {
    /// Drawn again and again.
    Live(Screen),
    /// A line a change.
    Lines { out: Lines, json: bool },
}

struct Watched<'d> {
    desk: &'d Desk,
    wanted: &'d Wanted,
    form: Form,
    looks: BTreeMap<String, Look>,
    /// What was looked at and is not shown yet.
    unshown: Vec<Look>,
    /// There are more than are listed.
    cut: bool,
    /// Whether all of them have been looked at, once.
    seen: bool,
    /// Why they cannot be told, where they cannot.
    trouble: Option<String>,
    /// Whether that was said.
    told: bool,
}

impl<'d> Watched<'d> {
    fn new(desk: &'d Desk, wanted: &'d Wanted, json: bool) -> Self {
        let form = match stdout().is_terminal() && !json {
            true => Form::Live(Screen::new()),
            false => Form::Lines {
                out: Lines::new(),
                json,
            },
        };
        Self {
            desk,
            wanted,
            form,
            looks: BTreeMap::new(),
            unshown: Vec::new(),
            cut: false,
            seen: false,
            trouble: None,
            told: false,
        }
    }

    fn verdict(&self) -> Verdict {
        match self.trouble {
            None if self.seen => verdict(self.looks.values(), self.cut),
            _ => Verdict::Unknown,
        }
    }

    /// Those that may have changed though nothing was told of them.
    fn may_have_changed(&self) -> BTreeSet<String> {
        let moving = self.looks.values().filter(|look| look.may_pass());
        let mut names: BTreeSet<String> = moving.map(|look| look.domain.clone()).collect();
        if let Form::Live(_) = self.form {
            // What is seen of the counters is to be of now.
            let seen = self.in_order().into_iter().take(Screen::height());
            names.extend(seen.map(|look| look.domain.clone()));
        }
        names
    }

    fn in_order(&self) -> Vec<&Look> {
        let mut looks: Vec<&Look> = self.looks.values().collect();
        looks.sort_unstable_by_key(|look| look.rank());
        looks
    }

    async fn look(&mut self, which: Which) {
        match self.looked(which).await {
            Ok(()) => (self.seen, self.trouble) = (true, None),
            Err(error) => self.trouble = Some(format!("{error:#}")),
        }
    }

    async fn looked(&mut self, which: Which) -> anyhow::Result<()> {
        let names = match which {
            Which::These(names) => names,
            Which::All => {
                let names = self.desk.names(self.wanted).await?;
                self.cut = names.cut;
                let mut all = names.all;
                // Those that have no record any more are looked at for the last time.
                all.extend(self.looks.keys().cloned());
                all
            }
        };
        let seen = self.desk.looks(names).await?;
        for look in seen.looks {
            self.take(look);
        }
        match seen.untold.into_iter().next() {
            Some(why) => bail!(why),
            None => Ok(()),
        }
    }

    fn take(&mut self, look: Look) {
        let before = self.looks.get(&look.domain);
        let stays = look.recorded || self.wanted.names().contains(&look.domain);
        if before.is_none() && (!stays || self.looks.len() >= MOST) {
            self.cut |= stays;
            return;
        }
        if before.map(Look::essence) != Some(look.essence()) {
            self.unshown.push(look.clone());
        }
        match stays {
            true => drop(self.looks.insert(look.domain.clone(), look)),
            false => drop(self.looks.remove(&look.domain)),
        }
    }

    fn show(&mut self) -> anyhow::Result<()> {
        self.unshown
            .sort_unstable_by(|a, b| a.domain.cmp(&b.domain));
        let unshown = std::mem::take(&mut self.unshown);
        let frame = match self.form {
            Form::Live(_) => self.frame(),
            Form::Lines { .. } => Vec::new(),
        };
        match &mut self.form {
            Form::Live(screen) => screen.draw(&frame)?,
            Form::Lines { out, json } => {
                for look in &unshown {
                    let line = match json {
                        true => serde_json::to_string(look)?,
                        false => line(look),
                    };
                    out.line(&line)?;
                }
                out.flush()?;
                match (&self.trouble, self.told) {
                    (Some(why), false) => eprintln!("fusewire: {why}"),
                    (None, true) => eprintln!("fusewire: the store answers again"),
                    _ => {}
                }
                self.told = self.trouble.is_some();
            }
        }
        Ok(())
    }

    /// What fits on the screen: those that are not closed come first.
    fn frame(&self) -> Vec<String> {
        let (paint, width) = (Paint::of_stdout(), width());
        let now = utc(self.desk.guard.now_ms());
        let (prefix, address) = (self.desk.guard.prefix(), self.desk.address());
        let head = format!("{now}  {prefix} at {address}  Ctrl-C ends");
        let looks = self.in_order();
        let room = Screen::height().saturating_sub(5);
        let body = match looks.is_empty() {
            false => table(looks.iter().copied().take(room), Some(width), paint),
            true if self.trouble.is_none() => wrapped(&nothing(self.desk, self.wanted), width),
            true => Vec::new(),
        };
        let foot = match &self.trouble {
            Some(why) => paint.bad(&cut(why, width)),
            None if looks.is_empty() => String::new(),
            None if self.cut => cut(&too_many(), width),
            None => cut(&summary(looks), width),
        };
        let mut frame = vec![paint.faint(&cut(&head, width)), String::new()];
        // Only a name that has a line of its own is too long for one, and it is in no colour.
        let fits = |line: String| match line.contains('\u{1b}') {
            true => line,
            false => cut(&line, width),
        };
        frame.extend(body.into_iter().take(room).map(fits));
        frame.extend([String::new(), foot]);
        frame
    }

    fn is_for_nobody(&self) -> bool {
        match &self.form {
            Form::Live(_) => false,
            Form::Lines { out, .. } => out.is_gone(),
        }
    }

    fn leave(&mut self) -> anyhow::Result<()> {
        match &mut self.form {
            Form::Live(screen) => screen.leave()?,
            Form::Lines { out, .. } => out.flush()?,
        }
        Ok(())
    }
}

/// A change as a line.
fn line(look: &Look) -> String {
    let (at, name) = (utc(look.at_ms), printable(&look.domain));
    format!("{at}  {name}  {}", in_a_line(look))
}

/// As much of a text as a line has room for.
fn cut(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}
