//! The policy that is written in C gives back what it takes: an instance is used for as long as its
//! host runs.
//!
//! Not through the host's engine, which would drop an instance whose memory grows before anybody
//! could see it.

use std::collections::HashMap;

use wasmtime::component::{Component, HasSelf, Linker};
use wasmtime::{Engine, ResourceLimiter, Store};

mod bindings {
    wasmtime::component::bindgen!({ path: "../wit", world: "policy" });
}

use bindings::Policy;
use bindings::exports::fusewire::policy::breaker::{Context, Decision, Ending, Target};
use bindings::exports::fusewire::policy::classifier::{Field, Media, Observation, Response};
use bindings::exports::fusewire::policy::planner::Progress;
use bindings::fusewire::policy::keyvalue;

static POLICY_C: &[u8] = include_bytes!(env!("FUSEWIRE_POLICY_C_WASM"));

/// A store that is suspended, or out of reach, every so often.
#[derive(Default)]
struct Host {
    values: HashMap<String, Vec<u8>>,
    asked: u64,
    /// The memory that the instance has taken, in bytes.
    memory: usize,
}

impl Host {
    fn answer(&mut self) -> Result<(), keyvalue::Error> {
        self.asked += 1;
        match self.asked % 11 {
            5 => Err(keyvalue::Error::Pending),
            7 => Err(keyvalue::Error::Unavailable),
            9 => Err(keyvalue::Error::Refused("no room for this".into())),
            _ => Ok(()),
        }
    }
}

impl keyvalue::Host for Host {
    fn get(&mut self, keys: Vec<String>) -> Result<Vec<Option<Vec<u8>>>, keyvalue::Error> {
        self.answer()?;
        Ok(keys
            .iter()
            .map(|key| self.values.get(key).cloned())
            .collect())
    }

    fn swap(
        &mut self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        _: u64,
    ) -> Result<bool, keyvalue::Error> {
        self.answer()?;
        if self.values.get(&key) != expected.as_ref() {
            return Ok(false);
        }
        match replacement {
            Some(value) => self.values.insert(key, value),
            None => self.values.remove(&key),
        };
        Ok(true)
    }

    fn count(&mut self, _: Vec<keyvalue::Window>) -> Result<Vec<keyvalue::Tally>, keyvalue::Error> {
        Err(keyvalue::Error::Refused(
            "it has no use for counters".into(),
        ))
    }
}

impl ResourceLimiter for Host {
    fn memory_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.memory = desired;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(true)
    }
}

fn instance() -> (Store<Host>, Policy) {
    let engine = Engine::default();
    let component = Component::new(&engine, POLICY_C).expect("a component");
    let mut linker = Linker::new(&engine);
    Policy::add_to_linker::<_, HasSelf<Host>>(&mut linker, |host| host).expect("a good linker");
    let mut store = Store::new(&engine, Host::default());
    store.limiter(|host| host);
    let policy = Policy::instantiate(&mut store, &component, &linker).expect("it starts");
    (store, policy)
}

/// Every export once, with arguments that differ from round to round. Answers how many calls were
/// made, and adds what was answered to `seen`.
fn round(store: &mut Store<Host>, policy: &Policy, round: u64, seen: &mut [u64; 4]) -> u64 {
    let target = Target {
        provider: match round % 8 {
            7 => "not a {name}".into(),
            n => format!("provider-{n}"),
        },
        account: round.is_multiple_of(2).then(|| "account".into()),
        operation: round
            .is_multiple_of(3)
            .then(|| "operation".repeat((round % 13) as usize)),
    };
    let now_ms = 1_767_225_600_000 + round * 7_000;
    let context = Context {
        now_ms,
        entropy: round.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        instance: "an \"instance\" \\ of the fleet".into(),
        call_limit_ms: round.is_multiple_of(4).then_some(30_000),
        fingerprint: None,
    };
    let observation = Observation {
        response: Some(Response {
            status: if round % 90 < 60 { 503 } else { 200 },
            headers: vec![Field {
                name: "Retry-After".into(),
                value: "7".into(),
            }],
            trailers: Vec::new(),
            body: Some(b"an answer".to_vec()),
        }),
        failure: None,
        cause: Some("the cause".into()),
        latency_ms: round,
        now_ms,
        idempotent: true,
        delivered_partial: false,
        expect: Media::Any,
        minimum_budget_ms: None,
    };
    let lifecycle = policy.fusewire_policy_lifecycle();
    let configurations = [
        "{}",
        r#"{"breaker":{"probes":{"needed":1}}}"#,
        r#"{"nonsense":1}"#,
    ];
    lifecycle.call_describe(&mut *store).expect("no trap");
    lifecycle
        .call_configure(&mut *store, configurations[(round % 3) as usize])
        .expect("no trap");
    let verdict = policy
        .fusewire_policy_classifier()
        .call_classify(&mut *store, &target, &observation)
        .expect("no trap");
    let breaker = policy.fusewire_policy_breaker();
    let mut calls = 7;
    match breaker
        .call_admit(&mut *store, &target, &context)
        .expect("no trap")
    {
        Ok(admission) => match admission.decision {
            Decision::Allowed(permit) => {
                seen[usize::from(permit.probe)] += 1;
                let ending = match round % 10 {
                    9 => Ending::Dropped,
                    _ => Ending::Judged(verdict.clone()),
                };
                // Told twice, the second time too late.
                for _ in 0..2 {
                    calls += 1;
                    let _ = breaker
                        .call_settle(&mut *store, &permit, &ending, &context)
                        .expect("no trap");
                }
            }
            Decision::Refused(_) => seen[2] += 1,
        },
        Err(_) => seen[3] += 1,
    }
    let _ = breaker
        .call_inspect(&mut *store, &target, &context)
        .expect("no trap");
    let _ = breaker
        .call_set_override(&mut *store, "provider-1", None, &context)
        .expect("no trap");
    let progress = Progress {
        target,
        attempts: 3,
        attempts_in_all: 3,
        providers_left: 0,
        probe: false,
        deadline_ms: None,
    };
    let _ = policy
        .fusewire_policy_planner()
        .call_next(&mut *store, &progress, &verdict, &context)
        .expect("no trap");
    calls
}

#[test]
fn its_memory_is_after_a_hundred_thousand_calls_what_it_was_after_a_thousand() {
    let (mut store, policy) = instance();
    let (mut calls, mut rounds, mut seen) = (0, 0, [0; 4]);
    let mut until = |store: &mut Store<Host>, enough: u64| {
        while calls < enough {
            calls += round(store, &policy, rounds, &mut seen);
            rounds += 1;
        }
        store.data().memory
    };
    let early = until(&mut store, 1_000);
    let late = until(&mut store, 100_000);
    assert_eq!(early, late, "bytes");
    assert!(early < 2 << 20, "{early} bytes are a lot for this");
    // Calls that were admitted, probes, refusals and suspensions: it did all that it can.
    assert!(seen.iter().all(|times| *times > 100), "{seen:?}");
}
