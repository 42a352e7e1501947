//! Every state that can be reached, and the graph argument over all of them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::bounds::Bounds;
use crate::model::{Model, in_words};
use crate::promises::{Broken, Promise};
use crate::state::State;
use crate::step::Step;

/// What an exhaustive search found.
#[derive(Debug, Clone)]
pub struct Report {
    /// Different states.
    pub states: usize,
    /// Steps between them.
    pub steps: usize,
    /// The most steps that a state is away from the start.
    pub depth: u32,
    /// How often the core was played: once for each call with different answers.
    pub plays: usize,
    /// The longest that it takes to closed, from any state, in ms: over healthy steps alone.
    pub recovery_ms: u32,
    /// The same for each instance's own breaker where the store never answers again; `None` where
    /// it always does.
    pub own_recovery_ms: Option<u32>,
    /// What happened, and on how many of the steps.
    pub events: BTreeMap<String, u64>,
    /// The most live probes of one domain.
    pub live_probes: usize,
}

/// A promise that was broken, and the way there.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Which.
    pub promise: Promise,
    /// How, and what happened before, a line a step.
    pub story: String,
}

struct Node {
    from: u32,
    depth: u32,
    step: Step,
    is_closed: bool,
    is_own_closed: bool,
    /// Whether closed need not be reached from here: by an operator's standing order.
    is_exempt: bool,
}

struct Edge {
    from: u32,
    to: u32,
    step: Step,
}

/// Searches all of it.
///
/// # Errors
/// The first promise that is broken, by one of the shortest ways there.
pub fn search(bounds: &Bounds) -> Result<Report, Box<Finding>> {
    let mut search = Search {
        model: Model::new(bounds.clone()),
        known: HashMap::new(),
        nodes: Vec::new(),
        healthy: Vec::new(),
        events: BTreeMap::new(),
    };
    search.all()
}

struct Search {
    model: Model,
    /// By a hash of 128 bits: two among ten million states are alike with a chance of 1 to 10^24.
    known: HashMap<u128, u32>,
    nodes: Vec<Node>,
    healthy: Vec<Edge>,
    events: BTreeMap<String, u64>,
}

fn digest(state: &State) -> u128 {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        state.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

impl Search {
    fn all(&mut self) -> Result<Report, Box<Finding>> {
        let start = self.model.start();
        let mut open = VecDeque::new();
        self.node(0, Step::TimePasses, &start);
        open.push_back((0, start));
        let (mut steps, mut live_probes) = (0, 0);
        while let Some((at, state)) = open.pop_front() {
            for domain in 0..self.model.bounds.domains {
                let live = crate::promises::live_probes(&self.model, &state, domain).count();
                live_probes = live_probes.max(live);
            }
            for step in self.model.steps(&state) {
                steps += 1;
                let after = match self.model.take(&state, step) {
                    Ok(after) => after,
                    Err(broken) => return Err(self.finding(at, Some(step), &broken)),
                };
                for event in after.events {
                    *self.events.entry(event).or_default() += 1;
                }
                let digest = digest(&after.state);
                let to = match self.known.get(&digest) {
                    Some(to) => *to,
                    None => {
                        let to = self.node(at, step, &after.state);
                        open.push_back((to, after.state));
                        to
                    }
                };
                let is_healthy =
                    self.model.is_healthy(step, false) || self.model.is_healthy(step, true);
                if is_healthy && to != at {
                    self.healthy.push(Edge { from: at, to, step });
                }
            }
        }
        let recovery_ms = self.recovery(false)?;
        let own_recovery_ms = match self.model.bounds.cut_off > 0 {
            true => Some(self.recovery(true)?),
            false => None,
        };
        Ok(Report {
            states: self.nodes.len(),
            steps,
            depth: self.nodes.iter().map(|n| n.depth).max().unwrap_or(0),
            plays: self.model.core.plays(),
            recovery_ms,
            own_recovery_ms,
            events: std::mem::take(&mut self.events),
            live_probes,
        })
    }

    fn node(&mut self, from: u32, step: Step, state: &State) -> u32 {
        let number = u32::try_from(self.nodes.len()).expect("less than 2^32 states");
        let depth = self.nodes.get(from as usize).map_or(0, |n| n.depth + 1);
        self.known.insert(digest(state), number);
        self.nodes.push(Node {
            from,
            depth,
            step,
            is_closed: self.model.is_closed(&state.store),
            is_own_closed: state.instances.iter().all(|i| self.model.is_closed(&i.own)),
            is_exempt: self.model.has_standing_order(state),
        });
        number
    }

    /// Never stuck: goes back from the closed states over healthy steps, and must come by every
    /// state. All that a healthy fleet does leads to states that are here too, and so never where
    /// closed is out of reach: in a finite graph that is closed sooner or later, whoever goes first,
    /// unless a step that is possible again and again is never taken. Answers the longest time.
    fn recovery(&self, cut_off: bool) -> Result<u32, Box<Finding>> {
        let mut into: Vec<Vec<(u32, bool)>> = vec![Vec::new(); self.nodes.len()];
        for edge in self
            .healthy
            .iter()
            .filter(|edge| self.model.is_healthy(edge.step, cut_off))
        {
            into[edge.to as usize].push((edge.from, edge.step == Step::TimePasses));
        }
        let mut ticks: Vec<Option<u32>> = vec![None; self.nodes.len()];
        let is_closed = |n: &Node| {
            if cut_off {
                n.is_own_closed
            } else {
                n.is_closed
            }
        };
        let closed = self.nodes.iter().enumerate().filter(|(_, n)| is_closed(n));
        let mut open: VecDeque<(u32, u32)> = closed.map(|(at, _)| (at as u32, 0)).collect();
        while let Some((at, after)) = open.pop_front() {
            if ticks[at as usize].is_some() {
                continue;
            }
            ticks[at as usize] = Some(after);
            for &(from, takes_time) in &into[at as usize] {
                if ticks[from as usize].is_some() {
                    continue;
                }
                // The nearest are looked at first.
                if takes_time {
                    open.push_back((from, after + 1));
                } else {
                    open.push_front((from, after));
                }
            }
        }
        let mut longest = 0;
        for (at, (node, ticks)) in self.nodes.iter().zip(&ticks).enumerate() {
            match ticks {
                Some(ticks) => longest = longest.max(*ticks),
                None if node.is_exempt => {}
                None => {
                    let broken = Broken {
                        promise: Promise::NeverStuck,
                        says: "from here closed is out of reach".into(),
                    };
                    return Err(self.finding(at as u32, None, &broken));
                }
            }
        }
        Ok(longest * self.model.bounds.tick as u32)
    }

    fn finding(&self, at: u32, last: Option<Step>, broken: &Broken) -> Box<Finding> {
        let mut way: Vec<Step> = last.into_iter().collect();
        let mut node = at;
        while node != 0 {
            way.push(self.nodes[node as usize].step);
            node = self.nodes[node as usize].from;
        }
        let mut model = Model::new(self.model.bounds.clone());
        let mut state = model.start();
        let mut lines = vec![broken.to_string()];
        for step in way.into_iter().rev() {
            lines.push(format!("  {step}"));
            if let Ok(after) = model.take(&state, step) {
                state = after.state;
                lines.push(format!(
                    "      {}",
                    in_words(&state.store, &model.core.forms)
                ));
            }
        }
        Box::new(Finding {
            promise: broken.promise,
            story: lines.join("\n"),
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} states, {} steps, depth {}; the core was played {} times; closed after {} ms at the most",
            self.states, self.steps, self.depth, self.plays, self.recovery_ms
        )
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.story)
    }
}
