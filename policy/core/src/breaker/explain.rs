//! Why a domain stands as it does, for people: the phase, each rule with what is counted and what it
//! takes, and whatever else keeps calls back or lets them pass.

use super::order::stopped;
use super::rules::{self, Counter, Rule, Test};
use super::types::{Context, Fact, OverrideError, OverrideMode, Phase};
use super::{Side, slow};
use crate::config::{BreakerSettings, Config, Settings, duration::format_ms};
use crate::record::{Reading, Record, Seen, Standing};
use crate::store::{KeyValue, Session, Stop, Tally};
use crate::target::Domain;

/// From how many openings soon after a close on a provider is said to flap.
const FLAPS: u32 = 2;

/// Tells why a domain stands as it does, changing nothing. See `wit/operator.wit`.
///
/// # Errors
/// The domain is not valid, or the store did not do its part.
pub fn explain(
    config: &Config,
    store: &mut dyn KeyValue,
    domain: &str,
    context: &Context,
) -> Result<Vec<Fact>, OverrideError> {
    let domain = Domain::parse(domain).map_err(OverrideError::Invalid)?;
    let settings = config.settings(domain.provider());
    let session = &mut Session::new(store);
    let teller = Teller {
        settings,
        now: context.now_ms,
    };
    let fleet = look(config, settings, session, &domain, Side::Fleet, context).map_err(stopped)?;
    let mut facts = teller.facts(&fleet);
    if settings.breaker.quorum.is_needed() {
        let own = look(config, settings, session, &domain, Side::Own, context).map_err(stopped)?;
        facts.push(teller.own(&own));
    }
    Ok(facts)
}

/// A record, and what each window of a rule holds.
struct Looked {
    seen: Seen,
    rules: Vec<(Rule, Tally)>,
    longest: Tally,
}

fn look(
    config: &Config,
    settings: &Settings,
    session: &mut Session<'_>,
    domain: &Domain<'_>,
    side: Side,
    context: &Context,
) -> Result<Looked, Stop> {
    let now = context.now_ms;
    let key = side.record_key(domain, config, &context.instance);
    let bytes = session.get(&[key])?.into_iter().next().flatten();
    let seen = Seen::read(bytes, settings, now);
    let counter = Counter {
        settings: &settings.breaker,
        key: &side.window_key(domain, config, &context.instance),
        epoch: seen.epoch(),
        now,
        witness: None,
    };
    let rules: Vec<Rule> = rules::rules(&settings.breaker).collect();
    let lengths: Vec<u64> = rules.iter().map(|rule| rule.window_ms).collect();
    let mut windows = vec![counter.longest(None)];
    windows.extend(counter.closely(&lengths));
    let mut tallies = session.count(windows)?.into_iter();
    let longest = tallies.next().unwrap_or_else(|| Tally {
        epoch: 0,
        lanes: Vec::new(),
    });
    Ok(Looked {
        seen,
        rules: rules.into_iter().zip(tallies).collect(),
        longest,
    })
}

fn fact(subject: impl Into<String>, value: impl Into<String>, says: impl Into<String>) -> Fact {
    Fact {
        subject: subject.into(),
        value: value.into(),
        says: says.into(),
    }
}

struct Teller<'a> {
    settings: &'a Settings,
    now: u64,
}

