//! Profiles of a configuration, each with an answer behind an empty line.

#![no_main]

use fusewire_fuzz::{checks, memory::Counting};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

libfuzzer_sys::fuzz_target!(|text: &[u8]| checks::configuration(text));
