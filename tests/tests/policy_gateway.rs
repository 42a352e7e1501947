//! A gateway's policy is replaced while it serves: from its file, from the operators' address, and at
//! its start; never past a signature.

use std::fs;
use std::path::{Path, PathBuf};

use fusewire::engine::BUILT_IN;
use fusewire::gateway::config::{load, parse};
use fusewire::gateway::{Gateway, StartError};
use fusewire::policy::rollout::Status;
use fusewire::policy::signature::KeyPair;
use fusewire::policy::{Digest, SecretKey, Stage};
use fusewire_tests::fleet::until;
use fusewire_tests::gateway::{client, get, header, metric};
use fusewire_tests::upstream::{Reply, Upstream};
use serde_json::Value;
use tempfile::TempDir;

/// The built-in policy as another artefact: with a section more, which means nothing.
fn another(mark: u8) -> Vec<u8> {
    let mut bytes = BUILT_IN.to_vec();
    bytes.extend([0, 3, 1, b'n', mark]);
    bytes
}

/// No stage takes time.
const AT_ONCE: &str = "shadow.share = 0\ncanary.share = 0\n";

/// A gateway's folder, its policy's file in it, and a key.
struct Home {
    folder: TempDir,
    upstream: Upstream,
    key: KeyPair,
}

impl Home {
    async fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary directory"),
            upstream: Upstream::start().await,
            key: KeyPair::generate(None).expect("a key"),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a policy into the file as a whole.
    fn write(&self, bytes: &[u8]) {
        fs::write(self.path("new"), bytes).expect("it is written");
        fs::rename(self.path("new"), self.path("policy.wasm")).expect("it is there");
    }

    fn sign(&self, bytes: &[u8]) -> String {
        let secret = SecretKey::read(&self.key.secret, None).expect("the secret key");
        secret.sign(bytes, "a test").expect("a signature")
    }

    fn write_signed(&self, bytes: &[u8]) {
        fs::write(self.path("policy.wasm.minisig"), self.sign(bytes)).expect("it is written");
        self.write(bytes);
    }

    fn config(&self, policy: &str, rollout: &str) -> String {
        format!(
            "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n\n[policy]\n{policy}\n\n[rollout]\n\
             {AT_ONCE}{rollout}\n\n[providers.p]\nurl = \"http://{}\"\n\n[[routes]]\npath = \
             \"/p\"\nchain = [\"p\"]\n",
            self.upstream.address()
        )
    }

    async fn try_start(&self, policy: &str, rollout: &str) -> Result<Gateway, StartError> {
        let toml = self.config(policy, rollout);
        let config = parse(&toml, "test.toml", self.folder.path());
        let config = config.unwrap_or_else(|problems| panic!("{problems}"));
        Gateway::builder(config).start().await
    }

    async fn start(&self, policy: &str, rollout: &str) -> Gateway {
        let started = self.try_start(policy, rollout).await;
        started.unwrap_or_else(|error| panic!("{error}"))
    }
}

const FILE: &str = "component = \"policy.wasm\"";

fn admin(gateway: &Gateway, path: &str) -> String {
    format!("http://{}{path}", gateway.admin().expect("an address"))
}

fn status(gateway: &Gateway) -> Status {
    gateway.rollout().expect("it replaces policies").status()
}

async fn serves(gateway: &Gateway, policy: &[u8]) {
    let digest = Digest::of(policy);
    until("the policy serves", async || {
        status(gateway).serving.digest == digest
    })
    .await;
    assert_eq!(get(gateway, "/p").await.status(), 200);
}

async fn refuses(gateway: &Gateway, policy: &[u8], stage: Stage) -> String {
    let digest = Digest::of(policy);
    until("the policy is refused", async || {
        status(gateway).refused.is_some_and(|r| r.digest == digest)
    })
    .await;
    let refused = status(gateway).refused.expect("it");
    assert_eq!(refused.stage, stage, "{}", refused.why);
    assert_eq!(get(gateway, "/p").await.status(), 200);
    refused.why
}

#[tokio::test]
async fn a_policy_that_is_put_into_the_file_serves_and_half_a_policy_does_not() {
    let home = Home::new().await;
    home.write(&another(1));
    let gateway = home.start(FILE, "").await;
    serves(&gateway, &another(1)).await;
    home.write(&another(2));
    serves(&gateway, &another(2)).await;
    // As by a copy that was broken off.
    let half = &another(3)[..80_000];
    home.write(half);
    let why = refuses(&gateway, half, Stage::Parse).await;
    assert!(why.contains("80000") || why.contains("end"), "{why}");
    assert_eq!(status(&gateway).serving.digest, Digest::of(&another(2)));
    home.write(&another(3));
    serves(&gateway, &another(3)).await;
    fs::remove_file(home.path("policy.wasm")).expect("it goes");
    assert_eq!(get(&gateway, "/p").await.status(), 200);
    gateway.stop().await;
}

