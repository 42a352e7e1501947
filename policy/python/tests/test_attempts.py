"""What a policy sets of a call's time, and what it is told of it: how long it took, and that it is
still under way."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fusewire import Component, Guard, MemoryStore, Policy, Refused
from fusewire.aio import AsyncGuard, AsyncPolicy
from fusewire.alarms import Alarms
from fusewire.contract import NO_TIMING, Context, Ending, Event, Permit, Timing
from fusewire.httpx import AsyncGuardedTransport, GuardedTransport, fingerprint_of
from upstream import Upstream
from waiting import PATIENCE, wait_for

SOURCES = Path(__file__).resolve().parents[1] / "src"

SLOW: Any = {
    "slow": "50ms",
    "breaker": {"slow-ratio": {"minimum": 3}, "failures": False, "failure-ratio": False},
}

PROBED: Any = {"breaker": {"failures": {"count": 1}, "cool-down": {"jitter": 0}}}


class Noting(Policy):
    """A policy that notes what it is told."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.contexts: list[Context] = []
        self.timings: list[Timing] = []
        self.rules: list[str] = []
        self.overdue_told = 0
        super().__init__(*arguments, **named)

    def admit(self, target: Any, context: Context) -> Any:
        self.contexts.append(context)
        return super().admit(target, context)

    def classify(self, target: Any, observation: Any) -> Any:
        verdict = super().classify(target, observation)
        self.rules.append(verdict["rule"])
        return verdict

    def overdue(self, permit: Permit, context: Context) -> list[Event]:
        self.contexts.append(context)
        events = super().overdue(permit, context)
        self.overdue_told += 1
        return events

    def settle(
        self, permit: Permit, ending: Ending, context: Context, timing: Timing = NO_TIMING
    ) -> list[Event]:
        self.contexts.append(context)
        self.timings.append(timing)
        return super().settle(permit, ending, context, timing)


def state(guard: Guard) -> Any:
    (seen,) = guard.inspect("p")
    return seen


def transport(guard: Guard, **more: Any) -> GuardedTransport:
    return GuardedTransport(guard, target=lambda _: "p", **more)


def test_how_long_a_call_took_is_told_when_it_is_settled(
    component: Component, upstream: Upstream
) -> None:
    policy = Noting(component=component)
    with httpx.Client(transport=transport(Guard(policy)), timeout=10) as client:
        client.get(upstream.url("trickle"))
    with pytest.raises(KeyError), Guard(policy).call("p"):
        raise KeyError("nothing was sent")
    (trickled, nothing) = policy.timings
    assert trickled["latency-ms"] is not None and 140 <= trickled["latency-ms"] < 5_000
    assert nothing == NO_TIMING


def test_a_call_that_is_still_under_way_is_told_of_once_and_counts_as_slow_once(
    component: Component,
) -> None:
    policy = Noting(SLOW, component=component)
    guard = Guard(policy)
    with guard.call("p", fingerprint=7) as call:
        wait_for(lambda: policy.overdue_told, "it is told of")
        assert state(guard)["slow"] == 1 and state(guard)["successes"] == 0
        call.response(200)
    assert (state(guard)["slow"], state(guard)["successes"]) == (1, 1)
    assert policy.timings[0]["overdue"] and policy.overdue_told == 1
    # At its admission, while it is under way, and at its end.
    assert [context["fingerprint"] for context in policy.contexts] == [7, 7, 7]


def test_a_call_that_ends_in_time_is_not_told_of(component: Component) -> None:
    policy = Noting({**SLOW, "slow": "10s"}, component=component)
    guard = Guard(policy)
    for _ in range(500):
        with guard.call("p") as call:
            call.response(200)
    assert policy.overdue_told == 0
    assert not any(timing["overdue"] for timing in policy.timings)
    assert guard._alarms is not None and len(guard._alarms._waiting) < 200


def test_no_thread_is_started_where_the_policy_sets_no_limit(component: Component) -> None:
    guard = Guard(Policy(component=component))
    with guard.call("p") as call:
        call.response(200)
    assert guard._alarms is None


