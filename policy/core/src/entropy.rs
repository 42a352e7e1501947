//! Random numbers from the 64 random bits of a call.

/// A number that depends on all bits of `entropy`, and differs for each `use_for`: one call's
/// random bits serve several independent choices. SplitMix64's finaliser.
pub(crate) fn mix(entropy: u64, use_for: u64) -> u64 {
    let mut z = entropy.wrapping_add(use_for.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Uniform in 0 (inclusive) to 1 (exclusive), with the 53 bits that a double holds.
pub(crate) fn unit(entropy: u64, use_for: u64) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    (mix(entropy, use_for) >> 11) as f64 * STEP
}

/// What the random bits are used for.
pub(crate) const COOL_DOWN: u64 = 1;
pub(crate) const LEASE: u64 = 2;
pub(crate) const BACK_OFF: u64 = 3;
pub(crate) const RAMP: u64 = 4;
pub(crate) const ENFORCE: u64 = 5;
pub(crate) const PACE: u64 = 6;

/// A number that differs for different bytes (FNV-1a, well mixed), the same wherever it is taken.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    mix(bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_splitmix64_and_fnv_wherever_they_are_taken() {
        // The first three of the generator that begins with zero.
        assert_eq!(
            [1, 2, 3].map(|use_for| mix(0, use_for)),
            [
                0xe220_a839_7b1d_cdaf,
                0x6e78_9e6a_a1b9_65f4,
                0x06c4_5d18_8009_454f
            ]
        );
        // FNV-1a of "foobar", mixed.
        assert_eq!(digest(b"foobar"), mix(0x8594_4171_f739_67e8, 0));
        assert_ne!(digest(b"a"), digest(b"b"));
    }

    #[test]
    fn every_random_number_is_at_least_zero_and_below_one() {
        for entropy in [0, 1, u64::MAX, 1 << 63, 0x5555_5555_5555_5555] {
            for use_for in [COOL_DOWN, LEASE, BACK_OFF, RAMP, ENFORCE, PACE] {
                let x = unit(entropy, use_for);
                assert!((0.0..1.0).contains(&x), "{x}");
            }
        }
    }
}
