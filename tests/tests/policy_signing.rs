//! `fusewire policy keygen` and `sign`, as people type them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use fusewire_tests::desk::{Desk, Run, has};

#[test]
fn a_key_is_made_signs_and_verifies() {
    let desk = Desk::laid();
    let out = desk.run("keygen --output mine --no-password").good();
    let key = out.lines().last().expect("the public key").to_owned();
    assert_eq!(key.len(), 56, "{out}");
    let mode = |name| {
        fs::metadata(desk.path(name))
            .expect("there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode("mine.key"), 0o600);

    has(
        &desk.run("verify policy.wasm --key mine.pub").bad(),
        &["REFUSED  signature", "not signed"],
    );
    let out = desk.run("sign policy.wasm --key mine.key").good();
    has(&out, &["policy.wasm.minisig: by the key", &key]);
    let signature = fs::read_to_string(desk.path("policy.wasm.minisig")).expect("a signature");
    has(
        &signature,
        &["file:policy.wasm\tsha256:", "trusted comment: timestamp:"],
    );
    for key in [key.as_str(), "mine.pub"] {
        has(
            &desk.run(&format!("verify policy.wasm --key {key}")).good(),
            &["ok       signature"],
        );
        has(
            &desk.run(&format!("inspect policy.wasm --key {key}")).good(),
            &["by the key"],
        );
    }

    desk.run("keygen -o other --no-password").good();
    has(
        &desk.run("verify policy.wasm --key other.pub").bad(),
        &["REFUSED  signature"],
    );
    has(
        &desk.run("inspect policy.wasm --key other.pub").bad(),
        &["and not with the trusted key"],
    );
    let both = "verify policy.wasm --key other.pub --key mine.pub";
    desk.run(both).good();

    let mut bytes = fs::read(desk.path("policy.wasm")).expect("a policy");
    *bytes.last_mut().expect("bytes") = b'!';
    desk.write("policy.wasm", bytes);
    has(
        &desk.run(both).bad(),
        &["REFUSED  signature", "changed after they were signed"],
    );
}

#[test]
fn a_key_is_never_written_over() {
    let desk = Desk::laid();
    desk.run("keygen --output mine --no-password").good();
    let before = fs::read(desk.path("mine.key")).expect("a key");
    has(
        &desk.run("keygen --output mine --no-password").bad(),
        &["mine.key is there already"],
    );
    fs::remove_file(desk.path("mine.key")).expect("removed");
    has(
        &desk.run("keygen --output mine --no-password").bad(),
        &["mine.pub is there already"],
    );
    assert!(!desk.path("mine.key").exists());
    desk.write("mine.key", before);
}

#[test]
fn an_encrypted_key_takes_its_password_from_the_environment() {
    let desk = Desk::laid();
    let with = |password: &str, words: &str| {
        let mut command = desk.command();
        command.env("FUSEWIRE_KEY_PASSWORD", password);
        Run::of(words, command.args(words.split(' ')))
    };
    with("correct horse", "keygen --output mine").good();
    has(
        &with("wrong", "sign policy.wasm --key mine.key").bad(),
        &["cannot sign with mine.key: the password is wrong"],
    );
    with("correct horse", "sign policy.wasm --key mine.key").good();
    desk.run("verify policy.wasm --key mine.pub").good();
    has(
        &with("", "keygen --output none").bad(),
        &["the password is empty", "--no-password"],
    );
}

#[test]
fn what_is_no_policy_is_not_signed() {
    let desk = Desk::laid();
    desk.run("keygen --output mine --no-password").good();
    desk.write("module.wasm", wat::parse_str("(module)").expect("a module"));
    has(
        &desk.run("sign module.wasm --key mine.key").bad(),
        &["module.wasm is no policy, and is not signed: it is a core module"],
    );
    has(
        &desk.run("sign policy.wasm --key mine.pub").bad(),
        &["not a secret key of minisign"],
    );
    assert!(!desk.path("module.wasm.minisig").exists());
}
