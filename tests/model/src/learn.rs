//! What the search must know of the core beforehand, learnt by asking it.

use fusewire_core::store::{StoreError, Tally};
use fusewire_core::{Decision, KeyValue};

use crate::call::{Call, End, Next, Request};
use crate::core::Core;
use crate::store::Op;
use crate::text::PRESENT_MS;

/// A record of a domain that has long been open.
pub(crate) const LONG_OPEN: &str =
    r#"{"schema":1,"revision":1,"phase":"open","epoch":0,"until":1,"openings":1,"expires":0}"#;

/// How many calls with different random bits there can be at once.
const CALLS: u8 = 8;

/// After what time a ramp is looked at again, in ms.
const RAMP_STEP_MS: u64 = 1_000;

/// Which share of the calls each of the lots stands for, where a ramp draws them: one that is let
/// through as soon as it has closed, and one that is not until the ramp is over.
pub(crate) const LOTS: u8 = 2;

impl Core {
    /// Draws random bits of each lot, in turn. Without a ramp every lot is the first.
    pub(crate) fn draw(&mut self) {
        let mut lots: [Vec<u64>; LOTS as usize] = Default::default();
        for bits in 1..10_000 {
            let lot = match self.is_let_through(bits, 0) {
                true => 0,
                false if !self.is_let_through(bits, RAMP_STEP_MS) => 1,
                false => continue,
            };
            lots[lot].push(bits);
        }
        let [first, second] = lots;
        let second = if second.is_empty() {
            first.clone()
        } else {
            second
        };
        let pairs = first.into_iter().zip(second).take(CALLS.into());
        self.random_bits = pairs.flat_map(|(a, b)| [a, b]).collect();
    }

    /// Whether a call with these random bits is admitted that long after a close.
    fn is_let_through(&self, bits: u64, after_ms: u64) -> bool {
        let closed = format!(
            r#"{{"schema":1,"revision":1,"phase":"closed","epoch":{}}}"#,
            PRESENT_MS - after_ms
        );
        let context = self.context(PRESENT_MS, bits, 0);
        let admission = self
            .policy
            .admit(&mut Always(&closed), &self.target, &context);
        admission.is_ok_and(|a| matches!(a.decision, Decision::Allowed(_)))
    }

    /// Learns which tokens the core makes of which random bits: they are the leases of domains that
    /// have long been open.
    pub(crate) fn learn_tokens(&mut self) {
        for bits in &self.random_bits {
            let context = self.context(PRESENT_MS, *bits, 0);
            let admission = self
                .policy
                .admit(&mut Always(LONG_OPEN), &self.target, &context);
            let Ok(Decision::Allowed(permit)) = admission.map(|a| a.decision) else {
                panic!("a domain that has long been open is probed");
            };
            let before = self.forms.tokens.texts.len();
            let stamps = permit.token.split([',', '+']);
            let leases = stamps.filter_map(|s| Some(s.split_once(':')?.1.to_owned()));
            self.forms.tokens.texts.extend(leases);
            self.forms.tokens.each = self.forms.tokens.texts.len() - before;
        }
    }

    /// Learns the lane of each instance, where a quorum of them is asked for.
    pub(crate) fn learn_witnesses(&mut self, instances: usize) {
        let permit = self.forms.permit(&vec!["c:0"; self.domains].join(","));
        for instance in 0..instances {
            let call = Call {
                request: Request::Settle(permit, End::Failed),
                instance: instance as u8,
                now: 0,
                answers: Vec::new(),
            };
            let Next::Ask(Op::Count(windows)) = &*self.next(&call) else {
                panic!("a failure is counted");
            };
            let lanes = windows.iter().flat_map(|window| &window.add);
            let mut names = lanes.map(|(lane, _)| *lane);
            let lane = names.find(|lane| self.lane(*lane).starts_with("i-"));
            self.witnesses.extend(lane);
        }
    }
}

/// A store that has this record under every key.
struct Always<'a>(&'a str);

impl KeyValue for Always<'_> {
    fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        Ok(vec![Some(self.0.as_bytes().to_vec()); keys.len()])
    }

    fn swap(
        &mut self,
        _: &str,
        _: Option<&[u8]>,
        _: Option<&[u8]>,
        _: u64,
    ) -> Result<bool, StoreError> {
        Ok(true)
    }

    fn count(&mut self, _: Vec<fusewire_core::Window>) -> Result<Vec<Tally>, StoreError> {
        Err(StoreError::Unavailable)
    }
}
