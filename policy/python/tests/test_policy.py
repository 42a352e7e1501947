"""The component in this runtime: values, configuration, faults, threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import wasmtime

from asking import answered, context
from fusewire import (
    Component,
    ConfigurationError,
    InvalidOrder,
    LoadError,
    MemoryStore,
    OrderFailed,
    Policy,
    PolicyFault,
    StoreUnavailable,
    target,
)
from fusewire.tape import OPERATIONS_MAX, Tape

SOURCES = Path(__file__).resolve().parents[1] / "src"


def test_it_says_who_it_is(component: Component) -> None:
    description = Policy(component=component).describe()
    assert description["name"] == "fusewire"
    assert description["record-schema"] >= 1


def test_a_configuration_error_lists_every_problem_with_its_path(component: Component) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Policy({"breaker": {"failures": {"count": -1}}, "oops": 1}, component=component)
    assert [problem["path"] for problem in caught.value.problems] == [
        "/breaker/failures/count",
        "/oops",
    ]
    for part in ("/breaker/failures/count", "/oops", "is not a setting"):
        assert part in str(caught.value)


def test_a_configuration_is_checked_without_changing_the_one_in_force(
    component: Component,
) -> None:
    policy = Policy({"breaker": {"failures": {"count": 1}}}, component=component)
    assert policy.problems("nonsense")
    assert policy.problems({"breaker": {"failures": {"count": 9}}}) == []
    permit = policy.admit(target("p"), context())["decision"]["allowed"]
    verdict = policy.classify(target("p"), answered(503))
    policy.settle(permit, {"judged": verdict}, context())
    assert "refused" in policy.admit(target("p"), context())["decision"]


def test_five_failures_open_it_and_the_record_says_so(component: Component) -> None:
    policy = Policy(component=component)
    for _ in range(5):
        permit = policy.admit(target("p"), context())["decision"]["allowed"]
        verdict = policy.classify(target("p"), answered(503))
        events = policy.settle(permit, {"judged": verdict}, context())
    assert events[0]["kind"]["transition"]["after"] == "open"
    refusal = policy.admit(target("p"), context())["decision"]["refused"]
    assert refusal["reason"] == "open" and refusal["retry-after-ms"] >= 30_000
    (state,) = policy.inspect(target("p"), context())
    assert state["phase"] == "open" and state["failures"] == 5
    assert state["stored"] is not None and '"phase":"open"' in state["stored"]


def test_an_operators_order_is_carried_out_and_a_bad_one_is_not(component: Component) -> None:
    policy = Policy(component=component)
    order = {"mode": "open", "who": "ops", "why": "maintenance", "until-ms": 0}
    events = policy.set_override("p", order, context())  # type: ignore[arg-type]
    assert events[0]["kind"] == {"ordered": "open"}
    assert policy.admit(target("p"), context())["decision"]["refused"]["reason"] == "override"
    assert policy.set_override("p", None, context())[0]["kind"] == {"ordered": None}
    with pytest.raises(InvalidOrder):
        policy.set_override("", None, context())


def test_an_order_may_enforce_a_share_of_the_refusals_and_a_share_must_make_sense(
    component: Component,
) -> None:
    policy = Policy({"breaker": {"failures": {"count": 1}}}, component=component)
    order: Any = {
        "mode": "observe",
        "enforce-percent": 25,
        "who": "on-call",
        "why": "a trial",
        "until-ms": 0,
    }
    assert policy.set_order("p", order, context())[0]["kind"] == {"ordered": "observe"}
    permit = policy.admit(target("p"), context())["decision"]["allowed"]
    policy.settle(permit, {"judged": policy.classify(target("p"), answered(503))}, context())
    lots = [
        policy.admit(target("p"), context(entropy=n * 0x9E3779B97F4A7C15 % 2**64))["decision"]
        for n in range(200)
    ]
    assert 20 < sum("refused" in decision for decision in lots) < 80
    assert policy.set_order("p", None, context())[0]["kind"] == {"ordered": None}
    for wrong in ({"enforce-percent": 101}, {"mode": "open"}, {"who": ""}):
        with pytest.raises(InvalidOrder):
            policy.set_order("p", {**order, **wrong}, context())


def test_a_domain_is_explained_and_an_invalid_or_unreachable_one_is_not(
    component: Component,
) -> None:
    class Gone(MemoryStore):
        up = True

        def get(self, keys: Any) -> list[bytes | None]:
            if not self.up:
                raise StoreUnavailable("gone")
            return super().get(keys)

    store = Gone()
    configuration = {"breaker": {"failures": {"count": 1}, "cool-down": {"jitter": 0}}}
    policy = Policy(configuration, store=store, component=component)
    permit = policy.admit(target("p"), context())["decision"]["allowed"]
    policy.settle(permit, {"judged": policy.classify(target("p"), answered(503))}, context())
    facts = policy.explain("p", context())
    assert facts[0] == {
        "subject": "phase",
        "value": "open",
        "says": "open for another 30s by the rule `failures`",
    }
    assert {"openings", "failures", "failure-ratio"} <= {fact["subject"] for fact in facts}
    with pytest.raises(InvalidOrder):
        policy.explain("", context())
    store.up = False
    with pytest.raises(OrderFailed, match="out of reach"):
        policy.explain("p", context())


def test_the_planner_answers_with_a_step(component: Component) -> None:
    policy = Policy(component=component)
    progress = {
        "target": target("p"),
        "attempts": 1,
        "attempts-in-all": 1,
        "providers-left": 1,
        "probe": False,
    }
    good, bad = (policy.classify(target("p"), answered(status)) for status in (200, 503))
    assert policy.next(progress, good, context()) == "done"  # type: ignore[arg-type]
    step = policy.next(progress, bad, context())  # type: ignore[arg-type]
    assert step == "next-provider" or step["retry"] > 0


def test_numbers_keep_all_of_their_64_bits(component: Component) -> None:
    policy = Policy(component=component)
    last = 2**64 - 1
    admission = policy.admit(
        target("p"), context(last, entropy=last, fingerprint=last, call_limit_ms=last)
    )
    assert admission["holds-until-ms"] == last
    with pytest.raises(TypeError, match="now-ms"):
        policy.admit(target("p"), context(last + 1))


def test_text_of_every_kind_comes_back_as_it_was(component: Component) -> None:
    policy = Policy(component=component)
    for name in ("p", "ö", "名前", "a b", "\U0001f525"):
        permit = policy.admit(target(name, "k", name), context())["decision"]["allowed"]
        assert permit["target"] == target(name, "k", name)


def test_a_body_of_64_kib_is_taken(component: Component) -> None:
    seen = answered(200)
    assert seen["response"] is not None
    seen["response"]["body"] = bytes(range(256)) * 256
    assert Policy(component=component).classify(target("p"), seen)["outcome"] == "success"


def test_an_argument_of_another_type_is_named_and_costs_no_instance(
    component: Component,
) -> None:
    policy = Policy(component=component)
    (only,) = policy._spare
    for arguments, named in [
        ({"provider": "p"}, "now-ms"),
        ({"provider": 1}, "provider"),
        ({"provider": "p", "acount": "k"}, "acount"),
        ({}, "provider"),
    ]:
        with pytest.raises(TypeError, match=named):
            policy.admit(arguments, {})  # type: ignore[arg-type, typeddict-item]
    with pytest.raises(TypeError, match="`expect`: 'jpeg' is not a case; known here: any, image"):
        policy.classify(target("p"), {**answered(200), "expect": "jpeg"})
    assert policy.faults == 0 and list(policy._spare) == [only]


def test_a_name_that_is_not_valid_is_refused_for_good(component: Component) -> None:
    refusal = Policy(component=component).admit(target("a/b"), context())["decision"]["refused"]
    assert refusal["reason"] == "invalid-target" and refusal["retry-after-ms"] == 0


def test_a_call_that_wants_too_much_memory_costs_one_instance_and_the_next_call_has_another(
    component: Component,
) -> None:
    policy = Policy(component=component)
    for times in (1, 2):
        with pytest.raises(PolicyFault):
            policy.classify(target("p", operation="x" * (32 << 20)), answered(200))
        assert policy.faults == times
        assert policy.classify(target("p"), answered(200))["outcome"] == "success"


def test_a_policy_that_takes_too_long_is_interrupted(
    component: Component, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fusewire.component.FUEL", 100_000)
    Policy("{}", component=component)
    with pytest.raises(PolicyFault, match="fuel"):
        Policy(f"{' ' * 1_000_000}{{}}", component=component)


def test_what_is_no_policy_is_refused_with_the_reason(tmp_path: Path) -> None:
    whole = Path(component_path()).read_bytes()
    greedy = '(component (import "wasi:clocks/wall-clock@0.2.0" (instance)))'
    for wasm, why in [
        (b"policy", "not a component"),
        (whole[: len(whole) // 2], "not a component"),
        (bytes(wasmtime.wat2wasm(greedy)), "imports wasi:clocks/wall-clock@0.2.0"),
        (bytes(wasmtime.wat2wasm("(component)")), "exports no fusewire:policy/lifecycle"),
    ]:
        with pytest.raises(LoadError, match=why):
            Policy(component=wasm)
    with pytest.raises(LoadError, match="missing.wasm"):
        Policy(component=tmp_path / "missing.wasm")


def component_path() -> str:
    return os.path.join(SOURCES, "../../../target/fusewire_policy.wasm")


def test_a_policy_touches_no_key_without_the_prefix(component: Component) -> None:
    store = MemoryStore()
    policy = Policy({"prefix": "mine"}, store=store, component=component, prefix="other")
    admission = policy.admit(target("p"), context())
    assert "allowed" in admission["decision"]
    (event,) = admission["events"]
    assert 'does not begin with "other:"' in event["kind"]["store"]
    assert store.held() == 0


def test_a_tape_stops_a_policy_that_goes_in_circles() -> None:
    tape = Tape(MemoryStore(), "p")
    for _ in range(OPERATIONS_MAX):
        assert tape.get(["p:k"]) == {"ok": [None]}
    assert tape.fault is None
    assert tape.get(["p:k"]) == {"err": "unavailable"}
    assert tape.fault is not None and "64" in tape.fault


def test_a_store_that_fails_in_its_own_way_is_out_of_reach_and_not_the_callers_problem(
    component: Component, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(MemoryStore):
        def get(self, keys: object) -> list[bytes | None]:
            raise ZeroDivisionError

    policy = Policy(store=Broken(), component=component)
    admission = policy.admit(target("p"), context())
    assert "allowed" in admission["decision"] and policy.faults == 0
    assert "out of reach" in admission["events"][0]["kind"]["store"]
    assert "ZeroDivisionError" in caplog.text


def test_a_store_that_answers_something_else_costs_one_instance(component: Component) -> None:
    class Odd(MemoryStore):
        odd = True

        def get(self, keys: list[str]) -> Any:  # type: ignore[override]
            return "text" if self.odd else super().get(keys)

    store = Odd()
    policy = Policy(store=store, component=component)
    for times in (1, 2):
        store.odd = True
        with pytest.raises(PolicyFault, match="the store's answer could not be passed on"):
            policy.admit(target("p"), context())
        assert policy.faults == times
        store.odd = False
        assert "allowed" in policy.admit(target("p"), context())["decision"]


def test_an_interrupt_while_the_store_is_asked_reaches_the_caller(component: Component) -> None:
    class Interrupted(MemoryStore):
        broken = True

        def get(self, keys: list[str]) -> list[bytes | None]:  # type: ignore[override]
            if self.broken:
                raise KeyboardInterrupt
            return super().get(keys)

    store = Interrupted()
    policy = Policy(store=store, component=component)
    with pytest.raises(KeyboardInterrupt):
        policy.admit(target("p"), context())
    store.broken = False
    assert "allowed" in policy.admit(target("p"), context())["decision"]


def test_threads_use_one_policy_at_the_same_time_and_no_outcome_is_lost(
    component: Component,
) -> None:
    policy = Policy({"breaker": {"failure-ratio": False}}, component=component)
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(50):
                permit = policy.admit(target("p"), context())["decision"]["allowed"]
                verdict = policy.classify(target("p"), answered(200))
                policy.settle(permit, {"judged": verdict}, context())
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    (state,) = policy.inspect(target("p"), context())
    assert state["successes"] == 400


def test_calls_leave_no_memory_behind() -> None:
    # In a process of its own, so that it does not reuse what another test gave back.
    python("""
