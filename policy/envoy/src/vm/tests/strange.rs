//! Any order of callbacks, and any answers of the host.

use proptest::prelude::*;

use super::bodies::LOOKING;
use super::{NOW_NS, SECOND_NS, configured, envoy};
use crate::fake_host::FakeHost;

#[derive(Debug, Clone)]
enum Callback {
    Create(u32, u32),
    Configure(u32),
    Tick(u32),
    Request(u32, bool),
    Headers(u32, bool),
    Body(u32, u32, bool),
    Trailers(u32),
    Call(u32, u32, bool),
    Log(u32),
    Delete(u32),
    Time(u64),
}

fn callback() -> impl Strategy<Value = Callback> {
    let id = || 0..5_u32;
    prop_oneof![
        (id(), id()).prop_map(|(a, b)| Callback::Create(a, b)),
        id().prop_map(Callback::Configure),
        id().prop_map(Callback::Tick),
        (id(), any::<bool>()).prop_map(|(a, end)| Callback::Request(a, end)),
        (id(), any::<bool>()).prop_map(|(a, end)| Callback::Headers(a, end)),
        (id(), any::<u32>(), any::<bool>()).prop_map(|(a, size, end)| Callback::Body(a, size, end)),
        id().prop_map(Callback::Trailers),
        (id(), id(), any::<bool>()).prop_map(|(a, token, came)| Callback::Call(a, token, came)),
        id().prop_map(Callback::Log),
        id().prop_map(Callback::Delete),
        prop_oneof![any::<u64>(), NOW_NS..NOW_NS + 100 * SECOND_NS].prop_map(Callback::Time),
    ]
}

proptest! {
    #[test]
    fn no_answer_of_the_host_and_no_order_of_callbacks_makes_it_panic_or_count_twice(
        callbacks in proptest::collection::vec(callback(), 1..120),
        strange in proptest::collection::vec(prop_oneof![6 => Just(None), 1 => any::<u32>().prop_map(Some)], 0..400),
        text in ".{0,40}", status in ".{0,5}", answer: Vec<u8>, flags: u64,
    ) {
        let host = envoy();
        let settings = LOOKING.replacen('{', r#"{"body": {"bytes": 9}, "fleet": {"cluster": "f"}, "#, 1);
        let mut vm = configured(&host, &settings);
        host.property_is("response\0code_details", &text);
        host.numbers.borrow_mut().insert("response\0flags".into(), flags);
        FakeHost::set(&host.response, &[(":status", &status), (&text, &text)]);
        host.call_answer.replace(("200".into(), answer.clone()));
        host.body.replace(answer);
        host.strange.replace(strange);
        for callback in callbacks {
            match callback {
                Callback::Create(a, b) => vm.on_context_create(a, b),
                Callback::Configure(a) => drop(vm.on_configure(a, u32::try_from(settings.len()).unwrap())),
                Callback::Tick(a) => vm.on_tick(a),
                Callback::Request(a, end) => drop(vm.on_request_headers(a, end)),
                Callback::Headers(a, end) => vm.on_response_headers(a, end),
                Callback::Body(a, size, end) => vm.on_response_body(a, size, end),
                Callback::Trailers(a) => vm.on_response_trailers(a),
                Callback::Call(a, token, came) => vm.on_call_response(a, token, came, 1_000),
                Callback::Log(a) => vm.on_log(a),
                Callback::Delete(a) => vm.on_delete(a),
                Callback::Time(ns) => host.now_ns.set(ns),
            }
        }
        for stream in 0..5 {
            vm.on_delete(stream);
        }
        let settled: u64 = ["success", "failure", "neutral", "dropped"]
            .iter()
            .map(|name| host.metric(&format!("outcome.{name}")))
            .sum();
        prop_assert_eq!(settled, host.metric("admitted"));
    }
}