def test_calls_that_hang_open_the_breaker_before_any_of_them_has_ended(
    component: Component, upstream: Upstream
) -> None:
    events: list[Event] = []
    guard = Guard(Policy(SLOW, component=component), on_event=events.append)
    upstream.hold()

    def hang() -> None:
        with httpx.Client(transport=transport(guard), timeout=PATIENCE) as client:
            client.get(upstream.url("head_first"))

    threads = [threading.Thread(target=hang) for _ in range(3)]
    for thread in threads:
        thread.start()

    def refused() -> bool:
        return state(guard)["phase"] == "open"

    wait_for(refused, "it is open")
    with pytest.raises(Refused, match="slow-ratio"), guard.call("p"):
        pass
    assert all(thread.is_alive() for thread in threads)
    upstream.go_on()
    for thread in threads:
        thread.join()
    opened = [event for event in events if "transition" in event["kind"]]
    assert [event["kind"]["transition"]["rule"] for event in opened] == ["slow-ratio"]


def test_under_asyncio_calls_that_hang_open_the_breaker_before_any_of_them_has_ended(
    component: Component, upstream: Upstream
) -> None:
    async def story() -> None:
        events: list[Event] = []
        guard = AsyncGuard(AsyncPolicy(SLOW, component=component), on_event=events.append)
        upstream.hold()
        guarded = AsyncGuardedTransport(guard, target=lambda _: "p")
        async with httpx.AsyncClient(transport=guarded, timeout=PATIENCE) as client:
            hanging = [
                asyncio.ensure_future(client.get(upstream.url("head_first"))) for _ in range(3)
            ]
            deadline = time.monotonic() + PATIENCE
            while not events and time.monotonic() < deadline:
                await asyncio.sleep(0.005)
            (event,) = events
            assert event["kind"]["transition"]["rule"] == "slow-ratio"
            assert not any(call.done() for call in hanging)
            with pytest.raises(Refused):
                await client.get(upstream.url("200"))
            upstream.go_on()
            await asyncio.gather(*hanging)
        (seen,) = await guard.inspect("p")
        assert seen["slow"] == 3

    asyncio.run(story())


def test_under_asyncio_a_call_that_ends_in_time_leaves_no_timer_behind(
    component: Component,
) -> None:
    async def story() -> None:
        guard = AsyncGuard(AsyncPolicy(SLOW, component=component))
        async with guard.call("p") as call:
            assert call._alarm is not None
            call.response(200)
        assert call._alarm.cancelled() and call._telling is None
        async with guard.call("p") as call:
            while call._telling is None:
                await asyncio.sleep(0.005)
            call.response(200)
        (seen,) = await guard.inspect("p")
        assert (seen["slow"], seen["successes"]) == (1, 2)

    asyncio.run(story())


