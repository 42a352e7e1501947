//! Compiled code is kept and used again, and whatever is wrong with it, it is never run.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fusewire::engine::{BUILT_IN, Compiled, Limits};
use fusewire::policy::cache::Kept;
use fusewire::policy::{Artefact, Cache, Digest, KeyPair, Stage, Terms, Trust, vet};

/// The built-in policy with a note at its end, so that it is another one.
fn unsigned() -> Artefact {
    let mut bytes = BUILT_IN.to_vec();
    bytes.extend(b"\x00\x05\x04note");
    Artefact::new(bytes, None, "a test")
}

/// A policy, and a folder for what is compiled of it.
struct Kitchen {
    folder: tempfile::TempDir,
    artefact: Artefact,
}

impl Kitchen {
    /// A folder with the compiled code of a policy in it.
    fn stocked() -> Self {
        let kitchen = Self {
            folder: tempfile::tempdir().expect("a folder"),
            artefact: unsigned(),
        };
        let compiled = Compiled::new(kitchen.artefact.bytes()).expect("it compiles");
        let cache = kitchen.cache();
        cache
            .put(&kitchen.artefact.digest(), &compiled)
            .expect("it is kept");
        kitchen
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("compiled")
    }

    fn cache(&self) -> Cache {
        Cache::open(&self.path()).expect("a cache")
    }

    /// The file of the entry.
    fn entry(&self) -> PathBuf {
        self.path()
            .join(format!("{}.compiled", self.artefact.digest().hex()))
    }

    /// Why the entry is not used.
    fn unusable(&self) -> String {
        match self.cache().get(&self.artefact.digest()) {
            Kept::Unusable(why) => why,
            Kept::Code(_) => panic!("it was used"),
            Kept::Nothing => panic!("there is none"),
        }
    }

    fn terms(&self) -> Terms {
        Terms {
            cache: Some(Arc::new(self.cache())),
            ..Terms::default()
        }
    }

    /// What is said of compiling it.
    async fn compiled(&self) -> String {
        let vetted = vet(self.artefact.clone(), &self.terms(), |_| {}).await;
        let vetted = vetted.unwrap_or_else(|refused| panic!("{refused}"));
        let seen = vetted
            .evidence
            .into_iter()
            .find(|seen| seen.stage == Stage::Compile);
        seen.expect("it was compiled").found
    }
}

#[tokio::test]
async fn compiled_code_is_kept_and_used_again() {
    let kitchen = Kitchen::stocked();
    assert_eq!(
        kitchen.compiled().await,
        "compiled before: taken from the cache"
    );
}

#[tokio::test]
async fn damaged_code_is_not_used_and_the_policy_loads_all_the_same() {
    let kitchen = Kitchen::stocked();
    let whole = fs::read(kitchen.entry()).expect("an entry");
    // Every byte of what is before the code and of its beginning, and some of the rest.
    let head = whole.iter().position(|byte| *byte == 0x7f).expect("code") + 64;
    for at in (0..head).chain((head..whole.len()).step_by(whole.len() / 16)) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        fs::write(kitchen.entry(), changed).expect("written");
        let why = kitchen.unusable();
        assert!(
            why.contains("seal") || why.contains("another build"),
            "byte {at}: {why}"
        );
    }
    for length in [0, 1, 19, 20, 40, head - 65, head, whole.len() - 1] {
        fs::write(kitchen.entry(), &whole[..length]).expect("written");
        let why = kitchen.unusable();
        assert!(
            why.contains("seal") || why.contains("another build"),
            "{length} bytes: {why}"
        );
    }
    let found = kitchen.compiled().await;
    assert!(
        found.starts_with("compiled anew") && found.contains("seal"),
        "{found}"
    );
    assert_eq!(
        kitchen.compiled().await,
        "compiled before: taken from the cache"
    );
}

#[test]
fn code_of_another_build_is_not_used() {
    let kitchen = Kitchen::stocked();
    let entry = fs::read(kitchen.entry()).expect("an entry");
    let begin = b"fusewire compiled 1\n".len();
    let mut other = entry[..begin].to_vec();
    other.push(b'0');
    other.extend_from_slice(&entry[begin..]);
    fs::write(kitchen.entry(), other).expect("written");
    assert_eq!(kitchen.unusable(), "another build of this host made it");
}

