//! What an answer can cost whoever judges it, and what answers have broken: time is linear in its
//! size, memory has a bound, and nothing that a fuzzer has found is an error, natively or in the
//! component.

use std::fs;
use std::path::{Path, PathBuf};

use fusewire_core::Target;
use fusewire_fuzz::memory::Counting;
use fusewire_fuzz::written::Answer;
use fusewire_fuzz::{adversary, checks};
use fusewire_tests::metered::Metered;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Half of what is looked at of a body, so that twice as much is all of it.
const HALF: usize = 32 << 10;

/// The most instructions of WebAssembly for each byte of an answer.
const FUEL_A_BYTE: u64 = 2_000;

/// What fuzzing has kept of this kind, with names.
fn kept(kind: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("cases/fuzz")
        .join(kind);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "nothing is kept in {}", folder.display());
    let read = |path: PathBuf| {
        let text = fs::read(&path).expect("a file");
        (path, text)
    };
    files.into_iter().map(read).collect()
}

#[test]
fn twice_the_answer_takes_at_most_twice_the_work() {
    let mut component = Metered::new(&checks::every_profile());
    let mut too_much = Vec::new();
    let halves = adversary::answers(HALF);
    for ((name, half), (_, whole)) in halves.iter().zip(adversary::answers(2 * HALF)) {
        let target = Target::provider(half.profile);
        let (_, once) = component.classify(&target, &half.observation);
        let (_, twice) = component.classify(&target, &whole.observation);
        println!(
            "{name:<52}{once:>12}{twice:>12}{:>7.2}",
            twice as f64 / once as f64
        );
        if twice > once * 11 / 5 || twice > FUEL_A_BYTE * 2 * HALF as u64 {
            too_much.push(format!("{name}: {once} instructions, then {twice}"));
        }
    }
    assert!(too_much.is_empty(), "{}", too_much.join("\n"));
}

#[test]
fn no_answer_takes_more_memory_than_is_said_or_is_looked_at_beyond_its_first_64_kib() {
    for bytes in [HALF, 2 * HALF, 4 * HALF] {
        for (name, answer) in adversary::answers(bytes) {
            println!("{bytes} bytes: {name}");
            checks::answer(&answer.write());
        }
    }
}

#[test]
fn whatever_a_fuzzer_found_is_judged_and_alike_in_the_component() {
    let mut component = Metered::new(&checks::every_profile());
    for (path, text) in kept("answer") {
        println!("{}", path.display());
        let native = checks::answer(&text);
        let Answer {
            profile,
            observation,
        } = Answer::read(&text);
        let (verdict, _) = component.classify(&Target::provider(profile), &observation);
        assert_eq!(verdict, native);
    }
}

#[test]
fn whatever_a_fuzzer_made_of_configurations_and_hints_is_judged() {
    for (path, text) in kept("configuration") {
        println!("{}", path.display());
        checks::configuration(&text);
    }
    for (path, text) in kept("hints") {
        println!("{}", path.display());
        checks::hints(&text);
    }
}
