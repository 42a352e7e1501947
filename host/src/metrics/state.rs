//! What has a state rather than a count, asked for when it is written.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use tokio::sync::watch;

use crate::policy::{Stage, Status};
use crate::store::{Mode, Store, WatchedStore};

/// How the policies stand, where there is somebody who tells.
pub(super) type Followed = Arc<Mutex<Option<watch::Receiver<Status>>>>;

/// The policies that serve, and are on their way to.
#[derive(Debug)]
pub(super) struct PolicyState(pub(super) Followed);

impl Collector for PolicyState {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let followed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(status) = followed.as_ref().map(|watch| watch.borrow().clone()) else {
            return Ok(());
        };
        drop(followed);
        info(&mut encoder, &status)?;
        stages(&mut encoder, &status)?;
        numbers(&mut encoder, &status)
    }
}

fn info(encoder: &mut DescriptorEncoder, status: &Status) -> fmt::Result {
    let help = "The policy that serves: always 1.";
    let mut family = encoder.encode_descriptor("policy_info", help, None, MetricType::Gauge)?;
    let digest = status.serving.digest.to_string();
    let labels = [
        ("digest", digest.as_str()),
        ("name", status.serving.name.as_str()),
        ("version", status.serving.version.as_str()),
    ];
    ConstGauge::new(1_u64).encode(family.encode_family(&labels)?)
}

/// Every stage is there, so that none is left at 1 that a candidate was at long ago.
fn stages(encoder: &mut DescriptorEncoder, status: &Status) -> fmt::Result {
    let help = "The stage that a policy on its way is at: 1 for that one, 0 for the others.";
    let mut family =
        encoder.encode_descriptor("policy_candidate", help, None, MetricType::Gauge)?;
    let at = status.candidate.as_ref().map(|candidate| candidate.stage);
    for stage in Stage::ALL {
        let gauge = ConstGauge::new(u64::from(at == Some(stage)));
        gauge.encode(family.encode_family(&[("stage", stage.name())])?)?;
    }
    Ok(())
}

fn numbers(encoder: &mut DescriptorEncoder, status: &Status) -> fmt::Result {
    let comparison = status.candidate.as_ref().map(|c| &c.comparison);
    let lingering = u64::try_from(status.lingering).unwrap_or(u64::MAX);
    for (name, help, number) in [
        (
            "policy_generation",
            "Which policy of this process serves, from 1.",
            status.serving.generation,
        ),
        (
            "policy_on_probation",
            "Whether the policy that serves would still be taken back by itself.",
            u64::from(status.serving.on_probation),
        ),
        (
            "policies_lingering",
            "Policies that were replaced, and that calls still have.",
            lingering,
        ),
    ] {
        let gauge = ConstGauge::new(number);
        gauge.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
    }
    for (name, help, count) in [
        (
            "policy_activations",
            "Policies that began to serve, the first one included.",
            status.activations,
        ),
        (
            "policy_refused",
            "Policies that did not come to serve.",
            status.refusals,
        ),
        (
            "policy_rollbacks",
            "Policies that were taken back after they had begun to serve.",
            status.rollbacks,
        ),
        (
            "policy_compared",
            "Decisions of the policy on its way that were compared.",
            comparison.map_or(0, |c| c.compared),
        ),
        (
            "policy_differences",
            "Decisions of the policy on its way that differ from those that were made.",
            comparison.map_or(0, |c| c.differences),
        ),
    ] {
        let counter = ConstCounter::new(count);
        counter.encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)?;
    }
    Ok(())
}

/// This host's clock against the store's, asked for when it is written.
pub(super) struct ClockState(pub(super) Arc<dyn Store>);

impl fmt::Debug for ClockState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClockState")
    }
}

impl Collector for ClockState {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let Some(ahead_us) = self.0.clock_ahead_us() else {
            return Ok(());
        };
        let help = "How far this host's clock is ahead of the store's, in seconds; negative: behind. Decisions follow the store's.";
        #[allow(clippy::cast_precision_loss, reason = "no clock is that far off")]
        let gauge = ConstGauge::new(ahead_us as f64 / 1e6);
        let name = "clock_offset_seconds";
        gauge.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
    }
}

/// The store's mode and errors, asked for when they are written.
pub(super) struct StoreState {
    pub(super) store: Arc<dyn Store>,
    pub(super) watched: Option<Arc<WatchedStore>>,
}

impl fmt::Debug for StoreState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreState")
    }
}

impl Collector for StoreState {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let mut family = encoder.encode_descriptor(
            "store_mode",
            "Whether the store is in use: 1 for the mode that it is in, 0 for the other.",
            None,
            MetricType::Gauge,
        )?;
        let current = self.store.mode();
        for mode in [Mode::Shared, Mode::Down] {
            let gauge = ConstGauge::new(u64::from(mode == current));
            gauge.encode(family.encode_family(&[("mode", mode.name())])?)?;
        }
        let stats = self.watched.as_ref().map(|w| w.stats());
        let stats = stats.unwrap_or_default();
        for (name, help, count) in [
            (
                "store_errors",
                "Operations of the store that took too long, or found it out of reach.",
                stats.errors,
            ),
            (
                "store_spared",
                "Operations that were not made, since the store was out of use.",
                stats.spared,
            ),
            (
                "store_mode_changes",
                "How often the store went out of use or came back.",
                stats.mode_changes,
            ),
        ] {
            let counter = ConstCounter::new(count);
            counter.encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)?;
        }
        Ok(())
    }
}
