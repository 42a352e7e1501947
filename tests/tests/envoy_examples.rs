//! Each example of `policy/envoy/examples` starts as it is, but for its ports, and guards its
//! provider.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use fusewire_tests::envoy::Envoy;
use fusewire_tests::envoy::setup::FUSEWIRE;
use fusewire_tests::fleet::until;
use fusewire_tests::gateway::{self, header};
use fusewire_tests::upstream::{Reply, Upstream};
use tempfile::TempDir;

/// Where the examples are, from the repository's root.
const EXAMPLES: &str = "policy/envoy/examples";

/// The listener that every example has.
const LISTENER: &str = "callers";

/// The files that Envoy is started with: those that say where Envoy's admin interface is.
fn examples() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder of examples") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "yaml") {
                let text = fs::read_to_string(&path).expect("an example");
                if text.lines().any(|line| line.starts_with("admin:")) {
                    found.push(path);
                }
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(EXAMPLES);
    let mut found = Vec::new();
    walk(&root, &mut found);
    found.sort();
    found
        .iter()
        .map(|path| path.strip_prefix(&root).expect("below it").to_owned())
        .collect()
}

/// A copy of the examples with ports that are free here, and with the filter that was built for
/// the tests.
fn copy(provider: SocketAddr, host: SocketAddr) -> TempDir {
    fn copy_folder(from: &Path, to: &Path, change: &dyn Fn(&str) -> String) {
        fs::create_dir_all(to).expect("a folder");
        for entry in fs::read_dir(from).expect("a folder of examples") {
            let path = entry.expect("an entry").path();
            let place = to.join(path.file_name().expect("a name"));
            if path.is_dir() {
                copy_folder(&path, &place, change);
            } else {
                let text = fs::read_to_string(&path).expect("an example");
                fs::write(place, change(&text)).expect("it is written");
            }
        }
    }
    let home = tempfile::tempdir().expect("a temporary directory");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(EXAMPLES);
    let place = home.path().to_str().expect("a path in UTF-8");
    copy_folder(&root, home.path(), &|text: &str| {
        [
            ("port_value: 18000", "port_value: 0".to_owned()),
            ("port_value: 18001", "port_value: 0".to_owned()),
            (
                "port_value: 18080",
                format!("port_value: {}", provider.port()),
            ),
            ("port_value: 8700", format!("port_value: {}", host.port())),
            (EXAMPLES, place.to_owned()),
            ("target/fusewire_envoy.wasm", FUSEWIRE.to_owned()),
        ]
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    });
    home
}

async fn start(examples: TempDir, example: &Path) -> Envoy {
    let config = examples.path().join(example);
    match Envoy::launch(examples, &config, 2, LISTENER).await {
        Ok(envoy) => envoy,
        Err(log) => panic!("{} does not start:\n{log}", example.display()),
    }
}

/// Asks until it is refused, or would be. Answers how often it asked.
async fn until_refused(envoy: &Envoy) -> usize {
    let mut asked = 0;
    until("the breaker is open", async || {
        asked += 1;
        let answer = envoy.get("/v1/search/somewhere").await;
        let said = ["fusewire-refused", "fusewire-would-refuse"].map(|name| header(&answer, name));
        said.contains(&"open")
    })
    .await;
    asked
}

#[tokio::test]
async fn each_example_starts_answers_and_guards_its_provider() {
    let examples = examples();
    assert!(!examples.is_empty());
    let host = gateway::start("[exchange]\n").await;
    for example in examples {
        let upstream = Upstream::start().await;
        let envoy = start(copy(upstream.address(), host.address()), &example).await;
        let name = example.display();
        assert_eq!(
            envoy.get("/v1/search/somewhere").await.status(),
            200,
            "{name}"
        );
        assert_eq!(upstream.received().len(), 1, "{name}");
        upstream.say(Reply::status(500));
        let asked = until_refused(&envoy).await;
        assert!(
            (3..=30).contains(&asked),
            "{name}: {asked} calls until it was open"
        );
        for fault in ["host_error", "store.error"] {
            assert_eq!(envoy.count(fault).await, 0, "{name}: {fault}");
        }
    }
}

#[tokio::test]
async fn the_filter_is_replaced_as_the_example_says() {
    let (upstream, host) = (Upstream::start().await, Upstream::start().await);
    let examples = copy(upstream.address(), host.address());
    let folder = examples.path().join("update");
    let envoy = start(examples, Path::new("update/envoy.yaml")).await;
    upstream.say(Reply::status(500));
    until_refused(&envoy).await;
    assert_eq!(envoy.get("/").await.status(), 503);
    let changed = fs::read_to_string(folder.join("filter.yaml")).expect("the filter's file");
    let changed = changed.replace("\"status\": 503", "\"status\": 429");
    fs::write(folder.join("filter.new"), changed).expect("it is written");
    fs::rename(folder.join("filter.new"), folder.join("filter.yaml")).expect("it is moved");
    until("the new one refuses", async || {
        let answer = envoy.get("/").await;
        assert_eq!(
            header(&answer, "fusewire-refused"),
            "open",
            "open over the update"
        );
        answer.status() == 429
    })
    .await;
}
