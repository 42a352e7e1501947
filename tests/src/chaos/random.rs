//! Random numbers that a seed brings back.

use std::ops::Range;

/// SplitMix64: small, and the same on every machine.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The numbers of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Other numbers of the same seed.
    #[must_use]
    pub fn apart(seed: u64, apart: &str) -> Self {
        let text = apart.bytes().fold(seed, |bits, byte| {
            Self(bits ^ u64::from(byte).wrapping_mul(0x0100_0000_01b3)).bits()
        });
        Self(text)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in the range, which is not empty.
    pub fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.bits() % (range.end - range.start)
    }

    /// Whether this one falls into so many of a hundred.
    pub fn percent(&mut self, share: u64) -> bool {
        self.within(0..100) < share
    }

    /// One of these, of which there is at least one.
    pub fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let at = self.within(0..choices.len() as u64);
        &choices[usize::try_from(at).expect("a place in a list")]
    }
}
