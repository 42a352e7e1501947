//! Signatures of the real minisign hold here, and nothing else does.
//!
//! The keys and signatures were made by minisign 0.11 for these tests. They are published with
//! them: whoever trusts one of these keys trusts everybody.

use fusewire::policy::signature::{SecretKeyError, Signed, claimed_key, verify};
use fusewire::policy::{Artefact, KeyPair, PublicKey, SecretKey, Trust};

const SIGNED: &[u8] = b"the bytes of a policy\n";

const KEY: &str = "RWRSyYZW7IXO1fIfvz2YnwgS0TkL25/W3CWFjjUTDqTobB/j9uFcd2i8";
const KEY_ID: &str = "D5CE85EC5686C952";
const KEY_FILE: &str = "untrusted comment: minisign public key D5CE85EC5686C952\n\
    RWRSyYZW7IXO1fIfvz2YnwgS0TkL25/W3CWFjjUTDqTobB/j9uFcd2i8\n";
const OTHER_KEY: &str = "RWRvub3kkGGcEuV+LErlHNbk2Bof7BZKiOecJ9nS0hFHAKYZ3op85XP2";

/// `minisign -G -W`: not encrypted.
const SECRET_KEY: &str = "untrusted comment: minisign encrypted secret key\n\
    RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAUsmGVuyFztV2AUP7O5FMEqTm\
    q/+K1q02DEjRr2luxBEC8hsRhpv9wvIfvz2YnwgS0TkL25/W3CWFjjUTDqTobB/j9uFcd2i8AAAAAAAAAAAAAAAAAAAAAAAA\
    AAAAAAAAAAAAAAAAAAA=\n";

/// `minisign -G`, with the password `correct horse`.
const ENCRYPTED_KEY: &str = "untrusted comment: minisign encrypted secret key\n\
    RWRTY0IyQ+RlqbGcpJdUpyRiYsl5damnpPPae57zwvkNEHZukkAAAAACAAAAAAAAAEAAAAAAaFk2dPaYp7DGVG/V3Bl/fEsb\
    6VPDx78em/dAKEv/eeUxjsNGT9LRY5G2+gyVH+DeuzgSvaaVDV7UpPe2dq4TheGCtZkp+Yl7GH7hOGOJblBPkSADUwbQPV8p\
    4xlMgh6CedJYbQyIdx0=\n";
const ENCRYPTED_PUBLIC: &str = "RWT7Il7FYURCxGMGgKVjbGV68PbjR6+WfhA0/sUnZbqCpm/j+ai+dLgR";

/// `minisign -S -H`.
const HASHED: &str = "untrusted comment: signature from minisign secret key\n\
    RURSyYZW7IXO1fT0k3JSlhV7t8n499BTj5GL6tQIfy9bET0tOhKCXFvp3BEVScSgrisbFeo7K7TQuJ5vpfNoa+SeH8LIjkAVGwY=\n\
    trusted comment: timestamp:1767225600\tfile:policy.wasm\thashed\n\
    phBszLEOqxlssN/sx1GwMyjCh03NnxbE7fwe2ZY/bDE5/LPwjH4BPoYHyENIXqG5S4SrC4B6FpcKHa/7pbn6Cg==\n";

/// `minisign -S -l`.
const LEGACY: &str = "untrusted comment: signature from minisign secret key\n\
    RWRSyYZW7IXO1Z80Qv29LG1/pznHy/td0DDlTrwbNTWEQNkcaIU1Lc8ijomdz8BXxoM0tPudiVuC6i2fGGRGzpUjXGoGcEqZSgA=\n\
    trusted comment: timestamp:1767225600\tfile:policy.wasm\n\
    WxjSkd8hj4sRcgVcEazkBLcM+ULF9ZivpBMi6ZSHBG0JkCHrWB1RbJILFX9cFGuBa58hqWGebYJKrbR0LmJvCQ==\n";

fn key(text: &str) -> PublicKey {
    text.parse().expect("a key")
}

fn check(signature: &str) -> Result<Signed, String> {
    verify(&[key(OTHER_KEY), key(KEY)], signature, SIGNED)
}

