//! Random bits where there is no source of them.
//!
//! Proxy-Wasm has no source of randomness. What the policy needs random bits for (jitter, shares of
//! traffic, the names of leases) wants numbers that are spread evenly and that no two calls of a
//! fleet share; nobody gains by guessing one, as a permit never leaves its Envoy. A counter run
//! through SplitMix64's finaliser is spread evenly and has no number twice in 2^64. Two VMs begin
//! at points that differ by the Envoy's id, the VM's number in it and the nanosecond of its start,
//! and each draw mixes the present nanosecond in.

/// A source of numbers that no other VM has.
#[derive(Debug, Clone, Copy, Default)]
pub struct Entropy {
    state: u64,
}

/// 2^64 divided by the golden ratio, odd: SplitMix64's step.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Entropy {
    /// A source that begins at a point of its own.
    #[must_use]
    pub fn new(instance: &str, vm: u64, now_ns: u64) -> Self {
        let id = instance
            .bytes()
            .fold(0, |hash, byte| mixed(hash ^ u64::from(byte)));
        Self {
            state: mixed(mixed(id ^ vm.wrapping_mul(STEP)) ^ now_ns),
        }
    }

    /// 64 bits.
    pub fn draw(&mut self, now_ns: u64) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mixed(mixed(self.state) ^ now_ns)
    }
}

fn mixed(n: u64) -> u64 {
    let mut z = n.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn workers_that_begin_in_the_same_nanosecond_share_no_number() {
        let mut seen = HashSet::new();
        for instance in ["envoy-1", "envoy-2"] {
            for vm in 0..16 {
                let mut entropy = Entropy::new(instance, vm, 7);
                for now in 0..1_000 {
                    // Several calls fall into one nanosecond here.
                    assert!(seen.insert(entropy.draw(now / 10)));
                }
            }
        }
    }

    #[test]
    fn every_bit_is_one_half_of_the_time() {
        let mut entropy = Entropy::new("envoy", 1, 1_767_225_600_000_000_000);
        let mut ones = [0_u32; 64];
        for now in 0..10_000 {
            let bits = entropy.draw(now);
            for (at, count) in ones.iter_mut().enumerate() {
                *count += u32::from(bits >> at & 1 == 1);
            }
        }
        assert!(ones.iter().all(|n| (4_700..5_300).contains(n)), "{ones:?}");
    }
}
