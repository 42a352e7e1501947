//! How much memory this process has.

/// The memory of this process that is really there, in KiB.
///
/// # Panics
/// This is no Linux.
#[must_use]
pub fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the state of this process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let text = line.and_then(|line| line.split_whitespace().next());
    text.and_then(|kib| kib.parse().ok())
        .expect("a number of KiB")
}
