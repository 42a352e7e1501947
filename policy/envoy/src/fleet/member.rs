//! One worker's part in the exchange, tick by tick.

use crate::config::FleetSettings;
use crate::host::{Buffer, Call, Host, Level, Map};
use crate::metrics::Metric;
use crate::root::{Desk, Root, millis};
use crate::store::change::{GROUPS, Groups};
use crate::store::sweep::sweep;

use super::ask::{Asked, collect};
use super::clock;
use super::learn::learn;
use super::lease::{Lease, Mode};
use super::message::{Answer, Question};

/// How often a worker's turn comes, in ms: how long a count waits for company that does not come.
pub const TICK_MS: u64 = 50;

/// How often the store is swept, in ms.
const SWEEP_EVERY_MS: u64 = 250;

/// How many groups are swept at once.
const SWEPT: usize = GROUPS / 4;

/// How long past its limit an answer is waited for, in ms. Envoy tells of its absence itself; were
/// that lost, the exchange would stand still.
const GRACE_MS: u64 = 1_000;

/// One worker's part.
#[derive(Debug)]
pub struct Member {
    lease: Lease,
    /// How often it does what the leader does, when it does so next, and when it sweeps next.
    every_ms: u64,
    due_ms: u64,
    sweep_due_ms: u64,
    /// The exchange that is on its way.
    under_way: Option<UnderWay>,
    mode: Mode,
    /// The group that the next exchange begins at.
    next: usize,
    /// The group that the next sweep begins at, and what the ones before it in this round hold.
    swept: usize,
    held: u64,
}

#[derive(Debug)]
struct UnderWay {
    token: u32,
    sent_ns: u64,
    asked: Asked,
}

impl Member {
    /// A worker that has done nothing yet. `token`: no other worker's.
    #[must_use]
    pub fn new(root: &Root, token: u64) -> Self {
        let every_ms = root
            .settings
            .fleet
            .as_ref()
            .map_or(SWEEP_EVERY_MS, |fleet| fleet.every_ms);
        Self {
            lease: Lease::new(&root.scope.prefix, token, every_ms),
            every_ms,
            due_ms: 0,
            sweep_due_ms: 0,
            under_way: None,
            mode: Mode::Unknown,
            next: 0,
            swept: 0,
            held: 0,
        }
    }

    /// Does what is due.
    pub fn tick<H: Host>(&mut self, root: &Root, desk: &mut Desk<'_, H>) {
        let Ok(now_ns) = desk.host.now_ns() else {
            return;
        };
        let now_ms = millis(now_ns);
        root.settle_deferred(desk);
        root.store(desk.host, now_ns, true).flush();
        if is_due(&mut self.due_ms, now_ms, self.every_ms) {
            self.turn_of(root, desk, now_ns);
        }
        desk.metrics.notes(desk.host, &root.notes);
    }

    /// What is due every so often.
    fn turn_of<H: Host>(&mut self, root: &Root, desk: &mut Desk<'_, H>, now_ns: u64) {
        let ahead_ms = clock::ahead_ms(desk.host, &root.scope.prefix);
        root.ahead_ms.set(ahead_ms);
        let Some(mode) = self.lease.hold(desk.host, millis(now_ns)) else {
            return;
        };
        self.mode = mode;
        if is_due(&mut self.sweep_due_ms, millis(now_ns), SWEEP_EVERY_MS) {
            self.sweep(root, desk, now_ns);
        }
        if let Some(fleet) = &root.settings.fleet {
            self.overdue(root, fleet, desk, now_ns);
            if self.under_way.is_none() {
                self.ask(root, fleet, desk, now_ns);
            }
        }
    }

    fn sweep<H: Host>(&mut self, root: &Root, desk: &Desk<'_, H>, now_ns: u64) {
        let groups = Groups::new(desk.host, &root.notes, &root.scope, millis(now_ns));
        let Ok(held) = sweep(&groups, self.swept, SWEPT) else {
            return;
        };
        self.held = self.held.saturating_add(held);
        self.swept = self.swept.saturating_add(SWEPT);
        if self.swept >= GROUPS {
            desk.metrics.set(desk.host, Metric::Keys, self.held);
            self.swept = 0;
            self.held = 0;
        }
    }

    fn ask<H: Host>(
        &mut self,
        root: &Root,
        fleet: &FleetSettings,
        desk: &mut Desk<'_, H>,
        now_ns: u64,
    ) {
        // Zero stands for no exchange.
        let exchange = desk.entropy.draw(now_ns) | 1;
        let groups = Groups::new(desk.host, &root.notes, &root.scope, millis(now_ns));
        let asked = collect(&groups, &root.scope, exchange, self.next);
        self.next = asked.next;
        let question = Question {
            instance: &root.instance,
            prefix: &root.scope.prefix,
            records: asked.records.iter().map(|record| record.told()).collect(),
            counters: asked.counters.clone(),
        };
        // Texts, numbers and lists: nothing that JSON cannot have.
        let body = serde_json::to_vec(&question).unwrap_or_default();
        let bearer = fleet
            .token
            .as_ref()
            .map(|token| ["Bearer ", token].concat());
        let mut headers = vec![
            (":method", "POST"),
            (":path", fleet.path.as_str()),
            (":authority", fleet.authority.as_str()),
            ("content-type", "application/json"),
        ];
        if let Some(bearer) = &bearer {
            headers.push(("authorization", bearer));
        }
        let sent = desk.host.call(&Call {
            cluster: &fleet.cluster,
            headers: &headers,
            body: &body,
            timeout_ms: u32::try_from(fleet.timeout_ms).unwrap_or(u32::MAX),
        });
        match sent {
            Ok(token) => {
                self.under_way = Some(UnderWay {
                    token,
                    sent_ns: now_ns,
                    asked,
                })
            }
            Err(status) => {
                self.failed(
                    root,
                    desk,
                    now_ns,
                    &format!("it cannot be asked ({status})"),
                );
            }
        }
    }

