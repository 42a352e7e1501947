//! All the ways in which a few clients can come to an end.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;

use fusewire_core::store::StoreError;

use super::monitor::{Answer, KEY, Monitor, Op, get};
use super::steps::{Contents, Played, Reply, Step, play};

/// A few clients, and what may befall them.
pub(super) struct Story<'a> {
    /// What one client alone has done before.
    pub(super) before: &'a [Op],
    /// What each client does, one after the other.
    pub(super) clients: &'a [&'a [Op]],
    /// How many of the clients may die, each at any step.
    pub(super) deaths: usize,
    /// How many steps may be answered by a failure, each whether it took effect or not.
    pub(super) failures: usize,
}

/// A client, as far as it has come.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Client {
    /// Which of its operations it is at.
    at: usize,
    replies: Vec<Reply>,
    /// The step that it is about to take; none: it is dead, or has done all.
    wants: Option<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    contents: Contents,
    clients: Vec<Client>,
    monitor: Monitor,
    deaths: usize,
    failures: usize,
}

/// How a step goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goes {
    Well,
    FailsUndone,
    FailsDone,
}

/// The most steps that an operation takes that nobody interferes with.
const STEPS_ALONE: usize = 30;

/// The most keys that one client's death, or one step's failure, leaves behind: its own version, and
/// the one that it would have removed, with its place. Besides, the places of the versions that it
/// was late to announce.
const KEYS_LEFT: usize = 5;

/// The keys of a value that is left alone: `first`, `count`, `at`, and a version's two.
const KEYS_OF_A_VALUE: usize = 5;

/// The number of the first operation of the one who comes afterwards: more than come before.
const LATER: usize = 8;

pub(super) struct Search<'a> {
    story: &'a Story<'a>,
    /// Two hashes of each state that was reached.
    reached: HashSet<(u64, u64)>,
    hashers: (RandomState, RandomState),
}

impl<'a> Search<'a> {
    /// Searches all of it.
    ///
    /// # Panics
    /// Where a promise is broken; the message has the steps that led there.
    pub(super) fn of(story: &'a Story<'a>) {
        let mut search = Self {
            story,
            reached: HashSet::new(),
            hashers: Default::default(),
        };
        let start = search.start();
        let mut ways = vec![(start, Path(None))];
        let mut ends: u64 = 0;
        while let Some((state, path)) = ways.pop() {
            if state.clients.iter().all(|client| client.wants.is_none()) {
                ends += 1;
                search.at_the_end(state, &path);
                continue;
            }
            for (choice, state) in search.next(&state, &path) {
                let hash = (
                    search.hashers.0.hash_one(&state),
                    search.hashers.1.hash_one(&state),
                );
                if search.reached.insert(hash) {
                    let before = path.clone();
                    ways.push((state, Path(Some(Rc::new((choice, before))))));
                }
            }
        }
        eprintln!("{} states, {ends} ends", search.reached.len());
        assert!(ends > 0, "the search has ended nowhere");
    }

    /// The state after what one client has done alone.
    fn start(&self) -> State {
        let clients = self.story.clients.len();
        let client = Client {
            at: 0,
            replies: Vec::new(),
            wants: None,
        };
        let mut state = State {
            contents: Contents::default(),
            clients: vec![client; clients],
            monitor: Monitor::new(clients + 1),
            deaths: self.story.deaths,
            failures: self.story.failures,
        };
        for (at, op) in self.story.before.iter().enumerate() {
            let answer = self.alone(&mut state, *op, at, &Path(None));
            assert!(
                matches!(answer, Answer::Swapped(true) | Answer::Tally(..)),
                "{op:?} was answered {answer:?} before the story began"
            );
        }
        for index in 0..clients {
            self.go_on(&mut state, index, &Path(None));
        }
        state
    }

    /// Every state after this one, and what leads there.
    fn next(&self, state: &State, path: &Path) -> Vec<(Choice, State)> {
        let mut next = Vec::new();
        for (index, client) in state.clients.iter().enumerate() {
            let Some(step) = &client.wants else {
                continue;
            };
            if state.deaths > 0 && !client.replies.is_empty() {
                let mut after = state.clone();
                after.deaths -= 1;
                after.clients[index].wants = None;
                next.push((Choice::Dies(index), after));
            }
            for goes in [Goes::Well, Goes::FailsUndone, Goes::FailsDone] {
                if goes != Goes::Well && state.failures == 0 {
                    continue;
                }
                let mut after = state.clone();
                if client.replies.is_empty() {
                    after.monitor.begin(index);
                }
                let reply = match goes {
                    Goes::Well => after.contents.take(step),
                    Goes::FailsDone => {
                        after.contents.take(step);
                        Reply::Failed
                    }
                    Goes::FailsUndone => Reply::Failed,
                };
                after.failures -= usize::from(goes != Goes::Well);
                after.clients[index].replies.push(reply);
                self.go_on(&mut after, index, path);
                next.push((Choice::Steps(index, step.clone(), goes), after));
            }
        }
        next
    }

