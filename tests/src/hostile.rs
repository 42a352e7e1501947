//! A policy that does whatever harm it is told to.

use fusewire_hostile_policy::MARK;
pub use fusewire_hostile_policy::Mode;

/// The policy as it was compiled, harmless.
const COMPILED: &[u8] = include_bytes!(env!("FUSEWIRE_HOSTILE_POLICY_WASM"));

/// The policy's bytes, told to do this harm.
///
/// # Panics
/// The byte that says so is not there.
#[must_use]
pub fn policy(harm: Mode) -> Vec<u8> {
    let at = Mode::ALL.iter().position(|mode| *mode == harm);
    let byte = at.and_then(|at| u8::try_from(at).ok());
    changed(MARK, byte.expect("a known harm"))
}

/// The policy, harmless, with a memory of so many pages from the beginning.
///
/// # Panics
/// Its memory is not where it was.
#[must_use]
pub fn policy_with_pages(pages: u8) -> Vec<u8> {
    assert!(pages < 128, "one byte says how many");
    // The section of memories, of three bytes: one memory, without an upper limit.
    changed(&[5, 3, 1, 0], pages)
}

/// The policy with another byte behind a text that is in it once.
fn changed(behind: &[u8], byte: u8) -> Vec<u8> {
    let mut places = COMPILED
        .windows(behind.len())
        .enumerate()
        .filter(|(_, bytes)| *bytes == behind);
    let (place, _) = places.next().expect("the place is in the policy");
    assert!(places.next().is_none(), "the place is there once");
    let mut bytes = COMPILED.to_vec();
    bytes[place + behind.len()] = byte;
    bytes
}
