//! The pieces put together: providers, gateway, traffic, view, summary.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fusewire_core::{DomainState, Phase, Target};
use tokio::sync::mpsc::UnboundedReceiver;

use super::meeting::{self, Meeting};
use super::providers::{self, FIRST, Outage, Providers, SECOND};
use super::script::{self, Mood};
use super::tally::{Kind, Line, Tally};
use super::traffic;
use super::view::{Frame, View};
use crate::gateway::config::{self, CheckError};
use crate::gateway::{Gateway, StartError};

/// How often the view is drawn.
const DRAWN_EVERY: Duration = Duration::from_millis(100);

/// How long traffic is watched to have returned before the demo ends.
const EPILOGUE: Duration = Duration::from_secs(2);

/// What the demo is to do.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Run on after the first outage, until interrupted.
    pub forever: bool,
    /// Share the breaker with other processes through this Redis.
    pub redis: Option<String>,
    /// Plain lines, on a terminal too.
    pub plain: bool,
}

/// Why the demo cannot run.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The providers cannot listen, or the terminal cannot be written to.
    #[error("the demo cannot go on: {0}")]
    Io(#[from] io::Error),
    /// Redis is not there.
    #[error(
        "the demo cannot reach Redis: {0}; start one with `redis-server`, or leave --redis out"
    )]
    Redis(#[from] redis::RedisError),
    /// Its own configuration is wrong.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// Its gateway cannot start.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// Who brought the providers.
enum Cast {
    /// This process, which knows how they are.
    Own(Arc<Outage>),
    /// Another, which tells.
    Others(Mood),
}

/// Runs the demo to its end, and writes a summary.
///
/// # Errors
/// See [`DemoError`].
pub async fn run(options: Options) -> Result<(), DemoError> {
    let mut meeting = match &options.redis {
        Some(url) => Some(Meeting::at(url).await?),
        None => None,
    };
    let met = match &mut meeting {
        Some(meeting) => meeting.look().await?,
        None => None,
    };
    let (mut notice, mut cast) = match met {
        Some(notice) => {
            let mood = notice.mood;
            (notice, Cast::Others(mood))
        }
        None => {
            let (providers, outage) = providers::start().await?;
            let prefix = format!("fusewire-demo-{}", std::process::id());
            (
                meeting::Notice {
                    providers,
                    prefix,
                    mood: Mood::Healthy,
                },
                Cast::Own(outage),
            )
        }
    };
    let (tally, lines) = Tally::new();
    let tally = Arc::new(tally);
    let settings = settings(&notice.providers, &notice.prefix, options.redis.as_deref());
    let config = config::parse(&settings, "the demo's configuration", Path::new(""))?;
    let gateway = Gateway::builder(config)
        .observer(Arc::clone(&tally) as _)
        .start()
        .await?;
    let traffic = tokio::spawn(traffic::run(gateway.address(), Arc::clone(&tally)));

    let stage = Stage {
        gateway: &gateway,
        tally: &tally,
        options: &options,
    };
    let ended = stage
        .play(&mut notice, &mut cast, meeting.as_mut(), lines)
        .await;
    traffic.abort();
    let last = stage.states().await;
    if let (Cast::Own(_), Some(meeting)) = (&cast, &mut meeting) {
        meeting.leave().await?;
        tokio::time::sleep(meeting::LEAVING).await;
    }
    gateway.stop().await;
    let ending = ended?;
    summary(&tally, &cast, &last, &ending)?;
    Ok(())
}

/// Why the demo came to its end.
enum Ending {
    Complete,
    Interrupted,
    OutOfTime,
    /// The process that brought the providers is gone.
    Deserted,
}

struct Stage<'a> {
    gateway: &'a Gateway,
    tally: &'a Tally,
    options: &'a Options,
}

impl Stage<'_> {
    async fn play(
        &self,
        notice: &mut meeting::Notice,
        cast: &mut Cast,
        mut meeting: Option<&mut Meeting>,
        mut lines: UnboundedReceiver<Line>,
    ) -> Result<Ending, DemoError> {
        let mut view = View::open(
            self.options.plain || !io::stdout().is_terminal(),
            &self.opening(cast),
        )?;
        let mut beat = tokio::time::interval(DRAWN_EVERY);
        let mut shown = None;
        let mut closed_since = None;
        let interrupted = tokio::signal::ctrl_c();
        tokio::pin!(interrupted);
        loop {
            tokio::select! {
                _ = beat.tick() => {}
                _ = &mut interrupted => return view.close().map(|()| Ending::Interrupted).map_err(Into::into),
            }
            if !confer(notice, cast, meeting.as_deref_mut()).await? {
                return view.close().map(|()| Ending::Deserted).map_err(Into::into);
            }
            let mood = cast.mood();
            if shown.is_some_and(|shown| shown != mood) {
                // Before the lines that follow from it.
                let now = self.tally.started.elapsed();
                view.line(&Line {
                    at: cast.mood_began().unwrap_or(now),
                    kind: Kind::Outage,
                    text: format!("{FIRST} {}", mood.describe()),
                })?;
            }
            shown = Some(mood);
            let states = self.states().await;
            if self.options.redis.is_some() {
                self.tally.look(&states);
            }
            while let Ok(line) = lines.try_recv() {
                view.line(&line)?;
            }
            view.frame(&Frame {
                tally: self.tally,
                states: &states,
                mood,
                now_ms: self.gateway.guard().now_ms(),
            })?;

            if self.options.forever {
                continue;
            }
            let elapsed = self.tally.started.elapsed();
            let closed = states.iter().all(|state| state.phase == Phase::Closed);
            let over =
                mood == Mood::Healthy && closed && self.tally.lookups.load(Ordering::Relaxed) > 0;
            let after_the_outage = match cast {
                Cast::Own(_) => elapsed > script::RECOVERED,
                // The script of the others began before; their leaving is the end.
                Cast::Others(_) => false,
            };
            closed_since = (over && after_the_outage).then(|| closed_since.unwrap_or(elapsed));
            if closed_since.is_some_and(|since| elapsed > since + EPILOGUE) {
                return view.close().map(|()| Ending::Complete).map_err(Into::into);
            }
            if elapsed > script::LATEST_END {
                return view.close().map(|()| Ending::OutOfTime).map_err(Into::into);
            }
        }
    }

    async fn states(&self) -> Vec<DomainState> {
        let mut states = Vec::new();
        for provider in [FIRST, SECOND] {
            states.extend(
                self.gateway
                    .guard()
                    .inspect(&Target::provider(provider))
                    .await,
            );
        }
        states
    }

    fn opening(&self, cast: &Cast) -> Vec<String> {
        let rate = 1_000 / traffic::EVERY.as_millis();
        let generation = self.gateway.guard().generations().active();
        let policy = generation.describe();
        let mut opening = vec![
            format!(
                "A gateway on http://{} with the policy {} {},",
                self.gateway.address(),
                policy.name,
                policy.version
            ),
            format!(
                "compiled to WebAssembly, asks {FIRST} first and {SECOND} where {FIRST} cannot answer."
            ),
            format!(
                "{rate} place names a second are looked up through it. {FIRST} is about to have an outage."
            ),
        ];
        match (cast, &self.options.redis) {
            (Cast::Own(_), Some(_)) => {
                opening.push("Other processes with the same --redis share its breaker.".into())
            }
            (Cast::Others(_), _) => {
                opening.push(
                    "Another process brought the providers, and shares its breaker with this one."
                        .into(),
                );
            }
            (Cast::Own(_), None) => {}
        }
        opening
    }
}

