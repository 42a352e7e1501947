//! Gateways for tests, on free ports, and callers.

use std::path::Path;

use fusewire::core::{DomainState, Target};
use fusewire::gateway::config::{Config, parse};
use fusewire::gateway::{Gateway, upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A configuration from a text, on a free port unless the text says otherwise.
///
/// # Panics
/// It is not valid.
#[must_use]
pub fn config(toml: &str) -> Config {
    let toml = if toml.contains("listen =") {
        toml.to_owned()
    } else {
        format!("listen = \"127.0.0.1:0\"\n{toml}")
    };
    match parse(&toml, "test.toml", Path::new("")) {
        Ok(config) => config,
        Err(problems) => panic!("{problems}"),
    }
}

/// Starts a gateway from a text.
///
/// # Panics
/// It cannot start.
pub async fn start(toml: &str) -> Gateway {
    match Gateway::builder(config(toml)).start().await {
        Ok(gateway) => gateway,
        Err(error) => panic!("{error}"),
    }
}

/// Someone who calls.
///
/// # Panics
/// There is no HTTP client.
#[must_use]
pub fn client() -> reqwest::Client {
    upstream::install_crypto();
    reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("an HTTP client")
}

/// Asks a gateway.
///
/// # Panics
/// It does not answer.
pub async fn get(gateway: &Gateway, path: &str) -> reqwest::Response {
    let url = format!("http://{}{path}", gateway.address());
    client().get(url).send().await.expect("an answer")
}

/// Sends these bytes to a gateway, and reads until it closes the connection.
///
/// # Panics
/// It does not take them.
pub async fn raw(gateway: &Gateway, request: &str) -> String {
    let mut stream = TcpStream::connect(gateway.address())
        .await
        .expect("a connection");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("it is sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    String::from_utf8_lossy(&answer).into_owned()
}

/// A configuration of these providers in a chain, each with its name and its URL, at the path `/`.
/// `more` is what each of them has besides.
#[must_use]
pub fn chain(providers: &[(&str, String)], more: &str) -> String {
    let tables = providers
        .iter()
        .map(|(name, url)| format!("[providers.{name}]\nurl = {url:?}\n{more}\n"));
    let names: Vec<&str> = providers.iter().map(|(name, _)| *name).collect();
    let tables = tables.collect::<String>();
    format!("{tables}[[routes]]\npath = \"/\"\nchain = {names:?}\n")
}

/// The state of a provider's breaker, once everything so far has been told.
///
/// # Panics
/// There is none.
pub async fn breaker(gateway: &Gateway, provider: &str) -> DomainState {
    gateway.guard().settled().await;
    let states = gateway.guard().inspect(&Target::provider(provider)).await;
    states.into_iter().next().expect("a domain")
}

/// A header field of an answer; empty where there is none.
#[must_use]
pub fn header<'a>(answer: &'a reqwest::Response, name: &str) -> &'a str {
    let value = answer.headers().get(name);
    value.and_then(|v| v.to_str().ok()).unwrap_or_default()
}

/// The value of a metric, by its name and labels as they are written.
pub async fn metric(gateway: &Gateway, series: &str) -> Option<u64> {
    let text = get(gateway, "/metrics").await.text().await.expect("a text");
    text.lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}
