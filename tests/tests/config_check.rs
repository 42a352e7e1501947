//! A configuration is checked as a whole, and every problem is reported at its place.

use std::fmt::Write as _;
use std::path::Path;

use fusewire::gateway::config::{CheckError, Config, load, parse};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/fusewire.example.toml");

fn check(toml: &str) -> Result<Config, CheckError> {
    parse(toml, "fusewire.toml", Path::new(""))
}

#[test]
fn the_example_is_valid_and_warns_of_nothing() {
    let config = load(Path::new(EXAMPLE)).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(config.warnings, []);
    assert_eq!(config.routes.len(), 2);
}

/// The setting that a comment of the example has the default of, if it has one.
fn commented_out(line: &str) -> Option<&str> {
    /// What has no default that could be written, or is in a section that opens something.
    const WITHOUT: [&str; 12] = [
        "admin",
        "instance",
        "url",
        "component",
        "account",
        "operation",
        "path",
        "token",
        "keys",
        "digests",
        "scenarios",
        "folder",
    ];
    let line = line.strip_prefix("# ")?;
    let (key, _) = line.split_once(" = ")?;
    let is_key = key.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    (is_key && !WITHOUT.contains(&key)).then_some(line)
}

/// The example's comments say what the defaults are. With all of them written out it means the
/// same, so they are right.
#[test]
fn the_defaults_that_the_example_names_are_the_defaults() {
    let text = std::fs::read_to_string(EXAMPLE).unwrap();
    // What follows a table that is commented out is off by default.
    let mut is_off = false;
    let written: Vec<&str> = text
        .lines()
        .map(|line| {
            is_off = line.starts_with("# [") || is_off && !line.is_empty();
            commented_out(line).filter(|_| !is_off).unwrap_or(line)
        })
        .collect();
    let found = text
        .lines()
        .filter(|line| commented_out(line).is_some())
        .count();
    assert!(found > 20, "only {found} settings were found");
    let (plain, written) = (check(&text).unwrap(), check(&written.join("\n")).unwrap());
    let policy = |config: &Config| fusewire::core::Config::from_json(&config.policy.json).unwrap();
    assert_eq!(policy(&plain), policy(&written));
    let rest = |mut config: Config| {
        config.policy.json = String::new();
        format!("{config:?}")
    };
    assert_eq!(rest(plain), rest(written));
}

#[test]
fn every_problem_of_a_file_is_reported_in_one_pass_at_its_place() {
    let text = r#"listen = "localhost:8700"
admim = "127.0.0.1:8701"
grace = "soon"

[store]
url = "http://127.0.0.1"
timeout = 50

[policy]
prefix = ""
[policy.breaker.failures]
counts = 3
[policy.breaker.cool-down]
first = "1m"
max = "30s"

[providers.photon]
url = "http://photon.example/{path"
total = "8"
connect = "20s"

[providers."no/minatim"]
url = "https://{host}/search"
account = "a@b"
headers = { "bad name" = "x", key = 3 }

[providers.spare]
read = "1s"

[[routes]]
path = "/geocode"
chain = ["photn", "photon", "photon"]

[[routes]]
path = "/geocode"
chain = []
methods = ["get"]

[[routes]]
path = "/healthz"
deadline = "0s"
"#;
    let expected = r#"
1:1: listen: "localhost:8700" is not an address; write an IP address and a port such as "127.0.0.1:8700" or "[::1]:8700"
2:1: admim: `admim` is not a setting; did you mean `admin`?
3:1: grace: `grace` is "soon"; write a duration such as "250ms", "30s", "10m" or "1m30s" from 0s to 1h
6:1: store.url: this is not the URL of a Redis server; write one such as "redis://127.0.0.1:6379/0"
7:1: store.timeout: `timeout` is 50; write a duration such as "250ms", "30s", "10m" or "1m30s" from 1ms to 1m
10:1: policy.prefix: "" cannot begin a key; write 1 to 64 bytes without control characters or any of {}*?[]\
12:1: policy.breaker.failures.counts: `counts` is not a setting; did you mean `count`?
15:1: policy.breaker.cool-down.max: the longest cool-down is shorter than the first; raise `max` or lower `first`
18:1: providers.photon.url: a brace has no partner; write %7B and %7D for braces that are meant literally
19:1: providers.photon.total: `total` is "8"; write a duration such as "250ms", "30s", "10m" or "1m30s" from 1ms to 1h
20:1: providers.photon.connect: this limit would never fire: the total is 8s; lower it, or raise `total`
22:12: providers.no/minatim: "no/minatim" cannot name a provider, since it stands in headers; write a letter, then letters, digits, `-`, `_` or `.`
23:1: providers.no/minatim.url: its host depends on the request; write a URL such as "https://geo.example/search?q={q}", with the host in full
24:1: providers.no/minatim.account: the account's name has `@` in it, which separates parts of a domain
25:13: providers.no/minatim.headers.bad name: "bad name" cannot name a field
25:31: providers.no/minatim.headers.key: `key` is 3; write a text in quotes
27:12: providers.spare.url: `url` is missing; write a URL such as "https://geo.example/search?q={q}"
32:10: routes[0].chain[0]: no provider is called "photn"; did you mean "photon"?
32:29: routes[0].chain[2]: photon is in this chain already; leave it out
35:1: routes[1].path: /geocode has a route already; keep one of them
36:1: routes[1].chain: there is nobody to ask; write providers in the order they are asked, such as ["photon"]
37:1: routes[1].methods: "get" is not a method; write methods in capitals, such as ["GET", "POST"]
39:1: routes[2].chain: `chain` is missing; write providers in the order they are asked, such as ["photon"]
40:1: routes[2].path: /healthz is the gateway's own; choose another
41:1: routes[2].deadline: `deadline` is "0s"; write a duration such as "250ms", "30s", "10m" or "1m30s" from 1ms to 1h
"#;
    let problems = check(text).unwrap_err().to_string();
    let mut lines = String::new();
    for line in problems.lines() {
        let line = line
            .strip_prefix("fusewire.toml:")
            .expect("the file's name");
        write!(lines, "\n{line}").unwrap();
    }
    assert_eq!(lines.trim(), expected.trim(), "\n{problems}");
}

