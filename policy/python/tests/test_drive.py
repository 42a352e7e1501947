"""The driver's protocol, and processes that share one Redis."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from asking import NOW_MS, answered, fresh_prefix
from redis_server import RedisServer

DRIVE = Path(__file__).resolve().parents[1] / "drive.py"

TARGET = {"provider": "p", "account": None, "operation": None}


class Driver:
    """A driver in a process of its own."""

    def __init__(self, store: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(DRIVE), "--store", store],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, name: str, given: Any) -> Any:
        self.send({name: given})
        return self.answer()

    def send(self, request: Any) -> None:
        assert self._process.stdin is not None
        text = request if isinstance(request, str) else json.dumps(request)
        self._process.stdin.write(f"{text}\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def begin(self, prefix: str, **breaker: Any) -> None:
        assert self.ask("prefix", prefix) == {"done": True}
        configuration = json.dumps({"prefix": prefix, "breaker": breaker})
        assert self.ask("configure", configuration) == {"problems": []}

    def admit(self, now_ms: int = NOW_MS, instance: str = "a") -> Any:
        return self.ask("admit", {"target": TARGET, "context": full(now_ms, instance)})

    def __enter__(self) -> Driver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=10)


def full(now_ms: int = NOW_MS, instance: str = "a") -> Any:
    return {
        "now-ms": now_ms,
        "entropy": 2**64 - 1,
        "instance": instance,
        "call-limit-ms": None,
        "fingerprint": None,
    }


@pytest.fixture(params=["memory", "redis", "asyncio"])
def driver(request: pytest.FixtureRequest, redis_server: RedisServer) -> Iterator[Driver]:
    url = redis_server.url
    store = {"memory": "memory", "redis": url, "asyncio": f"asyncio+{url}"}[request.param]
    with Driver(store) as started:
        yield started


def test_a_scenario_is_played(driver: Driver) -> None:
    prefix = fresh_prefix()
    driver.begin(prefix, failures={"count": 1})
    assert driver.ask("describe", {})["description"]["name"] == "fusewire"
    admitted = driver.admit()
    assert admitted["operations"] == 1
    permit = admitted["admission"]["decision"]["allowed"]
    seen: Any = answered(503)
    seen["response"]["body"] = [1, 2, 255]
    verdict = driver.ask("classify", {"target": TARGET, "observation": seen})["verdict"]
    assert verdict["effect"] == "failure"
    ending = {"judged": verdict}
    told = driver.ask("settle", {"permit": permit, "ending": ending, "context": full()})
    assert told["operations"] >= 2 and len(told["events"]) == 1
    states = driver.ask("inspect", {"target": TARGET, "context": full()})
    assert states["states"][0]["phase"] == "open"
    record = f"{prefix}:s:{{p}}"
    (value,) = driver.ask("get", [record])["values"]
    assert json.loads(bytes(value))["phase"] == "open"
    # The stage: what the policy asks for fails, and what the driver is asked for does not.
    driver.ask("stage", {"up": False})
    down = driver.admit()
    # The fleet's record, which fails, and this instance's own, which does not.
    assert down["operations"] == 2
    assert "out of reach" in down["admission"]["events"][0]["kind"]["store"]
    assert driver.ask("get", [record])["values"] == [value]
    driver.ask("stage", {"up": True})
    swap = {"key": record, "expected": value, "replacement": None, "ttl-ms": 0}
    assert driver.ask("swap", swap) == {"swapped": True}
    driver.ask("lose-counter", f"{prefix}:w:{{p}}")
    assert "allowed" in driver.admit()["admission"]["decision"]
    states = driver.ask("inspect", {"target": TARGET, "context": full()})["states"]
    assert states[0]["failures"] == 0
    order = {"domain": "", "order": None, "context": full()}
    assert "invalid" in driver.ask("set-override", order)["override-error"]
    assert driver.ask("set-order", order) == driver.ask("set-override", order)
    driver.ask("prefix", "other")
    driver.ask("configure", json.dumps({"prefix": prefix}))
    refused = driver.admit()
    assert refused["operations"] == 0 and "allowed" in refused["admission"]["decision"]


def test_limits_timings_and_overdue_calls_are_passed_on(driver: Driver) -> None:
    prefix = fresh_prefix()
    assert driver.ask("prefix", prefix) == {"done": True}
    slow = {"minimum": 2, "share": 0.6}
    breaker = {"slow-ratio": slow, "cool-down": {"jitter": 0}}
    configuration = {"prefix": prefix, "slow": "1s", "breaker": breaker}
    assert driver.ask("configure", json.dumps(configuration)) == {"problems": []}
    admitted = driver.admit()["admission"]
    assert admitted["limits"] == {"total-ms": None, "overdue-ms": 1000}
    permit = admitted["decision"]["allowed"]
    overdue = {"permit": permit, "context": full()}
    assert driver.ask("overdue", overdue) == {"events": [], "operations": 1}
    seen = {"target": TARGET, "observation": answered(200)}
    good = driver.ask("classify", seen)["verdict"]
    settled: Any = {"permit": permit, "ending": {"judged": good}, "context": full()}
    timing = {"latency-ms": 1500, "overdue": True}
    assert driver.ask("settle", {**settled, "timing": timing})["events"] == []
    # Without a timing nothing of it is known, and the verdict decides.
    assert driver.ask("settle", settled)["events"] == []
    (state,) = driver.ask("inspect", {"target": TARGET, "context": full()})["states"]
    assert (state["slow"], state["successes"], state["phase"]) == (1, 2, "closed")
    timing = {"latency-ms": 1500, "overdue": False}
    (event,) = driver.ask("settle", {**settled, "timing": timing})["events"]
    assert event["kind"]["transition"]["rule"] == "slow-ratio"
    later: Any = {**full(NOW_MS + 30_000), "call-limit-ms": 2000}
    probe = driver.ask("admit", {"target": TARGET, "context": later})["admission"]
    assert probe["limits"] == {"total-ms": 1000, "overdue-ms": 1000}
    refused = driver.admit(NOW_MS + 30_000)["admission"]
    assert refused["limits"] == {"total-ms": None, "overdue-ms": None}


def test_while_the_stage_is_down_an_instance_has_its_own_breaker_until_it_is_configured_anew(
    driver: Driver,
) -> None:
    prefix = fresh_prefix()

    def admit() -> Any:
        return driver.admit()["admission"]["decision"]

    driver.begin(prefix, failures={"count": 1})
    permit = admit()["allowed"]
    seen = {"target": TARGET, "observation": answered(503)}
    bad = driver.ask("classify", seen)["verdict"]
    driver.ask("stage", {"up": False})
    settled = {"permit": permit, "ending": {"judged": bad}, "context": full()}
    kinds = [event["kind"] for event in driver.ask("settle", settled)["events"]]
    (alone,) = (kind["alone"] for kind in kinds if "alone" in kind)
    assert alone["after"] == "open" and admit()["refused"]["reason"] == "open"
    explained = driver.ask("explain", {"domain": "p", "context": full()})
    assert "out of reach" in explained["override-error"]["store"]
    driver.ask("stage", {"up": True})
    assert "allowed" in admit()
    facts = driver.ask("explain", {"domain": "p", "context": full()})
    assert facts["operations"] == 2 and facts["facts"][0]["subject"] == "phase"
    driver.begin(prefix, failures={"count": 1})
    driver.ask("stage", {"up": False})
    assert "allowed" in admit()


def test_other_kinds_of_events_have_the_contracts_form(driver: Driver) -> None:
    prefix = fresh_prefix()
    driver.begin(prefix)
    permit = driver.admit()["admission"]["decision"]["allowed"]
    observation = answered(429, headers=[("retry-after", "120")])
    seen = {"target": TARGET, "observation": observation}
    verdict = driver.ask("classify", seen)["verdict"]
    ending = {"judged": verdict}
    (held,) = driver.ask("settle", {"permit": permit, "ending": ending, "context": full()})[
        "events"
    ]
    assert held["kind"] == {"held": NOW_MS + 120_000}


def test_a_body_reaches_the_policy(driver: Driver) -> None:
    configuration = {"providers": {"google": {"profile": "google-geocoding"}}}
    assert driver.ask("configure", json.dumps(configuration)) == {"problems": []}
    seen: Any = answered(200)
    body = '{"results":[],"status":"OVER_QUERY_LIMIT","\u00fc":"\U0001f525"}'
    for given, rule in [
        (list(body.encode()), "profile/google-geocoding/over-query-limit"),
        (None, "status/200"),
    ]:
        seen["response"]["body"] = given
        asked = {"target": {**TARGET, "provider": "google"}, "observation": seen}
        assert driver.ask("classify", asked)["verdict"]["rule"] == rule


def test_whatever_goes_wrong_is_one_sentence_and_the_driver_goes_on(driver: Driver) -> None:
    for bad in ("nonsense", "{}", '{"dance": 1}', '{"admit": {"target": 1, "context": 2}}', "[]"):
        driver.send(bad)
        assert set(driver.answer()) == {"fault"}, bad
    assert driver.ask("configure", "nonsense")["problems"]
    assert driver.ask("get", ["k"]) == {"values": [None]}
    assert "refused" in driver.ask("get", [""])["error"]


def test_an_opening_is_seen_by_all_processes_and_one_of_them_is_the_probe(
    redis_server: RedisServer,
) -> None:
    prefix = fresh_prefix()
    urls = [redis_server.url, f"asyncio+{redis_server.url}"] * 2
    drivers = [Driver(url) for url in urls]
    try:
        for driver in drivers:
            driver.begin(prefix, failures={"count": 4}, **{"cool-down": {"jitter": 0}})
        # Each of four processes sees one failure.
        seen = {"target": TARGET, "observation": answered(503)}
        verdict = drivers[0].ask("classify", seen)["verdict"]
        for driver in drivers:
            permit = driver.admit()["admission"]["decision"]["allowed"]
            ending = {"judged": verdict}
            driver.ask("settle", {"permit": permit, "ending": ending, "context": full()})
        for driver in drivers:
            decision = driver.admit()["admission"]["decision"]
            assert decision["refused"]["reason"] == "open"
        # All ask at once when the cool-down is over.
        later = full(NOW_MS + 30_000)
        for i, driver in enumerate(drivers):
            context = {**later, "instance": f"worker-{i}"}
            driver.send({"admit": {"target": TARGET, "context": context}})
        decisions = [driver.answer()["admission"]["decision"] for driver in drivers]
        probes = [decision for decision in decisions if "allowed" in decision]
        assert [decision["allowed"]["probe"] for decision in probes] == [True]
        assert [
            decision["refused"]["reason"] for decision in decisions if "refused" in decision
        ] == ["probe-in-flight"] * 3
    finally:
        for driver in drivers:
            driver.__exit__(None, None, None)
