"""Policies that were built before the contract knew `attempts` and `operator` go on to work."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from asking import answered, context
from fusewire import Guard, MemoryStore, NotOffered, Policy, Refused, target
from fusewire.aio import AsyncGuard, AsyncPolicy
from fusewire.contract import Event
from older import VERSIONS, older

SLOW = {"slow": "1ms", "breaker": {"slow-ratio": {"minimum": 50}, "failures": {"count": 3}}}


@pytest.fixture(params=VERSIONS, scope="module")
def component(request: pytest.FixtureRequest) -> Any:
    return older(request.param)


def test_it_is_asked_as_before_sets_no_limits_and_is_told_no_latencies(component: Any) -> None:
    policy = Policy(SLOW, component=component)
    assert policy.to_admit(target("p"), context()).export == "breaker.admit"
    admission = policy.admit(target("p"), context(call_limit_ms=2_000))
    assert admission["limits"] == {"total-ms": None, "overdue-ms": None}
    permit = admission["decision"]["allowed"]
    verdict = policy.classify(target("p"), answered(503))
    timing: Any = {"latency-ms": 5_000, "overdue": True}
    assert "timing" not in policy.to_settle(permit, "dropped", context(), timing).arguments
    policy.settle(permit, {"judged": verdict}, context(), timing)
    (state,) = policy.inspect(target("p"), context())
    assert (state["failures"], policy.faults) == (1, 0)


def test_a_guard_of_threads_and_one_of_asyncio_open_their_breakers(component: Any) -> None:
    guard = Guard(Policy(SLOW, component=component))
    for _ in range(3):
        with guard.call("p", limit=1) as call:
            assert call.limit == 1
            call.response(503)
    with pytest.raises(Refused), guard.call("p"):
        pass
    assert guard._alarms is None

    async def story() -> None:
        guard = AsyncGuard(AsyncPolicy(SLOW, component=component))
        for _ in range(3):
            async with guard.call("p") as call:
                call.response(503)
        with pytest.raises(Refused):
            async with guard.call("p"):
                pass

    asyncio.run(story())


def test_orders_are_given_without_a_share_of_enforcement_and_nothing_is_explained(
    component: Any,
) -> None:
    events: list[Event] = []
    guard = Guard(Policy(component=component), on_event=events.append)
    guard.order("p", "open", who="on-call", why="maintenance")
    with pytest.raises(Refused, match="maintenance"), guard.call("p"):
        pass
    guard.clear("p")
    with guard.call("p"):
        pass
    assert [event["kind"] for event in events] == [{"ordered": "open"}, {"ordered": None}]
    with pytest.raises(NotOffered, match="share"):
        guard.order("p", "observe", who="on-call", why="a trial", enforce_percent=20)
    with pytest.raises(NotOffered, match="inspect"):
        guard.explain("p")
    assert guard.policy.faults == 0


def test_its_keys_of_one_instance_are_kept_in_this_process_too(component: Any) -> None:
    shared = MemoryStore()
    configuration = {"breaker": {"failures": {"count": 1}, "quorum": {"instances": 2}}}
    guard = Guard(Policy(configuration, store=shared, component=component))
    with guard.call("p") as call:
        call.response(503)
    with pytest.raises(Refused), guard.call("p"):
        pass
    assert not any(":local:" in key for key in shared._entries)