class TestProbe:
    """A probe has less time than other calls."""

    @pytest.fixture
    def now(self) -> list[int]:
        return [1_000_000]

    @pytest.fixture
    def guard(self, component: Component, now: list[int]) -> Guard:
        """Its breaker is half-open."""
        store = MemoryStore(clock=lambda: now[0])
        guard = Guard(Noting(PROBED, store=store, component=component))
        with guard.call("p", limit=2) as call:
            assert call.limit == 2
            call.response(503)
        now[0] += 30_000
        return guard

    def test_it_is_told_how_long_it_may_take(self, guard: Guard) -> None:
        with guard.call("p", limit=2) as call:
            assert call.probe and call.limit == call.total == 1

    def test_without_a_limit_of_its_own_it_has_none(self, guard: Guard) -> None:
        with guard.call("p") as call:
            assert call.probe and call.limit is None and call.left is None

    @pytest.mark.parametrize(
        ("path", "rule"), [("hang", "read-timeout"), ("drip", "total-timeout")]
    )
    def test_its_request_ends_with_that_time_and_not_with_the_clients(
        self, guard: Guard, upstream: Upstream, path: str, rule: str
    ) -> None:
        with httpx.Client(transport=transport(guard, limit=0.2), timeout=60) as client:
            request = client.build_request("GET", upstream.url(path))
            began = time.monotonic()
            with pytest.raises(httpx.ReadTimeout):
                client.send(request)
            assert 0.09 < time.monotonic() - began < PATIENCE
        # Whoever sends it again has the client's time.
        assert request.extensions["timeout"]["read"] == 60
        assert isinstance(guard.policy, Noting)
        assert guard.policy.rules[-1] == f"transport/{rule}" and state(guard)["openings"] == 2

    def test_a_probe_in_time_has_its_whole_answer(self, guard: Guard, upstream: Upstream) -> None:
        with httpx.Client(transport=transport(guard, limit=PATIENCE), timeout=60) as client:
            response = client.get(upstream.url("trickle"))
        assert response.text == "ok" and state(guard)["probes-passed"] == 1

    @pytest.mark.parametrize("path", ["hang", "drip"])
    def test_the_same_holds_under_asyncio(
        self, component: Component, now: list[int], upstream: Upstream, path: str
    ) -> None:
        async def story() -> None:
            store = MemoryStore(clock=lambda: now[0])
            guard = AsyncGuard(AsyncPolicy(PROBED, store=store, component=component))
            async with guard.call("p", limit=2) as call:
                call.response(503)
            now[0] += 30_000
            guarded = AsyncGuardedTransport(guard, target=lambda _: "p", limit=0.2)
            async with httpx.AsyncClient(transport=guarded, timeout=60) as client:
                with pytest.raises(httpx.ReadTimeout):
                    await asyncio.wait_for(client.get(upstream.url(path)), PATIENCE)
            (seen,) = await guard.inspect("p")
            assert seen["phase"] == "open" and seen["openings"] == 2

        asyncio.run(story())


class TestFingerprint:
    """One poisonous request is not taken for many failures."""

    def test_it_is_the_same_for_equal_requests_and_another_for_others(self) -> None:
        def printed(method: str, url: str, content: Any = None) -> int | None:
            return fingerprint_of(httpx.Request(method, url, content=content))

        first = printed("POST", "http://p/a", b"x")
        assert first == printed("POST", "http://p/a", b"x") and first is not None
        assert 0 <= first < 2**64
        others = {
            printed("PUT", "http://p/a", b"x"),
            printed("POST", "http://p/b", b"x"),
            printed("POST", "http://p/a", b"y"),
            printed("POST", "http://p/a"),
        }
        assert len(others) == 4 and first not in others
        assert printed("POST", "http://p/a", iter([b"x"])) is None
        big = [printed("POST", "http://p/a", b"x" * size) for size in (100_000, 100_001)]
        assert big[0] != big[1]

    def test_the_transport_tells_it_and_a_caller_may_say_another(
        self, component: Component, upstream: Upstream
    ) -> None:
        policy = Noting(component=component)
        guard = Guard(policy)
        url = upstream.url("200")
        with httpx.Client(transport=transport(guard)) as client:
            client.get(url)
        own = fingerprint_of(httpx.Request("GET", url))
        assert [context["fingerprint"] for context in policy.contexts] == [own, own]
        with httpx.Client(transport=transport(guard, fingerprint=lambda _: 9)) as client:
            client.get(url)
        assert [context["fingerprint"] for context in policy.contexts[2:]] == [9, 9]

    def test_one_request_that_always_fails_opens_for_its_instance_alone_and_two_for_all(
        self, component: Component, upstream: Upstream
    ) -> None:
        configuration = {"breaker": {"failures": {"count": 2}, "quorum": {"fingerprints": 2}}}
        store = MemoryStore()
        events: list[Event] = []

        def worker() -> Guard:
            policy = Policy(configuration, store=store, component=component)
            return Guard(policy, on_event=events.append)

        poisoned, other = worker(), worker()
        with httpx.Client(transport=transport(poisoned)) as client:
            for _ in range(2):
                client.get(upstream.url("503?poison"))
            with pytest.raises(Refused):
                client.get(upstream.url("503?poison"))
        (event,) = events
        assert event["kind"]["alone"]["after"] == "open"
        with other.call("p"):
            pass  # goes through
        with httpx.Client(transport=transport(other)) as client:
            client.get(upstream.url("503?any"))
        assert "transition" in events[-1]["kind"]
        with pytest.raises(Refused), other.call("p"):
            pass

    def test_under_asyncio_too_it_is_told_at_the_beginning_and_at_the_end(
        self, component: Component, upstream: Upstream
    ) -> None:
        configuration = {"breaker": {"failures": {"count": 2}, "quorum": {"fingerprints": 2}}}
        events: list[Event] = []

        async def story() -> None:
            policy = AsyncPolicy(configuration, component=component)
            guard = AsyncGuard(policy, on_event=events.append)
            guarded = AsyncGuardedTransport(guard, target=lambda _: "p")
            async with httpx.AsyncClient(transport=guarded) as client:
                for _ in range(2):
                    await client.get(upstream.url("503?poison"))

        asyncio.run(story())
        # Two requests that nobody tells apart would have opened it for all.
        assert [name for event in events for name in event["kind"]] == ["alone"]