impl Teller<'_> {
    fn facts(&self, looked: &Looked) -> Vec<Fact> {
        let breaker = &self.settings.breaker;
        let mut facts = vec![self.phase(&looked.seen)];
        facts.extend(self.order(&looked.seen));
        let record = looked.seen.record();
        facts.extend(record.and_then(|record| self.hold(record)));
        facts.extend(record.and_then(|record| self.probes(record)));
        facts.extend(record.and_then(|record| self.ramp(record)));
        facts.extend(record.and_then(|record| self.openings(record)));
        for (rule, tally) in &looked.rules {
            facts.push(rule_fact(rule, tally));
        }
        if breaker.quorum.is_needed() {
            facts.push(quorum(breaker, &looked.longest));
        }
        facts.extend(self.slow(&looked.seen));
        if breaker.enforce_percent < 100 {
            facts.push(fact(
                "enforcement",
                breaker.enforce_percent.to_string(),
                format!(
                    "by the configuration {} of a hundred refusals are enforced",
                    breaker.enforce_percent
                ),
            ));
        }
        facts
    }

    fn span(&self, until: u64) -> String {
        spoken(until.saturating_sub(self.now))
    }

    fn phase(&self, seen: &Seen) -> Fact {
        if let Reading::Newer(newer) = &seen.reading {
            return fact(
                "phase",
                if newer.closed { "closed" } else { "open" },
                "the record was written by a newer policy, and is read in the safest way",
            );
        }
        let record = seen.record();
        let rule = record.map_or("", |record| record.rule.as_str());
        match seen.standing(self.now) {
            Standing::Closed if record.is_none_or(|record| record.epoch == 0) => fact(
                "phase",
                Phase::Closed.name(),
                "closed, and has not tripped for as long as the store remembers",
            ),
            Standing::Closed => fact(
                "phase",
                Phase::Closed.name(),
                format!(
                    "closed for {}",
                    spoken(self.now.saturating_sub(seen.epoch()))
                ),
            ),
            Standing::Open(until) => fact(
                "phase",
                Phase::Open.name(),
                format!("open for another {} by the rule `{rule}`", self.span(until)),
            ),
            Standing::Probing(lease) => fact(
                "phase",
                Phase::HalfOpen.name(),
                format!(
                    "half-open: a call of {} is testing the recovery, and has {} for it",
                    lease.owner,
                    self.span(lease.expires_ms)
                ),
            ),
            Standing::Ready(_) => fact(
                "phase",
                Phase::HalfOpen.name(),
                format!(
                    "half-open after an opening by the rule `{rule}`: the next call tests the recovery"
                ),
            ),
        }
    }

    fn order(&self, seen: &Seen) -> Option<Fact> {
        let order = seen.order(self.now)?;
        let until = match order.until_ms {
            0 => "until it is cleared".to_owned(),
            until => format!("for another {}", self.span(until)),
        };
        let what = match order.mode {
            OverrideMode::Open => "every call is refused".to_owned(),
            OverrideMode::Closed => "every call is let through, and nothing trips".to_owned(),
            OverrideMode::Off => "every call is let through, and none is counted".to_owned(),
            OverrideMode::Observe if order.enforce_percent > 0 => format!(
                "{} of a hundred refusals are enforced",
                order.enforce_percent
            ),
            OverrideMode::Observe => "it decides, and every call is let through".to_owned(),
        };
        Some(fact(
            "order",
            order.mode.name(),
            format!("{what}, {until}, by {}: {}", order.who, order.why),
        ))
    }

    fn hold(&self, record: &Record) -> Option<Fact> {
        let hold = record.hold(self.now)?;
        Some(fact(
            "hold",
            hold.until.saturating_sub(self.now).to_string(),
            format!(
                "held back for another {}: {}",
                self.span(hold.until),
                hold.why
            ),
        ))
    }

    fn probes(&self, record: &Record) -> Option<Fact> {
        let needed = self.settings.breaker.probes.needed;
        (record.phase == Phase::HalfOpen).then(|| {
            fact(
                "probes",
                record.passed.to_string(),
                format!(
                    "{} of the {needed} clean probes in a row that close it",
                    record.passed
                ),
            )
        })
    }

    fn ramp(&self, record: &Record) -> Option<Fact> {
        let ramp = self.settings.breaker.ramp?;
        let end = record.epoch.saturating_add(ramp.time_ms);
        let is_ramping = record.phase == Phase::Closed && record.epoch > 0 && self.now < end;
        is_ramping.then(|| {
            fact(
                "ramp",
                end.saturating_sub(self.now).to_string(),
                format!("takes all calls again in {}", self.span(end)),
            )
        })
    }

    fn openings(&self, record: &Record) -> Option<Fact> {
        let quiet = self.settings.breaker.cool_down.quiet_ms;
        let is_over =
            record.phase == Phase::Closed && self.now.saturating_sub(record.epoch) >= quiet;
        if record.openings == 0 || is_over {
            return None;
        }
        let flapping = match record.flaps {
            FLAPS.. => format!(
                "; it is flapping: {} times it opened again soon after it had closed",
                record.flaps
            ),
            _ => String::new(),
        };
        Some(fact(
            if flapping.is_empty() {
                "openings"
            } else {
                "flapping"
            },
            record.openings.to_string(),
            format!(
                "{} opening{} in a row, until it has been closed for {}{flapping}",
                record.openings,
                if record.openings == 1 { "" } else { "s" },
                format_ms(quiet)
            ),
        ))
    }

    fn slow(&self, seen: &Seen) -> Option<Fact> {
        self.settings.breaker.slow_ratio?;
        let absolute = self.settings.slow.limit_ms;
        let says = match slow::learnt_limit(self.settings, seen, self.now) {
            Some(limit) => {
                let p99 = seen
                    .record()
                    .and_then(|r| r.pace)
                    .map_or(0, |pace| pace.p99);
                return Some(fact(
                    "slow",
                    limit.to_string(),
                    format!(
                        "a call is slow from {} on: 99 of a hundred good answers took less than {}",
                        format_ms(limit),
                        format_ms(p99)
                    ),
                ));
            }
            None => format!("a call is slow from {} on", format_ms(absolute)),
        };
        Some(fact("slow", absolute.to_string(), says))
    }

    /// How this instance's own breaker stands.
    fn own(&self, own: &Looked) -> Fact {
        let Fact { value, says, .. } = self.phase(&own.seen);
        fact("this instance", value, format!("on its own it is {says}"))
    }
}

/// A span as people say it: in whole seconds, where it is one at least.
fn spoken(ms: u64) -> String {
    match ms {
        ..1_000 => format_ms(ms),
        _ => format_ms(ms.div_ceil(1_000).saturating_mul(1_000)),
    }
}

fn quorum(breaker: &BreakerSettings, tally: &Tally) -> Fact {
    let (instances, prints) = rules::witnesses(tally);
    let needed = breaker.quorum;
    fact(
        "quorum",
        if rules::is_quorum(breaker, tally) {
            "met"
        } else {
            "not met"
        },
        format!(
            "{instances} of {} instances and {prints} of {} requests have seen trouble; below that \
             each instance opens for itself alone",
            needed.instances, needed.fingerprints
        ),
    )
}

fn rule_fact(rule: &Rule, tally: &Tally) -> Fact {
    let window = format_ms(rule.window_ms);
    let of = |(part, all): (u64, u64), what: &str, share: f64, minimum: u64| {
        format!(
            "{part} of {all} calls in {window} {what}; it takes {} of a hundred, of at least {minimum}",
            // As written in a configuration, near enough for people.
            (share * 100.0).round() as u64
        )
    };
    let (value, says) = match rule.test {
        Test::Failures(count) => {
            let (failures, _) = rules::failed_of(tally);
            let says = format!("{failures} failures in {window}; it takes {count}");
            (failures, says)
        }
        Test::FailureRatio { share, minimum } => {
            let counted = rules::failed_of(tally);
            (counted.0, of(counted, "failed", share, minimum))
        }
        Test::SlowRatio { share, minimum } => {
            let counted = rules::slow_of(tally);
            (counted.0, of(counted, "were slow", share, minimum))
        }
    };
    fact(rule.name, value.to_string(), says)
}