#[test]
fn an_empty_file_says_what_is_needed_at_least() {
    let problems = check("").unwrap_err().to_string();
    assert_eq!(
        problems,
        "fusewire.toml:1:1: providers: there is no provider; write [providers.NAME] with a `url`\n\
         fusewire.toml:1:1: routes: there is no route; write [[routes]] with a `path` and a `chain`"
    );
}

#[test]
fn what_is_not_toml_is_reported_where_it_stops_to_be() {
    let problems = check("listen = \n").unwrap_err().to_string();
    assert!(problems.starts_with("fusewire.toml:1:10: "), "{problems}");
}

const SMALL: &str = r#"
[providers.p]
url = "http://p.example/"
[[routes]]
path = "/"
chain = ["p"]
"#;

#[test]
fn what_is_likely_not_meant_is_a_warning() {
    let text = format!(
        "store.url = \"env:FUSEWIRE_TEST_UNSET\"\npolicy.providers.pp.slow = \"1s\"\n{SMALL}[providers.spare]\nurl = \"http://s.example/\"\n"
    );
    let config = check(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "1:7: store.url: the environment variable `FUSEWIRE_TEST_UNSET` is not set; set it before `serve`",
            "2:18: policy.providers.pp: no provider is called \"pp\"; known here: p, spare",
            "9:12: providers.spare: no route asks it; add it to a chain, or leave it out",
        ]
    );
}

#[test]
fn setting_the_total_alone_is_enough() {
    let config = check(&SMALL.replace("\n[[routes]]", "\ntotal = \"1s\"\n[[routes]]")).unwrap();
    let limits = config.providers[0].limits;
    assert!(limits.connect <= limits.total && limits.read <= limits.total);
    assert_eq!(
        limits.probe, limits.total,
        "a probe's share is the policy's word"
    );
}

#[test]
fn a_field_that_would_break_the_requests_is_a_problem() {
    for field in [
        "content-length",
        "Transfer-Encoding",
        "connection",
        "fusewire-x",
    ] {
        let headers = format!("\nheaders.{field} = \"3\"\n[[routes]]");
        let problems = check(&SMALL.replace("\n[[routes]]", &headers)).unwrap_err();
        assert_eq!(
            problems.to_string(),
            format!(
                "fusewire.toml:4:9: providers.p.headers.{field}: the gateway makes this field itself; leave it out"
            )
        );
    }
    let headers = "\nheaders.host = \"p.example\"\n[[routes]]";
    assert!(check(&SMALL.replace("\n[[routes]]", headers)).is_ok());
}

#[test]
fn a_secret_is_never_printed() {
    let text = format!("store.url = \"redis://:hunter2@h/\"\n{SMALL}").replace(
        "\n[[routes]]",
        "\nheaders = { authorization = \"hunter2\" }\n[[routes]]",
    );
    let config = check(&text).unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
    let text = text
        .replace("hunter2@h", "hunter2@")
        .replace("redis:", "rediss?");
    assert!(!check(&text).unwrap_err().to_string().contains("hunter2"));
}

#[test]
fn a_component_that_is_not_there_is_a_problem_at_its_place() {
    let problems = check(&format!("policy.component = \"none.wasm\"\n{SMALL}")).unwrap_err();
    let problems = problems.to_string();
    assert!(
        problems.starts_with("fusewire.toml:1:8: policy.component: none.wasm: "),
        "{problems}"
    );
}
