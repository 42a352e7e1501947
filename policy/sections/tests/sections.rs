//! What a policy carries comes back as it was, and no bytes whatever do harm.

use fusewire_sections::{LARGEST, MOST, SECTION, scenarios, with_scenarios};
use proptest::prelude::*;

/// A component with a core module in it, which has a section of the same name that is not its own.
fn component() -> Vec<u8> {
    wat::parse_str(
        r#"(component
            (core module $m (@custom "fusewire:scenario" "inside.toml\nnot mine")
                (func (export "f") (result i32) (i32.const 1)))
            (core instance $i (instantiate $m))
            (func (export "f") (result u32) (canon lift (core func $i "f")))
            (@custom "other" "kept"))"#,
    )
    .expect("a component")
}

fn two() -> Vec<(String, String)> {
    vec![
        ("b-first.toml".to_owned(), "title = \"one\"\n".to_owned()),
        ("a-second.toml".to_owned(), String::new()),
    ]
}

#[test]
fn scenarios_come_back_as_they_were_and_in_their_order() {
    let carrying = with_scenarios(&component(), &two()).expect("they can be carried");
    assert_eq!(scenarios(&carrying), Ok(two()));
}

#[test]
fn a_component_without_scenarios_carries_none() {
    assert_eq!(scenarios(&component()), Ok(Vec::new()));
}

#[test]
fn others_replace_those_before_and_all_else_is_as_it_was() {
    let carrying = with_scenarios(&component(), &two()).expect("they can be carried");
    let one = vec![("c.toml".to_owned(), "title = \"three\"".to_owned())];
    let replaced = with_scenarios(&carrying, &one).expect("they can be carried");
    assert_eq!(scenarios(&replaced), Ok(one));
    assert_eq!(with_scenarios(&replaced, &[]), Ok(component()));
}

#[test]
fn names_that_are_no_file_names_are_refused() {
    for name in [
        "",
        "a",
        "a.txt",
        ".toml",
        "a/b.toml",
        "..\\b.toml",
        "a\nb.toml",
        "\u{1b}[2J.toml",
        &format!("{}.toml", "a".repeat(200)),
    ] {
        let refused = with_scenarios(&component(), &[(name.to_owned(), String::new())]);
        let why = refused.expect_err(name);
        assert!(why.contains("no name for a scenario"), "{why}");
    }
}

#[test]
fn two_of_one_name_are_refused() {
    let twice = [two(), two()].concat();
    let why = with_scenarios(&component(), &twice).expect_err("told apart by name");
    assert_eq!(why, "two scenarios have the name `a-second.toml`");
}

#[test]
fn too_many_and_too_large_ones_are_refused_when_written_and_when_read() {
    let many: Vec<_> = (0..=MOST)
        .map(|number| (format!("{number}.toml"), String::new()))
        .collect();
    let large = vec![("a.toml".to_owned(), "#".repeat(LARGEST))];
    for refused in [&many, &large] {
        assert!(with_scenarios(&component(), refused).is_err());
        assert!(scenarios(&by_hand(refused)).is_err());
    }
}

/// A component as a stranger might write it.
fn by_hand(scenarios: &[(String, String)]) -> Vec<u8> {
    let mut bytes = component();
    for (name, text) in scenarios {
        section(&mut bytes, format!("{name}\n{text}").as_bytes());
    }
    bytes
}

fn section(bytes: &mut Vec<u8>, content: &[u8]) {
    let mut body = Vec::new();
    leb128(&mut body, SECTION.len());
    body.extend_from_slice(SECTION.as_bytes());
    body.extend_from_slice(content);
    bytes.push(0);
    leb128(bytes, body.len());
    bytes.extend_from_slice(&body);
}

fn leb128(bytes: &mut Vec<u8>, mut value: usize) {
    loop {
        let low = u8::try_from(value & 0x7f).expect("seven bits");
        value >>= 7;
        if value == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}

#[test]
fn what_a_stranger_wrote_is_read_where_it_keeps_the_form() {
    assert_eq!(scenarios(&by_hand(&two())), Ok(two()));
}

#[test]
fn a_damaged_scenario_is_named_by_its_number() {
    for (content, told) in [
        (&b"no-line-feed.toml"[..], "does not begin with its name"),
        (&b"a.toml\n\xff\xfe"[..], "is not a text in UTF-8"),
    ] {
        let mut bytes = by_hand(&two());
        section(&mut bytes, content);
        assert_eq!(
            scenarios(&bytes),
            Err(format!("the scenario number 3 {told}"))
        );
    }
}

#[test]
fn a_core_module_is_called_one() {
    let module = wat::parse_str("(module)").expect("a module");
    let why = "a core module, and not a component".to_owned();
    assert_eq!(scenarios(&module), Err(why.clone()));
    assert_eq!(with_scenarios(&module, &two()), Err(why));
}

#[test]
fn ten_thousand_sections_are_read_at_once() {
    let mut bytes = component();
    for number in 0..10_000 {
        section(&mut bytes, format!("{number}.toml\n").as_bytes());
    }
    let began = std::time::Instant::now();
    let why = scenarios(&bytes).expect_err("too many");
    assert!(why.contains(&format!("more than the {MOST}")), "{why}");
    assert!(
        began.elapsed().as_secs() < 5,
        "the work is in proportion to the bytes"
    );
}

#[test]
fn every_truncation_is_told_from_the_whole() {
    let whole = by_hand(&two());
    let scenarios_begin = component().len();
    for length in 0..whole.len() {
        // Where a section ends, the shorter one is whole as well.
        match scenarios(&whole[..length]) {
            Ok(found) => assert!(found.len() < 2, "cut at {length}, and all was there"),
            Err(why) => assert!(!why.is_empty() || length > scenarios_begin),
        }
    }
}

#[test]
fn a_length_that_lies_is_survived() {
    for length in [0, 1, 16, 0x7fff_ffff, 0xffff_ffff] {
        let mut bytes = component();
        bytes.push(0);
        leb128(&mut bytes, length);
        bytes.push(17);
        bytes.extend_from_slice(SECTION.as_bytes());
        assert!(scenarios(&bytes).is_err(), "a length of {length}");
        // A core module whose length lies.
        let mut bytes = component();
        bytes.push(1);
        leb128(&mut bytes, length);
        if length > 0 {
            assert!(scenarios(&bytes).is_err(), "a module of {length} bytes");
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
        let _ = scenarios(&bytes);
        let mut component = component();
        component.extend_from_slice(&bytes);
        let _ = scenarios(&component);
        let _ = with_scenarios(&component, &two());
    }

    #[test]
    fn no_changed_byte_does_harm(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut bytes = by_hand(&two());
        let at = at.index(bytes.len());
        bytes[at] = to;
        let _ = scenarios(&bytes);
        let _ = with_scenarios(&bytes, &two());
    }
}
