//! A host whose own clock is off still agrees with its fleet, and its operator is told: by how much,
//! in which direction, and what to do; once, and again when it changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use fusewire::core::{Phase, Target};
use fusewire::guard::Guard;
use fusewire::metrics::Metrics;
use fusewire::store::redis::{ClockNews, ClockReading, ClockWatch, RedisLimits};
use fusewire::store::{MergedStore, RedisStore, Store, WatchedStore};
use fusewire_tests::fleet::{self, DEADLINE, QUICK};
use fusewire_tests::redis_server::RedisServer;
use tokio::sync::mpsc;

const SECOND_MS: i64 = 1_000;
const HOUR_MS: i64 = 3_600 * SECOND_MS;
/// How exactly a clock is compared in a test, on a machine with other work to do.
const EXACTLY_MS: i64 = 400;

/// How long the store is waited for: how fast it is, is no matter here.
const PATIENCE: Duration = Duration::from_secs(5);

/// A host whose wall clock can be set.
struct Host {
    store: Arc<dyn Store>,
    /// How far its wall clock is set ahead of the right time, in ms.
    set_by: Arc<AtomicI64>,
    readings: mpsc::UnboundedReceiver<ClockReading>,
}

impl Host {
    async fn connect(server: &RedisServer, ahead_ms: i64) -> Self {
        let set_by = Arc::new(AtomicI64::new(ahead_ms));
        let (tell, readings) = mpsc::unbounded_channel();
        let wall = Arc::clone(&set_by);
        let clock = ClockWatch {
            every: Duration::from_millis(10),
            wall: Arc::new(move || set_ahead(wall.load(Ordering::Relaxed))),
            // Nobody listens any more at the end of a test.
            told: Arc::new(move |reading| drop(tell.send(reading.clone()))),
            ..ClockWatch::default()
        };
        let redis = RedisStore::connect_with(&server.url(), RedisLimits::default(), clock)
            .await
            .expect("a good URL");
        // As in a gateway: what the metrics are asked for comes through all of these.
        let watched = WatchedStore::new(Arc::new(redis), PATIENCE);
        Self {
            store: Arc::new(MergedStore::new(Arc::new(watched))),
            set_by,
            readings,
        }
    }

    fn set(&self, ahead_ms: i64) {
        self.set_by.store(ahead_ms, Ordering::Relaxed);
    }

    async fn reading(&mut self) -> ClockReading {
        let reading = tokio::time::timeout(DEADLINE, self.readings.recv()).await;
        reading
            .expect("the clock is measured again")
            .expect("it is there")
    }

    /// What is said next.
    async fn news(&mut self) -> ClockNews {
        loop {
            if let Some(news) = self.reading().await.news.first() {
                return *news;
            }
        }
    }

    /// Some measurements of which nothing is said. They are of a clock that stays as it is.
    async fn no_news(&mut self) {
        for _ in 0..3 {
            let reading = self.reading().await;
            assert_eq!(reading.news, [], "{reading:?}");
        }
    }
}

fn set_ahead(ms: i64) -> SystemTime {
    let by = Duration::from_millis(ms.unsigned_abs());
    match ms < 0 {
        true => SystemTime::now() - by,
        false => SystemTime::now() + by,
    }
}

/// That a time in us is this one in ms.
fn is(us: i64, ms: i64) -> bool {
    (us / 1_000 - ms).abs() < EXACTLY_MS
}

#[tokio::test]
async fn a_host_whose_clock_is_off_is_told_by_how_much_which_way_and_what_to_do() {
    let server = RedisServer::start();
    for (ahead_ms, words) in [
        (3 * HOUR_MS, "3.0 h ahead of the store's"),
        (-3 * HOUR_MS, "behind the store's"),
        (400 * 24 * HOUR_MS, "days ahead of the store's"),
    ] {
        let mut host = Host::connect(&server, ahead_ms).await;
        let news = host.news().await;
        let ClockNews::Off { ahead_us } = news else {
            panic!("{news:?}");
        };
        assert!(is(ahead_us, ahead_ms), "{ahead_us}");
        let text = news.to_string();
        assert!(
            text.contains(words) && text.contains("time service"),
            "{text}"
        );
        host.no_news().await;
        // And it goes by the server's clock all the same.
        let right = set_ahead(0)
            .duration_since(SystemTime::UNIX_EPOCH)
            .expect("a date");
        let right = i64::try_from(right.as_millis()).expect("a date");
        let there = i64::try_from(host.store.now_ms()).expect("a date");
        assert!(
            (there - right).abs() < EXACTLY_MS,
            "{there}, and it is {right}"
        );
    }
}

