//! Writes what the fuzzer begins with: the labelled cases, the built-in profiles, and a dictionary
//! of the words that are in both. `fuzz_seeds FOLDER`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

use fusewire_core::classify::profile::built_in;
use fusewire_fuzz::adversary;
use serde_json::Value;

/// The labelled cases, one a line of each file.
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cases");

/// The most bytes of an answer of an adversary: short enough for the fuzzer to change all of it.
const ADVERSARY_BYTES: usize = 512;

fn main() {
    let Some(folder) = env::args_os().nth(1) else {
        eprintln!("error: no folder is given: fuzz_seeds FOLDER");
        process::exit(2);
    };
    if let Err(error) = write(&PathBuf::from(folder)) {
        eprintln!("error: {error}");
        process::exit(1);
    }
}

fn write(folder: &Path) -> io::Result<()> {
    let mut words = BTreeSet::new();
    let [answers, configurations, hints] =
        ["answer", "configuration", "hints"].map(|name| folder.join(name));
    for folder in [&answers, &configurations, &hints] {
        fs::create_dir_all(folder)?;
    }
    for (n, case) in cases()?.lines().enumerate() {
        let case: Value = serde_json::from_str(case)?;
        let input = &case["input"];
        fs::write(answers.join(format!("case-{n}")), written(&case))?;
        let lines: String = fields(&input["headers"], "").collect();
        fs::write(hints.join(format!("case-{n}")), lines)?;
        for name in input["headers"].as_object().into_iter().flatten() {
            words.insert(name.0.clone());
        }
    }
    for (n, (_, answer)) in adversary::answers(ADVERSARY_BYTES).iter().enumerate() {
        fs::write(answers.join(format!("adversary-{n}")), answer.write())?;
    }
    for (name, text) in built_in() {
        let profile: Value = serde_json::from_str(text)?;
        texts_of(&profile, &mut words);
        let rules = profile["rules"].as_array().into_iter().flatten();
        for (n, rule) in rules.enumerate() {
            // One rule each, so that the fuzzer has small ones to put together.
            let small = serde_json::json!({ "rules": [rule] });
            let text = format!("{small}\n\nhttp any 200\ncontent-type: text/xml\n\n<a/>");
            fs::write(configurations.join(format!("{name}-{n}")), text)?;
        }
    }
    let lines: String = words.iter().filter_map(|word| quoted(word)).collect();
    fs::write(folder.join("words.dict"), lines)
}

/// The lines of all files.
fn cases() -> io::Result<String> {
    let mut lines = String::new();
    for entry in fs::read_dir(CASES)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "jsonl") {
            lines.push_str(&fs::read_to_string(path)?);
        }
    }
    Ok(lines)
}

/// A case in the form of `fusewire_fuzz::written`.
fn written(case: &Value) -> String {
    let input = &case["input"];
    let text = |value: &Value, default: &str| value.as_str().unwrap_or(default).to_owned();
    let profile = text(&input["profile"], &text(&case["service"], "http"));
    let expect = text(&input["expect"], "any");
    let status = input["status"].as_u64().unwrap_or(200);
    let failure = text(&input["transport"], "").replace('_', "-");
    let headers: String = fields(&input["headers"], "").collect();
    let trailers: String = fields(&input["trailers"], "> ").collect();
    let body = text(&input["body_prefix"], "");
    format!("{profile} {expect} {status} {failure}\n{headers}{trailers}\n{body}")
}

fn fields<'a>(object: &'a Value, mark: &'a str) -> impl Iterator<Item = String> + 'a {
    let fields = object.as_object().into_iter().flatten();
    fields.map(move |(name, value)| {
        let value = value.as_str().unwrap_or_default();
        format!("{mark}{name}: {value}\n")
    })
}

/// Every name and text of a document.
fn texts_of(value: &Value, words: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            words.insert(text.clone());
        }
        Value::Array(list) => list.iter().for_each(|value| texts_of(value, words)),
        Value::Object(object) => {
            for (name, value) in object {
                // A pointer is of use by its steps.
                words.extend(name.split(['/', '@']).map(str::to_owned));
                texts_of(value, words);
            }
        }
        _ => {}
    }
}

/// A word as a line of a dictionary; what is too long to be hit upon is none.
fn quoted(word: &str) -> Option<String> {
    let is_plain = (2..=40).contains(&word.len())
        && word.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && !word.contains(['"', '\\']);
    is_plain.then(|| format!("\"{word}\"\n"))
}
