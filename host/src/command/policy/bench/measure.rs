//! Measuring, each side in turns with the other: a machine whose speed drifts drifts for both.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::Side;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Compile,
    Instantiate,
    Admit,
    Classify,
    Settle,
    Next,
}

/// What it takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    pub(super) median: Duration,
    pub(super) p99: Duration,
}

impl Work {
    pub(super) const ALL: [Self; 6] = [
        Self::Compile,
        Self::Instantiate,
        Self::Admit,
        Self::Classify,
        Self::Settle,
        Self::Next,
    ];

    /// The width of the longest name, with some room.
    pub(super) const WIDTH: usize = 16;

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Compile => "compile",
            Self::Instantiate => "first instance",
            Self::Admit => "admit",
            Self::Classify => "classify",
            Self::Settle => "settle",
            Self::Next => "next",
        }
    }

    /// How many rounds, and runs in each. The first round warms up, and does not count.
    fn rounds(self) -> (usize, usize) {
        match self {
            Self::Compile => (6, 1),
            Self::Instantiate => (6, 100),
            _ => (11, 1_000),
        }
    }

    /// Does it once: how long it took; `None`: the policy refuses the call.
    fn once(self, side: &Side) -> anyhow::Result<Option<Duration>> {
        let timed = |work: &dyn Fn() -> anyhow::Result<()>| {
            let began = Instant::now();
            work()?;
            Ok(Some(began.elapsed()))
        };
        match self {
            Self::Compile => timed(&|| side.compile()),
            Self::Instantiate => timed(&|| side.instantiate()),
            Self::Admit => timed(&|| {
                black_box(side.admit()?);
                Ok(())
            }),
            Self::Classify => timed(&|| {
                black_box(side.classify()?);
                Ok(())
            }),
            Self::Settle => {
                let Some(permit) = side.admit()? else {
                    return Ok(None);
                };
                let verdict = side.classify()?;
                let began = Instant::now();
                side.settle(permit, verdict)?;
                Ok(Some(began.elapsed()))
            }
            Self::Next => {
                let verdict = side.classify()?;
                let began = Instant::now();
                side.next(verdict)?;
                Ok(Some(began.elapsed()))
            }
        }
    }
}

/// What it takes on each side; `None`: that policy refuses the call.
pub(super) fn measure(sides: &[Side], work: Work) -> anyhow::Result<Vec<Option<Cost>>> {
    let (rounds, runs) = work.rounds();
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); sides.len()];
    for round in 0..rounds {
        for (side, times) in sides.iter().zip(&mut times) {
            for _ in 0..runs {
                let took = work.once(side)?;
                if round > 0 {
                    times.extend(took);
                }
            }
        }
    }
    Ok(times.into_iter().map(cost).collect())
}

fn cost(mut times: Vec<Duration>) -> Option<Cost> {
    times.sort_unstable();
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place in a list of some thousands"
        )]
        let place = (times.len() as f64 * share) as usize;
        times.get(place.min(times.len().saturating_sub(1))).copied()
    };
    Some(Cost {
        median: at(0.5)?,
        p99: at(0.99)?,
    })
}