import os, subprocess
from fusewire import Policy, target

policy = Policy({"breaker": {"failures": {"count": 1}}})
context = {"now-ms": 1_790_000_000_000, "entropy": 1, "instance": "a"}
permit = policy.admit(target("p"), context)["decision"]["allowed"]
seen = {"failure": "reset", "latency-ms": 5, "now-ms": 1, "idempotent": True,
        "delivered-partial": False, "expect": "any"}
policy.settle(permit, {"judged": policy.classify(target("p"), seen)}, context)

def used_kib():
    return int(subprocess.check_output(["ps", "-o", "rss=", "-p", str(os.getpid())]))

def grown_kib(times):
    before = used_kib()
    for _ in range(times):
        # A record is read at each: bytes, records, variants, lists and text in both directions.
        policy.inspect(target("p", "k", "o"), context)
    return used_kib() - before

grown_kib(500)
grown = grown_kib(4000)
assert grown < 2048, f"{grown} KiB in 4000 calls"
""")


def test_after_a_fork_the_child_goes_on(component: Component) -> None:
    python("""
import os, sys
from fusewire import Guard, Policy
guard = Guard(Policy())
with guard.call("p") as call:
    call.response(200)
before = guard.instance
child = os.fork()
with guard.call("p") as call:
    call.response(200)
if not child:
    os._exit(0 if guard.instance != before else 1)
assert guard.instance == before
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")


def python(script: str) -> None:
    """Runs a script in a process of its own, which must end well."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=30)
