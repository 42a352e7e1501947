//! The series of domains, as they are written.

use std::fmt;
use std::sync::Arc;

use fusewire_core::{IgnoredReason, Phase, ProbeOutcome, RefusalReason};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::domains::Domains;
use super::series::{LIMITS, Seldom, Series, Transitions};

/// Writes the series of all domains.
#[derive(Clone)]
pub(super) struct Written(pub(super) Arc<Domains>);

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Written")
    }
}

type All = [(Arc<str>, Series)];

impl Collector for Written {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let all = self.0.all();
        phases(&mut encoder, &all)?;
        let words = (
            "transitions",
            "Changes of a breaker's phase that this host brought about, by the rule that asked for them.",
        );
        transitions(&mut encoder, &all, words, |seldom| &seldom.transitions)?;
        let words = (
            "own_transitions",
            "Changes of phase of this host's own breaker, which opens for itself alone.",
        );
        transitions(&mut encoder, &all, words, |seldom| &seldom.own_transitions)?;
        by(
            &mut encoder,
            &all,
            Counts {
                name: "probes",
                help: "Probes of half-open domains, by what became of them.",
                label: "outcome",
                words: ProbeOutcome::WORDS.iter().map(|(word, _)| *word),
                of: |seldom| &seldom.probes,
                from_the_start: true,
            },
        )?;
        by(
            &mut encoder,
            &all,
            Counts {
                name: "refusals",
                help: "Calls that were refused without an attempt.",
                label: "reason",
                words: RefusalReason::WORDS.iter().map(|(word, _)| *word),
                of: |seldom| &seldom.refusals,
                from_the_start: true,
            },
        )?;
        by(
            &mut encoder,
            &all,
            Counts {
                name: "ignored_outcomes",
                help: "Outcomes that changed nothing, since they came too late or belong to nobody.",
                label: "reason",
                words: IgnoredReason::WORDS.iter().map(|(word, _)| *word),
                of: |seldom| &seldom.ignored,
                from_the_start: false,
            },
        )?;
        attempts(&mut encoder, &all)?;
        timeouts(&mut encoder, &all)?;
        let words = (
            "holds",
            "Times that a throttled or unauthorised account was told to wait.",
        );
        single(&mut encoder, &all, words, |seldom| seldom.holds)?;
        let words = (
            "without_store",
            "Decisions that were made, or outcomes that were lost, because the store did not do its part.",
        );
        single(&mut encoder, &all, words, |seldom| seldom.without_store)?;
        self.totals(&mut encoder)
    }
}

impl Written {
    fn totals(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let totals = self.0.totals();
        for (name, help, number) in [
            (
                "domains_live",
                "Domains that have series of their own.",
                totals.live,
            ),
            (
                "domains_limit",
                "How many domains may have series of their own, those aside that must not be forgotten.",
                totals.limit,
            ),
        ] {
            let gauge = ConstGauge::new(u64::try_from(number).unwrap_or(u64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        }
        for (name, help, count) in [
            (
                "domains_evicted",
                "Idle closed domains whose series went for those of others.",
                totals.evicted,
            ),
            (
                "domains_left_out",
                "Times that something was told of a domain without series, since none could go for them.",
                totals.left_out,
            ),
        ] {
            let counter = ConstCounter::new(count);
            counter.encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)?;
        }
        Ok(())
    }
}

fn phases(encoder: &mut DescriptorEncoder, all: &All) -> fmt::Result {
    let help = "The phase of a domain's breaker: 1 for the phase that it is in, 0 for the others.";
    let mut family = encoder.encode_descriptor("domain_phase", help, None, MetricType::Gauge)?;
    // What was no valid target has been refused, and has no breaker.
    for (domain, series) in all.iter().filter(|(domain, _)| !domain.is_empty()) {
        for phase in Phase::ALL {
            let labels = [("domain", &**domain), ("phase", phase.name())];
            ConstGauge::new(u64::from(*phase == series.phase))
                .encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn transitions(
    encoder: &mut DescriptorEncoder,
    all: &All,
    (name, help): (&str, &str),
    of: fn(&Seldom) -> &[Transitions],
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (domain, seldom) in seldom(all) {
        for transitions in of(seldom) {
            let labels = [
                ("domain", domain),
                ("before", transitions.before.name()),
                ("after", transitions.after.name()),
                ("rule", &*transitions.rule),
            ];
            ConstCounter::new(transitions.count).encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

/// Counts of a domain, one for each of some words.
struct Counts<W> {
    name: &'static str,
    help: &'static str,
    label: &'static str,
    words: W,
    of: fn(&Seldom) -> &[u64],
    /// Whether those of a configured domain are there before there is anything to count.
    from_the_start: bool,
}

fn by<W: Iterator<Item = &'static str> + Clone>(
    encoder: &mut DescriptorEncoder,
    all: &All,
    counts: Counts<W>,
) -> fmt::Result {
    let (name, help) = (counts.name, counts.help);
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    let none = Seldom::default();
    for (domain, series) in all {
        let with_zeros = counts.from_the_start && series.is_configured;
        let numbers = (counts.of)(series.seldom.as_deref().unwrap_or(&none));
        for (word, count) in counts.words.clone().zip(numbers) {
            if *count > 0 || with_zeros {
                let labels = [("domain", &**domain), (counts.label, word)];
                ConstCounter::new(*count).encode(family.encode_family(&labels)?)?;
            }
        }
    }
    Ok(())
}

fn attempts(encoder: &mut DescriptorEncoder, all: &All) -> fmt::Result {
    let help = "Attempts at a provider, by what they mean.";
    let mut family = encoder.encode_descriptor("attempts", help, None, MetricType::Counter)?;
    for (provider, series) in all {
        for (outcome, effect, count) in &series.attempts {
            let labels = [
                ("provider", &**provider),
                ("outcome", outcome.name()),
                ("effect", effect.name()),
            ];
            ConstCounter::new(*count).encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn timeouts(encoder: &mut DescriptorEncoder, all: &All) -> fmt::Result {
    let help = "Attempts that ran out of time, by the limit that fired.";
    let mut family = encoder.encode_descriptor("timeouts", help, None, MetricType::Counter)?;
    for (provider, seldom) in seldom(all) {
        for (limit, count) in LIMITS.iter().zip(seldom.timeouts) {
            if count > 0 {
                let labels = [("provider", provider), ("limit", limit)];
                ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
            }
        }
    }
    Ok(())
}

/// One count of each domain with which something is the matter.
fn single(
    encoder: &mut DescriptorEncoder,
    all: &All,
    (name, help): (&str, &str),
    of: fn(&Seldom) -> u64,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (domain, count) in seldom(all).map(|(domain, seldom)| (domain, of(seldom))) {
        if count > 0 {
            let labels = [("domain", domain)];
            ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn seldom(all: &All) -> impl Iterator<Item = (&str, &Seldom)> {
    all.iter()
        .filter_map(|(domain, series)| Some((&**domain, series.seldom.as_deref()?)))
}