impl Cast {
    fn mood(&self) -> Mood {
        match self {
            Self::Own(outage) => outage.mood(),
            Self::Others(mood) => *mood,
        }
    }

    /// Since when, in time since the start, where that is known.
    fn mood_began(&self) -> Option<Duration> {
        match self {
            Self::Own(outage) => Some(outage.mood_began()),
            Self::Others(_) => None,
        }
    }
}

/// Tells the others how the providers are, or hears it. `false`: those who brought them are gone.
async fn confer(
    notice: &mut meeting::Notice,
    cast: &mut Cast,
    meeting: Option<&mut Meeting>,
) -> Result<bool, redis::RedisError> {
    let Some(meeting) = meeting else {
        return Ok(true);
    };
    match cast {
        Cast::Own(outage) => {
            notice.mood = outage.mood();
            meeting.tell(notice).await?;
        }
        Cast::Others(mood) => match meeting.look().await? {
            Some(heard) if heard.prefix == notice.prefix => *mood = heard.mood,
            _ => return Ok(false),
        },
    }
    Ok(true)
}

/// The demo's configuration: what a user would write, with shorter times so that nobody waits.
fn settings(providers: &Providers, prefix: &str, redis: Option<&str>) -> String {
    let store = redis.map_or(String::new(), |url| format!("[store]\nurl = {url:?}\n"));
    format!(
        r#"
listen = "127.0.0.1:0"
{store}
[policy]
prefix = "{prefix}"
breaker.failures = {{ count = 5, window = "10s" }}
breaker.failure-ratio = false
breaker.cool-down = {{ first = "3s", max = "10s" }}
breaker.probes = {{ needed = 3, lease = "2s" }}
retry = {{ attempts = 2, base = "50ms" }}

[providers.{FIRST}]
url = "http://{}/search?q={{q}}"
connect = "300ms"
read = "600ms"
total = "600ms"

[providers.{SECOND}]
url = "http://{}/search?q={{q}}"
connect = "300ms"
read = "2s"
total = "2s"

[[routes]]
path = "/geocode"
chain = ["{FIRST}", "{SECOND}"]
"#,
        providers.first, providers.second
    )
}

fn summary(tally: &Tally, cast: &Cast, states: &[DomainState], ending: &Ending) -> io::Result<()> {
    let get = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let mut out = io::stdout().lock();
    let heading = match ending {
        Ending::Complete => "The outage is over, and traffic has returned.",
        Ending::Interrupted => "Interrupted.",
        Ending::OutOfTime => "The demo is out of time.",
        Ending::Deserted => "The process that brought the providers has ended.",
    };
    writeln!(out, "\n{heading}\n")?;
    let lookups = get(&tally.lookups);
    writeln!(out, "  {lookups:>5}  places looked up")?;
    writeln!(out, "  {:>5}  answered by {FIRST}", get(&tally.by_first))?;
    writeln!(
        out,
        "  {:>5}  answered by {SECOND} instead",
        get(&tally.by_second)
    )?;
    writeln!(out, "  {:>5}  without an answer", get(&tally.unanswered))?;
    writeln!(
        out,
        "  {:>5}  calls saved: {FIRST} was not asked, since the breaker knew better",
        get(&tally.saved)
    )?;
    if let Cast::Own(outage) = cast {
        writeln!(
            out,
            "  {:>5}  calls reached {FIRST} during its outage",
            outage.hit.load(Ordering::Relaxed)
        )?;
    }
    writeln!(
        out,
        "  {:>5}  opening{}, {} probe{}",
        get(&tally.trips),
        if get(&tally.trips) == 1 { "" } else { "s" },
        get(&tally.probes),
        if get(&tally.probes) == 1 { "" } else { "s" },
    )?;
    for state in states {
        writeln!(out, "         {} is {}", state.domain, state.phase)?;
    }
    out.flush()
}