    /// Brings a client to its next step, if it has one.
    fn go_on(&self, state: &mut State, index: usize, path: &Path) {
        let client = &mut state.clients[index];
        let Some(op) = self.story.clients[index].get(client.at) else {
            client.wants = None;
            return;
        };
        match play(op, salt(index, client.at), &client.replies) {
            Played::Wants(step) => client.wants = Some(step),
            Played::Over(Ok(answer)) => {
                let ops = self.ops(state);
                assert!(
                    state.monitor.end(index, &answer, &ops),
                    "client {index} was answered {answer:?} to {op:?}, which cannot be, after \
                     {path}"
                );
                state.clients[index].at += 1;
                state.clients[index].replies.clear();
                self.go_on(state, index, path);
            }
            // Whether it took effect is not known: it may have.
            Played::Over(Err(StoreError::Unavailable)) if self.story.failures > 0 => {
                client.wants = None;
            }
            Played::Over(Err(error)) => panic!("client {index}, {op:?}: {error:?} after {path}"),
        }
    }

    /// The operation that each client is at; the last is of the one who comes afterwards.
    fn ops(&self, state: &State) -> Vec<Option<Op>> {
        let mut ops: Vec<_> = state
            .clients
            .iter()
            .zip(self.story.clients)
            .map(|(client, ops)| ops.get(client.at).copied())
            .collect();
        ops.push(None);
        ops
    }

    /// Nobody is left: somebody who comes now finds a value that can be, and can replace it.
    fn at_the_end(&self, mut state: State, path: &Path) {
        let left = self.story.deaths - state.deaths + self.story.failures - state.failures;
        let keys = state.contents.0.len();
        let versions: usize = self.story.clients.iter().map(|ops| ops.len()).sum();
        assert!(
            keys <= KEYS_OF_A_VALUE + (KEYS_LEFT + versions) * left,
            "{keys} keys are left after {left} deaths or failures, {}: {:?}",
            path,
            state.contents.0.keys()
        );
        let counted = self.story.clients.iter().flat_map(|ops| ops.iter());
        if counted.clone().any(|op| matches!(op, Op::Adds(..))) {
            let tally = self.alone(&mut state, Op::Adds(u64::MAX, 0), LATER, path);
            assert!(matches!(tally, Answer::Tally(..)));
            return;
        }
        let Answer::Held(held) = self.alone(&mut state, get(), LATER, path) else {
            panic!("a get was answered by something else");
        };
        let held: Option<&'static str> = held.map(|held| {
            let known = ["a", "b", "c", "x", "y", "z"];
            let known = known.into_iter().find(|known| known.as_bytes() == held);
            known.unwrap_or_else(|| panic!("{KEY} holds {held:?} after {}", path))
        });
        for (at, (expected, new)) in (LATER..).zip([(held, Some("last")), (Some("last"), None)]) {
            let swapped = self.alone(&mut state, Op::Swap(expected, new), at, path);
            assert_eq!(swapped, Answer::Swapped(true), "after {}", path);
        }
    }

    /// One client alone performs an operation, from beginning to end.
    fn alone(&self, state: &mut State, op: Op, at: usize, path: &Path) -> Answer {
        let index = state.clients.len();
        let mut ops = self.ops(state);
        ops[index] = Some(op);
        let mut replies = Vec::new();
        state.monitor.begin(index);
        loop {
            match play(&op, salt(index, at), &replies) {
                Played::Wants(step) => replies.push(state.contents.take(&step)),
                Played::Over(answer) => {
                    let answer = answer
                        .unwrap_or_else(|error| panic!("{op:?} alone: {error:?} after {}", path));
                    assert!(
                        state.monitor.end(index, &answer, &ops),
                        "{op:?} alone was answered {answer:?}, which cannot be, after {}",
                        path
                    );
                    return answer;
                }
            }
            assert!(
                replies.len() <= STEPS_ALONE,
                "{op:?} alone is not done after {STEPS_ALONE} steps, after {}",
                path
            );
        }
    }
}

/// What happened at one point.
#[derive(Debug)]
enum Choice {
    Dies(usize),
    Steps(usize, Step, Goes),
}

/// All that has happened, the last first.
#[derive(Clone)]
struct Path(Option<Rc<(Choice, Path)>>);

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        let mut at = self;
        while let Some(last) = &at.0 {
            lines.push(match &last.0 {
                Choice::Dies(client) => format!("\n  {client} dies"),
                Choice::Steps(client, step, Goes::Well) => format!("\n  {client} {step:?}"),
                Choice::Steps(client, step, goes) => format!("\n  {client} {step:?} {goes:?}"),
            });
            at = &last.1;
        }
        lines.iter().rev().try_for_each(|line| f.write_str(line))
    }
}

/// Ids of an operation's own.
fn salt(client: usize, at: usize) -> u64 {
    let own = client * 16 + at + 1;
    (own as u64) << 32
}