class TestAlarms:
    """The thread behind it."""

    @pytest.fixture
    def alarms(self) -> Iterator[Alarms]:
        alarms = Alarms()
        yield alarms
        alarms.stop()

    def test_they_ring_in_the_order_of_their_times(self, alarms: Alarms) -> None:
        rang: list[str] = []

        def ring(name: str) -> Callable[[], bool]:
            return lambda: not rang.append(name)  # type: ignore[func-returns-value]

        far = alarms.after(3_600, ring("far"))
        later = alarms.after(0.06, ring("later"))
        ended = alarms.after(0.01, ring("ended"))
        soon = alarms.after(0.02, ring("soon"))
        assert not ended.end()
        wait_for(lambda: len(rang) == 2, "two have rung")
        assert rang == ["soon", "later"] and soon.end() and later.end() and not far.end()

    def test_one_that_fails_does_not_end_the_others(
        self, alarms: Alarms, caplog: pytest.LogCaptureFixture
    ) -> None:
        rang = threading.Event()

        def fail() -> bool:
            raise ZeroDivisionError

        failing = alarms.after(0, fail)
        alarms.after(0.01, lambda: not rang.set())  # type: ignore[func-returns-value]
        assert rang.wait(PATIENCE) and not failing.end()
        assert "ZeroDivisionError" in caplog.text

    def test_whoever_ends_one_waits_for_what_is_being_done(self, alarms: Alarms) -> None:
        begun, may = threading.Event(), threading.Event()

        def do() -> bool:
            begun.set()
            return may.wait(PATIENCE)

        alarm = alarms.after(0, do)
        assert begun.wait(PATIENCE)
        threading.Timer(0.02, may.set).start()
        assert alarm.end()

    def test_their_thread_ends_with_their_guard(self, component: Component) -> None:
        guard = Guard(Policy(SLOW, component=component))
        with guard.call("p") as call:
            call.response(200)
        assert guard._alarms is not None
        thread = guard._alarms._thread
        assert thread is not None and thread.is_alive()
        del guard, call
        wait_for(lambda: not thread.is_alive(), "the thread has ended")


def test_a_child_after_a_fork_tells_of_its_own_calls_and_a_process_ends_in_peace() -> None:
    script = f"""
import os, sys, time
from fusewire import Guard, Policy
guard = Guard(Policy({SLOW!r}))

def tells():
    with guard.call("p") as call:
        deadline = time.monotonic() + {PATIENCE}
        while not (told := guard.inspect("p")[0]["slow"] == 1) and time.monotonic() < deadline:
            time.sleep(0.005)
    return told

with guard.call("p") as call:
    call.response(200)
child = os.fork()
assert tells()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=30)