#[test]
fn a_signature_of_the_tool_holds_with_hashing_and_without() {
    for (signature, comment) in [
        (HASHED, "timestamp:1767225600\tfile:policy.wasm\thashed"),
        (LEGACY, "timestamp:1767225600\tfile:policy.wasm"),
    ] {
        let signed = check(signature).expect("it holds");
        assert_eq!(signed.key, KEY_ID);
        assert_eq!(signed.comment, comment);
    }
}

#[test]
fn a_key_is_read_as_a_line_or_as_its_file() {
    assert_eq!(key(KEY), key(KEY_FILE));
    assert_eq!(key(KEY).to_string(), KEY);
    assert_eq!(key(KEY).id(), KEY_ID);
    assert_eq!(key(KEY).file(), KEY_FILE);
    let two = format!("{KEY_FILE}{OTHER_KEY}\n");
    for none in [
        "",
        "RWR",
        &KEY[1..],
        SECRET_KEY,
        &KEY.replace("RWR", "AAA"),
        &two,
    ] {
        let error = none.parse::<PublicKey>().expect_err(none).to_string();
        assert!(error.starts_with("not a public key of minisign"), "{error}");
    }
}

#[test]
fn changed_bytes_are_refused_and_said_to_be_changed() {
    for signature in [HASHED, LEGACY] {
        let why = verify(&[key(KEY)], signature, b"the bytes of a poIicy\n").expect_err("changed");
        assert!(
            why.contains("they were changed after they were signed"),
            "{why}"
        );
    }
}

#[test]
fn a_changed_trusted_comment_is_refused() {
    for signature in [HASHED, LEGACY] {
        let changed = signature.replace("1767225600", "1767225601");
        let why = check(&changed).expect_err("changed");
        assert!(
            why.contains("the trusted comment of the signature"),
            "{why}"
        );
    }
}

#[test]
fn the_untrusted_comment_is_nobodys_promise() {
    assert!(check(&HASHED.replace("signature from", "who knows")).is_ok());
}

#[test]
fn a_key_that_is_not_trusted_is_refused_by_its_number() {
    let why = verify(&[key(OTHER_KEY)], HASHED, SIGNED).expect_err("another key");
    assert_eq!(
        why,
        "it is signed with the key D5CE85EC5686C952, and not with the trusted key 129C6190E4BDB96F"
    );
}

/// A key can be made with any number, so the number decides nothing.
#[test]
fn a_key_that_only_claims_the_number_of_a_trusted_one_is_refused() {
    let mut forged = decode(OTHER_KEY);
    forged[2..10].copy_from_slice(&decode(KEY)[2..10]);
    let forged = key(&encode(&forged));
    assert_eq!(forged.id(), KEY_ID);
    assert!(verify(std::slice::from_ref(&forged), HASHED, SIGNED).is_err());
    assert!(
        verify(&[forged, key(KEY)], HASHED, SIGNED).is_ok(),
        "the real one is looked at too"
    );
}

fn decode(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .expect("Base64")
}

