//! A wrong configuration is refused, with its place and what would be right; the one before goes
//! on.

use fusewire_tests::envoy::setup::FUSEWIRE;
use fusewire_tests::envoy::steps::{also, trip, trips_on_three};
use fusewire_tests::envoy::{Envoy, Filter, Provider, Setup, Updates};
use fusewire_tests::fleet::until;
use fusewire_tests::gateway::header;
use fusewire_tests::upstream::Upstream;
use serde_json::json;

#[tokio::test]
async fn a_wrong_configuration_keeps_envoy_from_starting_and_is_told_at_its_place() {
    for (text, told) in [
        (
            r#"{"policy": {"breaker": {"failures": {"count": 0}}}}"#,
            "/policy/breaker/failures/count: `count` is 0; write a whole number from 1 to 1000000",
        ),
        (
            r#"{"policy": {"breaker": {"cool_down": {}}}}"#,
            "/policy/breaker/cool_down: `cool_down` is not a setting; did you mean `cool-down`?",
        ),
        (
            r#"{"reply": {"status": 200}}"#,
            "/reply/status: `status` is 200; write a whole number from 400 to 599",
        ),
        (
            r#"{"target": {"provider": {"from": "moon"}}}"#,
            r#"/target/provider/from: `from` is "moon"; write "cluster" or "route" or "authority""#,
        ),
        ("nonsense", "this is not JSON from line 1, column 2 on"),
    ] {
        let log = match Setup::with(Filter::of(FUSEWIRE, text)).try_start().await {
            Ok(_) => panic!("Envoy starts with {text}"),
            Err(log) => log,
        };
        assert!(log.contains(told), "{text} is answered with:\n{log}");
    }
}

#[tokio::test]
async fn no_configuration_at_all_is_a_good_one() {
    let upstream = Upstream::start().await;
    let envoy = Setup::with(Filter::of(FUSEWIRE, ""))
        .provider(Provider::new("atlas", upstream.address()))
        .start()
        .await;
    assert_eq!(envoy.get("/atlas").await.status(), 200);
    envoy.counted("outcome.success", 1).await;
}

/// How many updates Envoy has rejected.
async fn rejected(envoy: &Envoy, updates: Updates) -> u64 {
    let name = match updates {
        Updates::Filter => "extension_config_discovery.http_filter.fusewire.update_rejected",
        _ => "listener_manager.lds.update_rejected",
    };
    envoy
        .stat(name)
        .await
        .unwrap_or_else(|| panic!("Envoy counts {name}"))
}

#[tokio::test]
async fn an_update_that_is_wrong_is_rejected_and_the_one_before_goes_on() {
    let broken = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(broken.path(), "no WebAssembly").expect("it is written");
    for updates in [Updates::Listener, Updates::Filter] {
        let upstream = Upstream::start().await;
        let setup = Setup::fusewire(&trips_on_three("10m"))
            .provider(Provider::new("atlas", upstream.address()))
            .updates(updates);
        let envoy = setup.start().await;
        trip(&envoy, &upstream, "/atlas").await;

        let wrong = [
            Filter::fusewire(&json!({"reply": {"status": 200}})),
            Filter::of(broken.path(), "{}"),
        ];
        for (n, filter) in wrong.into_iter().enumerate() {
            envoy.update(&setup.replaced(filter));
            let number = n as u64 + 1;
            until("the update is rejected", async || {
                rejected(&envoy, updates).await == number
            })
            .await;
            let refused = envoy.get("/atlas").await;
            assert_eq!(refused.status(), 503, "the status as it was");
            assert_eq!(header(&refused, "fusewire-refused"), "open");
        }
        let told = "/reply/status: `status` is 200; write a whole number from 400 to 599";
        assert!(envoy.log().contains(told), "{updates:?}");

        let right = also(trips_on_three("10m"), "reply", json!({"status": 429}));
        envoy.update(&setup.replaced(Filter::fusewire(&right)));
        until("the right one is in force", async || {
            envoy.get("/atlas").await.status() == 429
        })
        .await;
        assert_eq!(
            upstream.received().len(),
            3,
            "the open breaker was open all the time"
        );
    }
}