#[tokio::test]
async fn the_operators_address_shows_what_serves_and_takes_a_policy_and_takes_it_back() {
    let home = Home::new().await;
    let gateway = home.start("", "token = \"t0ken\"").await;
    let url = admin(&gateway, "/policy");
    let post = async |path: &str, token: &str, body: Vec<u8>| {
        let request = client().post(admin(&gateway, path)).body(body);
        request.bearer_auth(token).send().await.expect("an answer")
    };
    let wrong = post("/policy", "t0kem", another(1)).await;
    assert_eq!(wrong.status(), 401);
    let none = client().post(&url).body(another(1)).send().await;
    assert_eq!(none.expect("an answer").status(), 401);

    let taken = post("/policy", "t0ken", another(1)).await;
    assert_eq!(taken.status(), 202);
    serves(&gateway, &another(1)).await;
    let shown = client().get(&url).send().await.expect("an answer");
    let shown: Value = shown.json().await.expect("JSON");
    assert_eq!(
        shown["serving"]["digest"],
        Digest::of(&another(1)).to_string()
    );
    let stages = shown["serving"]["evidence"].as_array().expect("a list");
    assert_eq!(stages.len(), Stage::ALL.len());
    let serving = format!(
        "fusewire_policy_info{{digest=\"{}\",name=\"fusewire\",version=\"0.1.0\"}} 1",
        Digest::of(&another(1))
    );
    let metrics = client().get(admin(&gateway, "/metrics")).send().await;
    let metrics = metrics.expect("an answer").text().await.expect("a text");
    assert!(metrics.lines().any(|line| line == serving), "{metrics}");
    assert!(
        metrics.contains("fusewire_policy_activations_total 2"),
        "{metrics}"
    );

    let back = post("/policy/rollback", "t0ken", b"it was worse".to_vec()).await;
    assert_eq!(back.status(), 200);
    serves(&gateway, BUILT_IN).await;
    let refused = status(&gateway).refused.expect("it");
    assert_eq!(refused.why, "an operator asked for it: it was worse");
    let again = post("/policy/rollback", "t0ken", Vec::new()).await;
    assert_eq!(again.status(), 409);

    assert_eq!(
        post("/policy/pause", "t0ken", Vec::new()).await.status(),
        200
    );
    assert!(status(&gateway).paused);
    assert_eq!(
        post("/policy/resume", "t0ken", Vec::new()).await.status(),
        200
    );
    assert!(!status(&gateway).paused);
    gateway.stop().await;
}

#[tokio::test]
async fn without_a_token_nobody_changes_anything_and_callers_do_not_even_see_it() {
    let home = Home::new().await;
    let gateway = home.start("", "").await;
    let url = admin(&gateway, "/policy");
    assert_eq!(
        client().get(&url).send().await.expect("an answer").status(),
        200
    );
    let post = client().post(&url).body(another(1)).send().await;
    assert_eq!(post.expect("an answer").status(), 405);
    assert_eq!(get(&gateway, "/policy").await.status(), 404);
    assert_eq!(metric(&gateway, "fusewire_policy_generation").await, None);
    gateway.stop().await;
}

#[tokio::test]
async fn where_a_key_is_configured_nothing_unsigned_loads_by_any_way() {
    let home = Home::new().await;
    let rollout = format!(
        "token = \"t\"\nfolder = \"kept\"\nkeys = [\"{}\"]",
        home.key.public
    );
    home.write(&another(1));
    let refused = home
        .try_start(FILE, &rollout)
        .await
        .err()
        .expect("no start");
    assert!(
        refused.to_string().contains("refused at signature"),
        "{refused}"
    );

    home.write_signed(&another(1));
    let gateway = home.start(FILE, &rollout).await;
    serves(&gateway, &another(1)).await;
    // By the file: another policy beside the signature of the first.
    home.write(&another(2));
    refuses(&gateway, &another(2), Stage::Signature).await;
    // By the operators' address: without one, and with that of another policy.
    let post = async |policy: Vec<u8>, signature: Option<&str>| {
        use base64::Engine as _;
        let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        let mut request = client().post(admin(&gateway, "/policy")).bearer_auth("t");
        if let Some(signature) = signature {
            request = request.header("fusewire-signature", encode(signature));
        }
        let answer = request.body(policy).send().await.expect("an answer");
        assert_eq!(answer.status(), 202);
    };
    post(another(3), None).await;
    refuses(&gateway, &another(3), Stage::Signature).await;
    post(another(4), Some(&home.sign(&another(3)))).await;
    refuses(&gateway, &another(4), Stage::Signature).await;
    post(another(5), Some(&home.sign(&another(5)))).await;
    serves(&gateway, &another(5)).await;
    gateway.stop().await;

    // By what is kept on disk: compiled code of a signed policy is there, and so is the last good one.
    fs::write(home.path("kept/last-good.wasm"), another(6)).expect("it is written");
    home.write(b"no policy");
    let refused = home
        .try_start(FILE, &rollout)
        .await
        .err()
        .expect("no start");
    let refused = refused.to_string();
    assert_eq!(
        refused.matches("refused at signature").count(),
        2,
        "{refused}"
    );
}

