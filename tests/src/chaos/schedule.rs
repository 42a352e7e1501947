//! What is done to the fleet when: the same for the same seed. What the fleet then does depends on
//! the machine as well.

use std::time::Duration;

use super::provider::Mood;
use super::random::Random;

/// One thing that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A provider, by its place, does something else.
    Mood(usize, Mood),
    /// A process is killed, and started again after so long.
    Kill(Victim, Duration),
    /// A process is stopped for so long.
    Pause(Victim, Duration),
    /// The store answers nobody for so long, and then all at once.
    PauseStore(Duration),
    /// The store's process is stopped for so long.
    StopStore(Duration),
    /// The store is killed, and an empty one is there after so long.
    KillStore(Duration),
}

/// Whom something is done to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    /// This process, by its place.
    Process(usize),
    /// Whoever holds the probe lease of this provider, by its place; this process where nobody does.
    Holder(usize, usize),
}

/// The longest that a process is stopped.
pub const PAUSE_MAX: Duration = Duration::from_millis(2_000);

/// What is done to so many processes and providers within this time, in order.
#[must_use]
pub fn schedule(
    seed: u64,
    lasts: Duration,
    processes: usize,
    providers: usize,
) -> Vec<(Duration, Step)> {
    let mut steps = Vec::new();
    for provider in 0..providers {
        moods(
            Random::apart(seed, &format!("moods {provider}")),
            lasts,
            provider,
            &mut steps,
        );
    }
    let mut random = Random::apart(seed, "kills");
    spread(&mut random, 1_500..4_000, lasts, |at, random| {
        let victim = victim(random, 50, processes, providers);
        steps.push((at, Step::Kill(victim, ms(random, 50..1_000))));
    });
    let mut random = Random::apart(seed, "pauses");
    let longest = u64::try_from(PAUSE_MAX.as_millis()).unwrap_or(u64::MAX);
    spread(&mut random, 1_000..3_000, lasts, |at, random| {
        let victim = victim(random, 60, processes, providers);
        steps.push((at, Step::Pause(victim, ms(random, 600..longest))));
    });
    let mut random = Random::apart(seed, "store");
    spread(&mut random, 6_000..13_000, lasts, |at, random| {
        let step = match random.within(0..3) {
            0 => Step::PauseStore(ms(random, 200..1_500)),
            1 => Step::StopStore(ms(random, 300..2_000)),
            _ => Step::KillStore(ms(random, 100..2_500)),
        };
        steps.push((at, step));
    });
    steps.sort_by_key(|(at, _)| *at);
    steps
}

/// A provider is healthy and then is not, in turn.
fn moods(mut random: Random, lasts: Duration, provider: usize, steps: &mut Vec<(Duration, Step)>) {
    let mut at = Duration::ZERO;
    loop {
        at += ms(&mut random, 400..1_800);
        let (bad, longest) = *random.one_of(&[
            (Mood::Failing, 1_500),
            (Mood::Hanging, 1_200),
            (Mood::Flapping, 1_800),
        ]);
        let until = at + ms(&mut random, 300..longest);
        if until >= lasts {
            return;
        }
        steps.push((at, Step::Mood(provider, bad)));
        steps.push((until, Step::Mood(provider, Mood::Healthy)));
        at = until;
    }
}

/// Does something again and again, with a pause of so many ms before each.
fn spread(
    random: &mut Random,
    every: std::ops::Range<u64>,
    lasts: Duration,
    mut does: impl FnMut(Duration, &mut Random),
) {
    let mut at = Duration::ZERO;
    loop {
        at += ms(random, every.clone());
        if at >= lasts {
            return;
        }
        does(at, random);
    }
}

fn victim(random: &mut Random, aimed: u64, processes: usize, providers: usize) -> Victim {
    let mut one_of = |number: usize| {
        let at = random.within(0..number as u64);
        usize::try_from(at).expect("a small number")
    };
    let (process, provider) = (one_of(processes), one_of(providers));
    if random.percent(aimed) {
        Victim::Holder(provider, process)
    } else {
        Victim::Process(process)
    }
}

fn ms(random: &mut Random, range: std::ops::Range<u64>) -> Duration {
    Duration::from_millis(random.within(range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_brings_the_same_schedule_back_and_another_another() {
        let lasts = Duration::from_secs(60);
        let steps = schedule(7, lasts, 8, 2);
        assert_eq!(steps, schedule(7, lasts, 8, 2));
        assert_ne!(steps, schedule(8, lasts, 8, 2));
        let has = |is_it: fn(&Step) -> bool| steps.iter().any(|(_, step)| is_it(step));
        assert!(has(|step| matches!(
            step,
            Step::Kill(Victim::Holder(..), _)
        )));
        assert!(has(|step| matches!(
            step,
            Step::Pause(Victim::Process(_), _)
        )));
        assert!(has(|step| matches!(step, Step::Mood(1, Mood::Hanging))));
        assert!(steps.iter().all(|(at, _)| *at < lasts));
    }
}
