//! A policy that keeps what it was shown.

use std::io::Write as _;
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use fusewire::core::{Description, Observation, Suspended, Target, Verdict, Wanted};
use fusewire::engine::{Answer, Call, Engine, Fault, NativeEngine, Tape};
use fusewire::gateway::Gateway;

use crate::gateway::config;

/// What a body has in it that this policy takes for a failure.
pub const FAILED: &str = "FAILED";

/// Fusewire's policy, which looks at what it is told to, and takes an answer with [`FAILED`] in its
/// body for a failure of the provider. One failure opens; nothing is tried twice.
pub struct Spy {
    policy: NativeEngine,
    wanted: Arc<Wanted>,
    seen: Mutex<Vec<Observation>>,
}

impl Spy {
    /// A policy that looks at so many bytes of a body, at these header fields, and at trailers.
    ///
    /// # Panics
    /// Its configuration is not accepted.
    #[must_use]
    pub fn looking_at(body_bytes: u32, headers: &[&str]) -> Arc<Self> {
        let configuration = r#"{"retry": {"attempts": 1}, "breaker": {"failures": {"count": 1}}}"#;
        let headers = headers.iter().map(|name| (*name).to_owned()).collect();
        Arc::new(Self {
            policy: NativeEngine::new(configuration).expect("a good configuration"),
            wanted: Arc::new(Wanted {
                body_bytes,
                headers: Some(headers),
                trailers: true,
            }),
            seen: Mutex::default(),
        })
    }

    /// What it was shown since it was last asked for that.
    ///
    /// # Panics
    /// A test panicked meanwhile.
    #[must_use]
    pub fn seen(&self) -> Vec<Observation> {
        std::mem::take(&mut self.seen.lock().expect("nobody panicked"))
    }

    /// A gateway with this policy.
    ///
    /// # Panics
    /// It cannot start.
    pub async fn gateway(self: &Arc<Self>, toml: &str) -> Gateway {
        let engine = Arc::clone(self) as Arc<dyn Engine>;
        let started = Gateway::builder(config(toml)).engine(engine).start().await;
        started.unwrap_or_else(|error| panic!("{error}"))
    }
}

impl Engine for Spy {
    fn describe(&self) -> &Description {
        self.policy.describe()
    }

    fn wanted(&self, _target: &Target) -> Result<Arc<Wanted>, Fault> {
        Ok(Arc::clone(&self.wanted))
    }

    fn classify(&self, target: &Target, observation: &Observation) -> Result<Verdict, Fault> {
        let mut judged = observation.clone();
        if let Ok(mut seen) = self.seen.lock() {
            seen.push(observation.clone());
        }
        if let Some(response) = &mut judged.response {
            let body = response.body.take().unwrap_or_default();
            if String::from_utf8_lossy(&body).contains(FAILED) {
                response.status = 500;
            }
        }
        self.policy.classify(target, &judged)
    }

    fn run(&self, call: &Call, tape: &mut Tape) -> Result<Result<Answer, Suspended>, Fault> {
        self.policy.run(call, tape)
    }
}

/// A text in gzip's format.
///
/// # Panics
/// Never.
#[must_use]
pub fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).expect("memory");
    encoder.finish().expect("memory")
}

/// A text as the content coding `deflate` has it.
///
/// # Panics
/// Never.
#[must_use]
pub fn deflate(text: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).expect("memory");
    encoder.finish().expect("memory")
}
