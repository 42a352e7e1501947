//! A hash that is quick rather than good.

use std::hash::Hasher;

/// A quick hash, for a table that compares what it finds.
#[derive(Debug, Default)]
pub(crate) struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut eight = [0; 8];
            eight[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(eight));
        }
    }

    fn write_u64(&mut self, n: u64) {
        let mixed = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}
