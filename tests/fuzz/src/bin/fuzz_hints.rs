//! Header fields, a line each.

#![no_main]

use fusewire_fuzz::{checks, memory::Counting};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

libfuzzer_sys::fuzz_target!(|text: &[u8]| checks::hints(text));