#[tokio::test]
async fn it_is_told_again_when_the_clock_is_set_much_further_or_right() {
    let server = RedisServer::start();
    let mut host = Host::connect(&server, 0).await;
    host.no_news().await;

    // Set while the process runs: what it knew at its start says nothing of that.
    host.set(-5 * SECOND_MS);
    let news = host.news().await;
    assert!(
        matches!(news, ClockNews::Off { ahead_us } if is(ahead_us, -5_000)),
        "{news:?}"
    );
    host.set(-6 * SECOND_MS);
    host.no_news().await;
    host.set(60 * SECOND_MS);
    let news = host.news().await;
    assert!(
        matches!(news, ClockNews::Off { ahead_us } if is(ahead_us, 60_000)),
        "{news:?}"
    );
    host.set(0);
    let news = host.news().await;
    assert!(
        matches!(news, ClockNews::Back { ahead_us } if is(ahead_us, 0)),
        "{news:?}"
    );
    host.no_news().await;
}

#[tokio::test]
async fn how_far_the_clock_is_off_is_a_gauge_that_is_right_between_measurements_too() {
    let server = RedisServer::start();
    let host = Host::connect(&server, -90 * SECOND_MS).await;
    let metrics = Metrics::new(&[], Arc::clone(&host.store), None);
    let gauge = || -> f64 {
        let text = metrics.text();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("fusewire_clock_offset_seconds "));
        let line = line.unwrap_or_else(|| panic!("there is no gauge:\n{text}"));
        line.parse().expect("a number")
    };
    assert!((gauge() + 90.0).abs() < 0.4, "{}", gauge());
    host.set(7 * SECOND_MS);
    assert!((gauge() - 7.0).abs() < 0.4, "{}", gauge());
}

#[tokio::test]
async fn without_a_clock_of_the_store_there_is_no_gauge() {
    let store: Arc<dyn Store> = Arc::new(fusewire::store::MemoryStore::new());
    assert!(
        !Metrics::new(&[], store, None)
            .text()
            .contains("clock_offset")
    );
    // Nothing listens there: the clock was never measured.
    let redis = RedisStore::connect("redis://127.0.0.1:1")
        .await
        .expect("a good URL");
    let store: Arc<dyn Store> = Arc::new(redis);
    assert!(
        !Metrics::new(&[], store, None)
            .text()
            .contains("clock_offset")
    );
}

#[tokio::test]
async fn a_host_whose_clock_is_an_hour_off_decides_as_the_others_do() {
    let server = RedisServer::start();
    let hosts = [
        Host::connect(&server, HOUR_MS).await,
        Host::connect(&server, 0).await,
        Host::connect(&server, -HOUR_MS).await,
    ];
    let guard = |host: &Host| {
        Guard::builder(fleet::engine(QUICK), Arc::clone(&host.store))
            .patience(PATIENCE)
            .build()
    };
    let [ahead, right, behind] = hosts.each_ref().map(guard);
    for (name, opens, others) in [
        ("geocoder", &ahead, [&right, &behind]),
        ("router", &behind, [&right, &ahead]),
    ] {
        let target = Target::provider(name);
        fleet::trip(opens, &target).await;
        let until = fleet::state(opens, &target).await.until_ms;
        for other in others {
            let state = fleet::state(other, &target).await;
            assert_eq!((state.phase, state.until_ms), (Phase::Open, until));
        }
        // The cool-down of 300 ms is over for all of them, and one good probe closes it for all.
        for host in [&ahead, &right, &behind] {
            fleet::cool_down_is_over(host, &target).await;
        }
        fleet::settle_with(&right, &target, 200).await;
        assert_eq!(fleet::state(opens, &target).await.phase, Phase::Closed);
    }
}
