//! Orders of operators, as they type them, are met by the whole fleet on a real Redis.

use fusewire::guard::CallFacts;
use fusewire_core::{OverrideMode, Phase, RefusalReason, Target};
use fusewire_tests::desk::has;
use fusewire_tests::fleet::{fail, state, trip, until};
use fusewire_tests::gateway;
use fusewire_tests::operator::{LONG, Operator, host};
use fusewire_tests::redis_server::RedisServer;
use fusewire_tests::upstream::{Reply, Upstream};

#[tokio::test]
async fn an_order_is_met_by_every_host_of_the_fleet_with_who_and_why_until_it_is_cleared() {
    let server = RedisServer::start();
    let hosts = [
        host(&server, "host-1", LONG).await,
        host(&server, "host-2", LONG).await,
    ];
    let operator = Operator::of(&server);
    let geocoder = Target::provider("geocoder");
    for host in &hosts {
        fail(host, &geocoder).await;
    }
    operator.run(&["status"]).await.ended(0);

    let words = [
        "open",
        "geocoder",
        "--why",
        "their data centre burns",
        "--for",
        "30m",
    ];
    let said = operator.run(&words).await.ends(0);
    has(
        &said,
        &[
            "geocoder is forced open: every call is refused",
            "their data centre burns",
            "on-call@desk",
            " UTC, 30m from now; `fusewire clear geocoder` ends it before",
            "before    closed",
        ],
    );
    for host in &hosts {
        let refusal = host.admit(&geocoder, &CallFacts::default()).await;
        let refusal = refusal.err().expect("it is refused");
        assert_eq!(refusal.reason, RefusalReason::Override);
        has(
            &refusal.detail,
            &["on-call@desk", "their data centre burns"],
        );
    }
    // What belongs to it is refused as well, what is beside it is not.
    let layer = Target {
        operation: Some("reverse".into()),
        ..geocoder.clone()
    };
    assert!(hosts[0].admit(&layer, &CallFacts::default()).await.is_err());
    let other = Target::provider("geocoder-2");
    assert!(hosts[0].admit(&other, &CallFacts::default()).await.is_ok());
    let said = operator.run(&["status"]).await.ends(1);
    has(
        &said,
        &["forced open", "by on-call@desk: their data centre burns"],
    );

    let said = operator.run(&["clear", "geocoder"]).await.ends(0);
    has(
        &said,
        &[
            "geocoder has no order any more",
            "before    forced open for ",
        ],
    );
    for host in &hosts {
        assert!(host.admit(&geocoder, &CallFacts::default()).await.is_ok());
    }
    operator.run(&["status"]).await.ended(0);
    let said = operator.run(&["clear", "geocoder"]).await.ends(0);
    has(&said, &["geocoder had no order"]);
}

#[tokio::test]
async fn a_gateways_callers_are_told_who_has_ordered_it_and_why_and_are_served_again_afterwards() {
    let server = RedisServer::start();
    let operator = Operator::of(&server);
    let upstream = Upstream::start().await;
    let config = format!(
        "[store]\nurl = \"{}\"\ntimeout = \"1s\"\n{}",
        server.url(),
        gateway::chain(&[("geocoder", upstream.url("/"))], "")
    );
    let gateway = gateway::start(&config).await;
    until("the gateway serves", async || {
        gateway::get(&gateway, "/").await.status() == 200
    })
    .await;

    let words = ["open", "geocoder", "--why", "they have asked us to stop"];
    let said = operator.run(&words).await.ends(0);
    has(&said, &["1h from now, unless --for says otherwise"]);
    let before = upstream.received().len();
    let answer = gateway::get(&gateway, "/").await;
    assert_eq!(answer.status(), 503);
    let text = answer.text().await.expect("a text");
    has(&text, &["on-call@desk", "they have asked us to stop"]);
    assert_eq!(upstream.received().len(), before, "nobody is asked");

    operator.run(&["clear", "geocoder"]).await.ended(0);
    assert_eq!(gateway::get(&gateway, "/").await.status(), 200);

    // What the gateway finds out, an operator sees.
    upstream.say(Reply::status(500));
    until("the breaker opens", async || {
        gateway::get(&gateway, "/").await;
        gateway::breaker(&gateway, "geocoder").await.phase == Phase::Open
    })
    .await;
    let said = operator.run(&["status"]).await.ends(1);
    has(
        &said,
        &["geocoder", "open", "opened by the rule `failures`"],
    );
}

#[tokio::test]
async fn an_order_ends_by_itself_when_its_time_is_over() {
    let server = RedisServer::start();
    let host = host(&server, "host-1", LONG).await;
    let operator = Operator::of(&server);
    let target = Target::provider("mailer");
    let words = ["open", "mailer", "--why", "for a moment", "--for", "5s"];
    operator.run(&words).await.ended(0);
    let refused = async || host.admit(&target, &CallFacts::default()).await.is_err();
    assert!(refused().await);
    until("the order is over", async || !refused().await).await;
    operator.run(&["status", "mailer"]).await.ended(0);
}