    /// Gives up an exchange of which nothing was heard.
    fn overdue<H: Host>(
        &mut self,
        root: &Root,
        fleet: &FleetSettings,
        desk: &Desk<'_, H>,
        now_ns: u64,
    ) {
        let limit_ms = fleet.timeout_ms.saturating_add(GRACE_MS);
        let late = self
            .under_way
            .as_ref()
            .is_some_and(|exchange| millis(now_ns.saturating_sub(exchange.sent_ns)) > limit_ms);
        if late {
            self.under_way = None;
            self.failed(root, desk, now_ns, "nothing was heard of it");
        }
    }

    /// Takes the answer to a call; `came`: whether there is one, of `size` bytes.
    pub fn answered<H: Host>(
        &mut self,
        root: &Root,
        desk: &Desk<'_, H>,
        token: u32,
        came: bool,
        size: u32,
    ) {
        let Some(exchange) = self.under_way.take_if(|exchange| exchange.token == token) else {
            return;
        };
        let now_ns = desk.host.now_ns().unwrap_or(exchange.sent_ns);
        let now_ms = millis(now_ns);
        if self.lease.hold(desk.host, now_ms).is_none() {
            // Another worker leads by now, and knows better.
            return;
        }
        let sent_ms = millis(exchange.sent_ns);
        let answer = read(desk.host, came, size);
        let answer = answer.and_then(|answer| dated(answer, sent_ms, now_ms));
        match answer {
            Ok((answer, ahead)) => {
                let round_trip = now_ms.saturating_sub(sent_ms);
                clock::note(desk.host, &root.scope.prefix, ahead, round_trip);
                let groups = Groups::new(desk.host, &root.notes, &root.scope, now_ms);
                let (learned, refused) = learn(&groups, &exchange.asked, &answer);
                if learned {
                    root.scope.next_turn(desk.host);
                }
                desk.metrics
                    .add(desk.host, Metric::ExchangeRefused, refused);
                desk.metrics.count(desk.host, Metric::ExchangeOk);
                self.turn(desk, Mode::Shared, now_ms, "");
            }
            Err(why) => self.failed(root, desk, now_ns, &why),
        }
        desk.metrics.notes(desk.host, &root.notes);
    }

    fn failed<H: Host>(&mut self, root: &Root, desk: &Desk<'_, H>, now_ns: u64, why: &str) {
        desk.metrics.count(desk.host, Metric::ExchangeFailed);
        desk.metrics.notes(desk.host, &root.notes);
        self.turn(desk, Mode::Lost, millis(now_ns), why);
    }

    /// Notes what is known of the fleet, and says so where that has changed.
    fn turn<H: Host>(&mut self, desk: &Desk<'_, H>, mode: Mode, now_ms: u64, why: &str) {
        desk.metrics
            .set(desk.host, Metric::ExchangeMode, mode as u64);
        if mode == self.mode {
            return;
        }
        let before = std::mem::replace(&mut self.mode, mode);
        self.lease.note(desk.host, mode, now_ms);
        if mode == Mode::Lost {
            let line = format!("fusewire: fleet lost: {why}; this Envoy decides by itself");
            desk.host.log(Level::Warn, &line);
        } else {
            let again = match before {
                Mode::Lost => "back",
                _ => "found",
            };
            let line = format!("fusewire: fleet {again}: what it knows is shared");
            desk.host.log(Level::Info, &line);
        }
    }
}

/// Whether something is due that is done every so often; then it is due again after that time. A
/// clock that was set back delays nothing.
fn is_due(due_ms: &mut u64, now_ms: u64, every_ms: u64) -> bool {
    if now_ms < *due_ms && now_ms.saturating_add(every_ms) >= *due_ms {
        return false;
    }
    *due_ms = now_ms.saturating_add(every_ms);
    true
}

/// An answer, and how far the fleet's clock is ahead by it.
fn dated(answer: Answer, sent_ms: u64, now_ms: u64) -> Result<(Answer, i64), String> {
    let ahead = clock::between(sent_ms, now_ms, answer.now_ms);
    if clock::is_believable(ahead) {
        return Ok((answer, ahead));
    }
    Err(format!(
        "its clock is {ahead} ms ahead of this host's, and a day is the most that is believed"
    ))
}

/// The answer, where it is one.
fn read<H: Host>(host: &H, came: bool, size: u32) -> Result<Answer, String> {
    if !came {
        return Err("it did not answer".into());
    }
    let status = host.header(Map::CallHeaders, ":status").ok().flatten();
    let status = status.unwrap_or_default();
    if status != "200" {
        return Err(format!("it answered {status}"));
    }
    let body = host
        .buffer(Buffer::CallBody, 0, size)
        .map_err(|status| format!("its answer cannot be read ({status})"))?;
    Answer::read(&body).ok_or_else(|| "it answered what is no answer".to_owned())
}