fn encode(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[test]
fn every_truncation_is_refused() {
    for length in 0..HASHED.trim_end().len() {
        let why = check(&HASHED[..length]).expect_err("cut off");
        assert!(!why.is_empty());
        assert!(
            claimed_key(&HASHED[..length]).is_none(),
            "cut off at {length}"
        );
    }
}

#[test]
fn garbage_is_refused() {
    for garbage in [
        "",
        "\n\n\n\n",
        "-----BEGIN PGP SIGNATURE-----",
        KEY_FILE,
        SECRET_KEY,
    ] {
        let why = check(garbage).expect_err(garbage);
        assert!(why.contains("none of minisign"), "{why}");
    }
    for line in 0..4 {
        let lines: Vec<&str> = HASHED
            .lines()
            .enumerate()
            .map(|(number, found)| if number == line { "AAAA" } else { found })
            .collect();
        assert!(check(&lines.join("\n")).is_err(), "without line {line}");
    }
}

#[test]
fn no_changed_byte_of_a_signature_holds() {
    // The first line says nothing, and the last bit of a Base64 text may.
    let begin = HASHED.find('\n').expect("lines") + 1;
    for at in begin..HASHED.trim_end().len() {
        let mut changed = HASHED.as_bytes().to_vec();
        changed[at] ^= 1;
        if let Ok(changed) = String::from_utf8(changed) {
            assert!(check(&changed).is_err(), "byte {at}");
        }
    }
}

#[test]
fn what_is_signed_here_holds_here() {
    let secret = SecretKey::read(SECRET_KEY, None).expect("a key");
    assert_eq!(secret.public(), Ok(key(KEY)));
    let signature = secret.sign(SIGNED, "file:a\nb\tc ").expect("signed");
    let signed = check(&signature).expect("it holds");
    assert_eq!(signed.comment, "file:a b\tc", "one line");
    assert_eq!(claimed_key(&signature).as_deref(), Some(KEY_ID));
}

#[test]
fn an_encrypted_key_of_the_tool_wants_its_password() {
    let read = |password| SecretKey::read(ENCRYPTED_KEY, password);
    assert_eq!(
        read(None).expect_err("encrypted"),
        SecretKeyError::PasswordWanted
    );
    assert_eq!(
        read(Some("wrong")).expect_err("wrong"),
        SecretKeyError::Locked
    );
    let secret = read(Some("correct horse")).expect("the password is right");
    assert_eq!(secret.public(), Ok(key(ENCRYPTED_PUBLIC)));
    assert!(
        !format!("{secret:?}").contains("RW"),
        "a log never shows a secret key"
    );
}

#[test]
fn a_new_key_comes_back_from_its_files() {
    let pair = KeyPair::generate(None).expect("a key");
    let secret = SecretKey::read(&pair.secret, None).expect("its own text");
    assert_eq!(secret.public().as_ref(), Ok(&pair.public));
    assert_eq!(key(&pair.public.file()), pair.public);
    assert_ne!(KeyPair::generate(None).expect("a key").public, pair.public);
}

#[test]
fn a_text_that_is_no_secret_key_is_called_that() {
    for text in ["", KEY_FILE, "untrusted comment:\nAAAA\n", HASHED] {
        let error = SecretKey::read(text, Some("")).expect_err(text);
        assert_eq!(error, SecretKeyError::NoKey);
    }
    // One bit of the key itself.
    let damaged = SECRET_KEY.replace("UsmGVuyFztV2AUP7", "UsmGVuyFztV3AUP7");
    assert_eq!(
        SecretKey::read(&damaged, None).expect_err("damaged"),
        SecretKeyError::Locked
    );
}

fn artefact(signature: Option<&str>) -> Artefact {
    Artefact::new(SIGNED, signature.map(str::to_owned), "a test")
}

fn trusting(keys: &[&str]) -> Trust {
    Trust {
        keys: keys.iter().map(|text| key(text)).collect(),
        digests: Vec::new(),
    }
}

#[test]
fn without_keys_a_signature_is_not_asked_for_and_the_evidence_says_so() {
    let trust = trusting(&[]);
    let found = |signature| {
        trust
            .check_signature(&artefact(signature))
            .expect("not asked for")
    };
    assert!(
        found(None).starts_with("not signed, and no key is given"),
        "{}",
        found(None)
    );
    let claimed = found(Some(HASHED));
    assert!(
        claimed.starts_with("not verified") && claimed.contains(KEY_ID),
        "{claimed}"
    );
    assert!(found(Some("rubbish")).contains("no signature of minisign"));
}

#[test]
fn with_keys_what_is_not_signed_by_one_is_refused() {
    let trust = trusting(&[OTHER_KEY, KEY]);
    let check = |signature| trust.check_signature(&artefact(signature));
    let found = check(Some(HASHED)).expect("signed");
    assert!(
        found.contains(KEY_ID) && found.contains("file:policy.wasm"),
        "{found}"
    );
    let why = check(None).expect_err("not signed");
    assert!(
        why.starts_with("not signed") && why.contains(KEY_ID),
        "{why}"
    );
    assert!(check(Some("rubbish")).is_err());
}

#[test]
fn the_policy_of_this_host_needs_no_signature_and_another_cannot_pass_for_it() {
    let trust = trusting(&[KEY]);
    let built_in = Artefact::built_in();
    assert!(trust.check_signature(&built_in).is_ok());
    let mut bytes = built_in.bytes().to_vec();
    bytes.push(0);
    let other = Artefact::new(bytes, None, "built in");
    assert!(
        trust.check_signature(&other).is_err(),
        "its origin is a word, and no proof"
    );
}