#[test]
fn code_under_another_key_is_not_used() {
    let kitchen = Kitchen::stocked();
    fs::remove_file(kitchen.path().join("key")).expect("there was one");
    assert_eq!(kitchen.unusable(), "its seal does not hold");
}

#[test]
fn code_of_one_policy_is_not_used_for_another() {
    let kitchen = Kitchen::stocked();
    let other = Digest::of(b"another policy");
    let moved = kitchen.path().join(format!("{}.compiled", other.hex()));
    fs::copy(kitchen.entry(), moved).expect("copied");
    match kitchen.cache().get(&other) {
        Kept::Unusable(why) => assert_eq!(why, "its seal does not hold"),
        _ => panic!("it was used"),
    }
}

/// The cache would have it run without a look at its signature.
#[tokio::test]
async fn an_unsigned_policy_is_refused_though_its_code_is_in_the_cache() {
    let kitchen = Kitchen::stocked();
    let pair = KeyPair::generate(None).expect("a key");
    let terms = Terms {
        trust: Trust {
            keys: vec![pair.public],
            ..Trust::default()
        },
        ..kitchen.terms()
    };
    let Err(refused) = vet(kitchen.artefact.clone(), &terms, |_| {}).await else {
        panic!("nobody has signed it");
    };
    assert_eq!(refused.stage, Stage::Signature);
    assert!(refused.why.starts_with("not signed"), "{}", refused.why);
}

#[test]
fn a_cache_is_for_this_user_alone_and_keeps_its_key() {
    use std::os::unix::fs::PermissionsExt;
    let kitchen = Kitchen::stocked();
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&kitchen.path()), 0o700);
    assert_eq!(mode(&kitchen.path().join("key")), 0o600);
    assert_eq!(mode(&kitchen.entry()), 0o600);
    let key = fs::read(kitchen.path().join("key")).expect("a key");
    kitchen.cache();
    assert_eq!(fs::read(kitchen.path().join("key")).expect("a key"), key);
}

#[test]
fn a_folder_that_others_can_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    for mode in [0o777, 0o770, 0o1777] {
        let open = fs::Permissions::from_mode(mode);
        fs::set_permissions(folder.path(), open).expect("its owner may");
        let error = Cache::open(folder.path()).expect_err("open").to_string();
        assert!(error.contains("other users can write to it"), "{error}");
        assert!(
            error.contains(&folder.path().display().to_string()),
            "{error}"
        );
    }
}

#[test]
fn a_key_that_is_none_is_not_made_do_with() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("key"), "short").expect("written");
    let error = Cache::open(folder.path()).expect_err("no key").to_string();
    assert!(
        error.contains("key: it is no key of 32 bytes; remove it"),
        "{error}"
    );
}

#[test]
fn old_code_goes_when_new_code_comes() {
    let kitchen = Kitchen::stocked();
    let (cache, compiled) = (kitchen.cache(), {
        let Kept::Code(compiled) = kitchen.cache().get(&kitchen.artefact.digest()) else {
            panic!("there is none");
        };
        compiled
    });
    for number in 0..20u8 {
        cache.put(&Digest::of(&[number]), &compiled).expect("kept");
    }
    let entries = fs::read_dir(kitchen.path()).expect("a folder").flatten();
    let entries = entries.filter(|entry| entry.path().extension().is_some());
    assert_eq!(entries.count(), 16);
    assert!(
        matches!(cache.get(&Digest::of(&[19])), Kept::Code(_)),
        "the newest is there"
    );
}

#[test]
fn limits_that_are_lower_hold_for_code_from_the_cache_too() {
    let kitchen = Kitchen::stocked();
    let Kept::Code(compiled) = kitchen.cache().get(&kitchen.artefact.digest()) else {
        panic!("there is none");
    };
    let limits = Limits {
        memory: 64 << 10,
        ..Limits::default()
    };
    assert!(compiled.start(limits).is_err());
}
