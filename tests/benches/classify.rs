//! What judging an answer takes, by the kind of answer: the built-in component against the same core
//! compiled natively, with the body that the policy wants to see.
//!
//! Goals: under 1,000 ns natively for an ordinary good answer of which no rule looks at the body, and
//! the component at most 3 times as long.

use std::hint::black_box;
use std::time::Instant;

use fusewire::engine::ComponentEngine;
use fusewire_core::{Field, Media, Observation, Policy, Response, Target};
use fusewire_fuzz::checks::every_profile;
use fusewire_tests::measure::{Side, measure, print_head, print_line};

const NOW: u64 = 1_800_000_000_000;

/// What an ordinary answer has besides its media type.
const HEADERS: [(&str, &str); 11] = [
    ("date", "Fri, 15 Jan 2027 08:00:00 GMT"),
    ("server", "nginx"),
    ("content-length", "2048"),
    ("connection", "keep-alive"),
    ("cache-control", "public, max-age=3600"),
    ("etag", "\"5f3a-1c2b\""),
    ("vary", "Accept-Encoding, Origin"),
    ("access-control-allow-origin", "*"),
    ("strict-transport-security", "max-age=31536000"),
    ("x-request-id", "0f8fad5b-d9cb-469f-a165-70867728950e"),
    ("x-ratelimit-remaining", "4999"),
];

const REPORT: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\
    <ows:ExceptionReport xmlns:ows=\"http://www.opengis.net/ows\" version=\"1.0.0\">\
    <ows:Exception exceptionCode=\"NoApplicableCode\" locator=\"GetFeature\">\
    <ows:ExceptionText>java.lang.RuntimeException: java.io.IOException\n\
    Error occured calculating bounds for roads</ows:ExceptionText>\
    </ows:Exception></ows:ExceptionReport>";

/// One kind of answer.
struct Kind {
    what: &'static str,
    profile: &'static str,
    seen: Observation,
}

fn kind(what: &'static str, profile: &'static str, status: u16, headers: &[(&str, &str)]) -> Kind {
    let mut response = Response::status(status);
    response.headers = headers
        .iter()
        .map(|(name, value)| Field {
            name: (*name).into(),
            value: (*value).into(),
        })
        .collect();
    Kind {
        what,
        profile,
        seen: Observation::response(response, NOW),
    }
}

impl Kind {
    fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        if let Some(response) = &mut self.seen.response {
            response.body = Some(body.into());
        }
        self
    }

    fn expect(mut self, media: Media) -> Self {
        self.seen.expect = media;
        self
    }
}

/// An answer of a geocoder of about so many bytes, whose status stands last.
fn places(bytes: usize) -> String {
    let place = r#"{"formatted_address":"Laugavegur 26, 101 Reykjav\u00edk, Iceland","geometry":{"location":{"lat":64.1466,"lng":-21.9426}},"types":["street_address"]}"#;
    let times = (bytes / (place.len() + 1)).max(1);
    let places = vec![place; times].join(",");
    format!(r#"{{"results":[{places}],"status":"OK"}}"#)
}

fn kinds() -> Vec<Kind> {
    let ordinary = |media: &'static str| {
        let mut headers = HEADERS.to_vec();
        headers.push(("content-type", media));
        headers
    };
    let json = ordinary("application/json; charset=utf-8");
    let delta = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
                 \"delta\":{\"type\":\"text_delta\",\"text\":\" word\"}}\n\n";
    let limits = [
        ("retry-after", "17"),
        ("x-ratelimit-limit-requests", "60"),
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", "17s"),
        ("x-ratelimit-reset-tokens", "6m0s"),
    ];
    let refused = [&json[..], &limits].concat();
    vec![
        kind("a 200, no body rule, 12 fields", "http", 200, &json).body(places(2 << 10)),
        kind("the same without fields", "http", 200, &[]).body(places(2 << 10)),
        kind("JSON of 2 KB", "google-geocoding", 200, &json).body(places(2 << 10)),
        kind("JSON of 64 KB", "google-geocoding", 200, &json).body(places(60 << 10)),
        kind("a report in XML", "geoserver", 200, &ordinary("text/xml")).body(REPORT),
        kind("events of 16 KB", "anthropic", 200, &ordinary("text/event-stream"))
            .body(delta.repeat((16 << 10) / delta.len())),
        // Of all that was tried, what takes longest for its size.
        kind("64 KB of empty events", "anthropic", 200, &ordinary("text/event-stream"))
            .body("data:0\n\n".repeat(8 << 10)),
        kind("a 429 with waits", "openai", 429, &refused)
            .body(r#"{"error":{"message":"Rate limit reached. Please try again in 17s.","type":"requests","code":"rate_limit_exceeded"}}"#),
        kind("a tile of 16 KB", "tiles", 200, &ordinary("image/png"))
            .body([&b"\x89PNG\r\n\x1a\n"[..], &[7; 16 << 10]].concat())
            .expect(Media::Image),
    ]
}

fn main() {
    let configuration = every_profile();
    let began = Instant::now();
    let mut policy = Policy::default();
    assert!(policy.configure(&configuration).is_empty());
    let native_us = began.elapsed().as_secs_f64() * 1e6;
    let compiled = ComponentEngine::built_in("{}").expect("the policy loads");
    let began = Instant::now();
    let problems = compiled.problems_with(&configuration).expect("no fault");
    assert!(problems.is_empty());
    let component_us = began.elapsed().as_secs_f64() * 1e6;
    println!(
        "configured with every profile in {native_us:.0} us natively, {component_us:.0} us as a \
         new instance of the component"
    );

    let [native, component] = Side::both(&configuration);
    print_head();
    for kind in kinds() {
        let target = Target::provider(kind.profile);
        let bytes = native.body_bytes(&target);
        let calls = match kind.seen.response.as_ref().and_then(|r| r.body.as_ref()) {
            Some(body) if bytes > 0 && body.len() > 4 << 10 => 200,
            _ => 2_000,
        };
        let took = measure([&native, &component], calls, |side| {
            black_box(side.classify(&target, &kind.seen));
        });
        let what = format!("{} ({}, wants {bytes})", kind.what, kind.profile);
        print_line(&what, took);
    }
    println!("goals: the first line under 1000 ns natively, every ratio at most 3");
}