#[tokio::test]
async fn a_host_whose_wanted_policy_does_not_load_starts_with_the_last_good_one() {
    let home = Home::new().await;
    let rollout = "folder = \"kept\"\nprobation.for = \"0s\"";
    home.write(&another(1));
    let gateway = home.start(FILE, rollout).await;
    serves(&gateway, &another(1)).await;
    let kept = home.path("kept/last-good.wasm");
    let holds = async |policy: Vec<u8>| {
        until("it is kept", async || {
            fs::read(&kept).is_ok_and(|found| found == policy)
        })
        .await;
    };
    holds(another(1)).await;
    home.write(&another(2));
    serves(&gateway, &another(2)).await;
    holds(another(2)).await;
    gateway.stop().await;

    home.write(&another(3)[..1_000]);
    let gateway = home.start(FILE, rollout).await;
    serves(&gateway, &another(2)).await;
    gateway.stop().await;
    fs::remove_file(home.path("policy.wasm")).expect("it goes");
    let gateway = home.start(FILE, rollout).await;
    serves(&gateway, &another(2)).await;
    // And goes on to look at the file.
    home.write(&another(3));
    serves(&gateway, &another(3)).await;
    gateway.stop().await;
}

#[tokio::test]
async fn without_a_last_good_one_a_policy_that_does_not_load_keeps_the_host_from_starting() {
    let home = Home::new().await;
    home.write(&another(1)[..1_000]);
    let refused = home.try_start(FILE, "folder = \"kept\"").await;
    let refused = refused.err().expect("no start").to_string();
    let begins = "the policy cannot be loaded: ";
    assert!(
        refused.starts_with(begins) && refused.contains("refused at parse"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_policy_that_replaced_a_good_one_while_the_host_was_down_can_be_taken_back() {
    let home = Home::new().await;
    let rollout = "folder = \"kept\"\nprobation.for = \"0s\"";
    home.write(&another(1));
    let gateway = home.start(FILE, rollout).await;
    let kept = home.path("kept/last-good.wasm");
    until("it is kept", async || kept.exists()).await;
    gateway.stop().await;
    home.write(&another(2));
    let gateway = home.start(FILE, "folder = \"kept\"").await;
    serves(&gateway, &another(2)).await;
    assert!(status(&gateway).serving.on_probation);
    let rollout = gateway.rollout().expect("it replaces policies");
    let back = rollout.rollback("it is worse").await;
    assert_eq!(back, Ok(Digest::of(&another(1))));
    gateway.stop().await;
}

#[tokio::test]
async fn every_setting_of_a_rollout_is_checked_at_its_place() {
    let home = Home::new().await;
    let check = |rollout: &str| {
        let toml = home.config("", rollout);
        let checked = parse(&toml, "test.toml", Path::new(""));
        checked.err().map(|problems| problems.to_string())
    };
    assert_eq!(check("folder = \"x\"\nlinger.for = \"1m\""), None);
    for (rollout, wrong) in [
        (
            "keys = [\"no key\"]",
            "rollout.keys: \"no key\" is none; write a public key of minisign",
        ),
        ("keys = []", "rollout.keys: there is nothing in the list"),
        (
            "digests = [\"sha256:1\"]",
            "rollout.digests: \"sha256:1\" is none; write `sha256:`",
        ),
        ("fleet = true", "rollout.fleet: there is no store"),
        ("scenarios = \"nowhere\"", "rollout.scenarios: nowhere: "),
        ("token = \"\"", "rollout.token: it is empty"),
        ("shadow.differences = 2", "rollout.shadow.differences: "),
        (
            "shadow.for = \"10m\"",
            "rollout.shadow.at-most: it would end before it may",
        ),
        ("probation.refusal = 0.1", "rollout.probation.refusal: "),
        ("limits.memory = 1", "rollout.limits.memory: "),
    ] {
        let problems = check(rollout).unwrap_or_else(|| panic!("{rollout} is taken"));
        assert!(problems.contains(wrong), "{rollout}: {problems}");
    }
}

#[tokio::test]
async fn the_policys_settings_are_taken_in_when_the_configuration_file_changes() {
    let home = Home::new().await;
    let path = home.path("fusewire.toml");
    let write = |policy: &str| fs::write(&path, home.config(policy, "")).expect("it is written");
    write("breaker.failures.count = 3");
    let config = load(&path).unwrap_or_else(|problems| panic!("{problems}"));
    let gateway = Gateway::builder(config).start().await;
    let gateway = gateway.unwrap_or_else(|error| panic!("{error}"));
    let configuration = |json: &str| Digest::of(json.as_bytes());
    let is_in_force = async |json: &str| {
        until("it is in force", async || {
            status(&gateway).serving.configuration == configuration(json)
        })
        .await;
    };
    is_in_force(r#"{"breaker":{"failures":{"count":3}}}"#).await;
    write("breaker.failures.count = 1");
    is_in_force(r#"{"breaker":{"failures":{"count":1}}}"#).await;
    assert_eq!(status(&gateway).activations, 2);
    home.upstream.say(Reply::status(503));
    for status in ["provider-error", "breaker-open"] {
        let answer = get(&gateway, "/p").await;
        let skipped = header(&answer, "fusewire-skipped");
        assert!(skipped.contains(status), "{skipped}");
    }
    gateway.stop().await;
}