#[tokio::test]
async fn an_order_without_an_end_stands_until_it_is_cleared() {
    let server = RedisServer::start();
    let host = host(&server, "host-1", LONG).await;
    let operator = Operator::of(&server);
    let words = [
        "off",
        "mailer",
        "--why",
        "a trial",
        "--for",
        "ever",
        "--who",
        "operator@desk",
    ];
    let said = operator.run(&words).await.ends(0);
    has(
        &said,
        &[
            "mailer is off",
            "operator@desk",
            "`fusewire clear mailer` ends it, and nothing else",
        ],
    );
    let order = state(&host, &Target::provider("mailer")).await.order;
    let order = order.expect("an order");
    assert_eq!((order.mode, order.until_ms), (OverrideMode::Off, 0));
    assert_eq!(order.who, "operator@desk");
    let said = operator.run(&["status"]).await.ends(0);
    has(&said, &["off", "ever", "by operator@desk: a trial"]);
}

#[tokio::test]
async fn a_breaker_that_is_open_lets_calls_through_when_it_is_forced_closed_off_or_observed() {
    let server = RedisServer::start();
    let host = host(&server, "host-1", LONG).await;
    let operator = Operator::of(&server);
    let target = Target::provider("tiles");
    trip(&host, &target).await;
    assert!(host.admit(&target, &CallFacts::default()).await.is_err());
    for (word, standing) in [
        ("close", "forced closed"),
        ("off", "off"),
        ("observe", "observed"),
    ] {
        operator
            .run(&[word, "tiles", "--why", "we know better"])
            .await
            .ended(0);
        let admitted = host.admit(&target, &CallFacts::default()).await;
        assert!(admitted.is_ok(), "{word}");
        // It is not closed: that shows when the order is over.
        let said = operator.run(&["status"]).await.ends(1);
        has(
            &said,
            &[
                standing,
                "its breaker is open for ",
                "by the rule `failures`",
            ],
        );
    }
    operator.run(&["clear", "tiles"]).await.ended(0);
    assert!(host.admit(&target, &CallFacts::default()).await.is_err());
}

#[tokio::test]
async fn of_an_observed_breaker_a_share_of_the_refusals_can_be_enforced() {
    let server = RedisServer::start();
    let host = host(&server, "host-1", LONG).await;
    let operator = Operator::of(&server);
    let target = Target::provider("tiles");
    trip(&host, &target).await;
    let words = [
        "observe",
        "tiles",
        "--why",
        "step by step",
        "--enforce",
        "50",
    ];
    let said = operator.run(&words).await.ends(0);
    has(&said, &["50 % of its refusals are enforced"]);
    let mut refused = 0;
    for _ in 0..400 {
        refused += usize::from(host.admit(&target, &CallFacts::default()).await.is_err());
    }
    // Half of them, within seven times what chance does.
    assert!((130..=270).contains(&refused), "{refused} of 400");
    let said = operator.run(&["status"]).await.ends(1);
    has(
        &said,
        &["50 % of refusals enforced, by on-call@desk: step by step"],
    );
    let said = operator
        .run(&["observe", "tiles", "--why", "x", "--enforce", "101"])
        .await;
    has(&said.complains(2), &["101", "0..=100"]);
}

#[tokio::test]
async fn a_refused_order_ends_with_one_and_one_in_doubt_with_two() {
    let mut server = RedisServer::start();
    let operator = Operator::of(&server);
    for slip in ["geocoder@", "", "a@b/c", "{geocoder}"] {
        let said = operator
            .run(&["open", slip, "--why", "x"])
            .await
            .complains(1);
        has(
            &said,
            &[
                "refused: ",
                "provider, provider@account or provider/operation",
            ],
        );
    }
    let long = "x".repeat(300);
    for why in ["", &long] {
        let said = operator
            .run(&["open", "a", "--why", why])
            .await
            .complains(1);
        has(&said, &["refused: `why` has ", "must have 1 to 256"]);
    }
    let wrong: [&[&str]; 4] = [
        &["open", "a"],
        &["open", "a", "--why", "x", "--for", "soon"],
        &["observe", "a", "--why", "x", "--enforce", "-1"],
        &["open", "--why", "x"],
    ];
    for words in wrong {
        operator.run(words).await.ended(2);
    }
    let said = operator.run(&["status"]).await.ends(0);
    has(&said, &["no domain has a record"]);

    server.kill();
    let said = operator
        .run(&["open", "a", "--why", "x"])
        .await
        .complains(2);
    has(&said, &["the store is out of reach", "Connection refused"]);
    operator.run(&["clear", "a"]).await.ended(2);
}
