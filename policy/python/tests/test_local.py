"""What belongs to one instance is kept in its process: with the store away it has a breaker of its
own, and of that nothing is left in the store."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from asking import fresh_prefix
from fusewire import Component, Guard, MemoryStore, Policy, Refused, StoreRefused, StoreUnavailable
from fusewire.aio import AsyncGuard, AsyncPolicy
from fusewire.contract import Event
from fusewire.store.aredis import AsyncRedisStore
from fusewire.store.local import CHANGES_MAX, OWN_MAX, AsyncOwnKeys, OwnKeys, with_own_keys
from fusewire.store.redis import RedisStore
from redis_server import RedisServer
from waiting import PATIENCE, wait_for


class Leaving(MemoryStore):
    """A store that can go away, and notes what it is asked for."""

    up = True

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Any] = []

    def _ask(self, asked: Any) -> None:
        self.asked.append(asked)
        if not self.up:
            raise StoreUnavailable("it has left")

    def get(self, keys: Any) -> Any:
        self._ask(list(keys))
        return super().get(keys)

    def swap(self, *arguments: Any) -> Any:
        self._ask(arguments[0])
        return super().swap(*arguments)

    def count(self, windows: Any) -> Any:
        self._ask([window["key"] for window in windows])
        return super().count(windows)


class LeavingLater(Leaving):
    """The same, which answers later."""

    async def get(self, keys: Any) -> Any:  # type: ignore[override]
        return super().get(keys)

    async def swap(self, *arguments: Any) -> Any:  # type: ignore[override]
        return super().swap(*arguments)

    async def count(self, windows: Any) -> Any:  # type: ignore[override]
        return super().count(windows)


class Waited:
    """A store that answers later, waited for."""

    def __init__(self, store: AsyncOwnKeys) -> None:
        self.shared = store.shared
        self.own = store.own
        self.changes_of_mode = store.changes_of_mode
        self._store: Any = store

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: asyncio.run(getattr(self._store, name)(*arguments))


@pytest.fixture(params=["at once", "later"])
def store(request: pytest.FixtureRequest) -> Any:
    if request.param == "at once":
        return with_own_keys(Leaving(), "p")
    later = with_own_keys(LeavingLater(), "p")
    assert isinstance(later, AsyncOwnKeys) and with_own_keys(later, "p") is later
    return Waited(later)


def window(key: str, amount: int = 1) -> Any:
    add = [{"name": "a", "amount": amount}]
    return {"key": key, "epoch": 1, "bucket": 0, "add": add, "since": 0, "ttl-ms": 60_000}


def test_keys_of_its_own_are_kept_apart_and_never_asked_of_the_shared_store(store: Any) -> None:
    assert store.swap("p:local:s:{x}", None, b"own", 0)
    assert store.count([window("p:local:w:{x}")])[0]["lanes"] == [{"name": "a", "amount": 1}]
    assert store.get(["p:local:s:{x}"]) == [b"own"]
    assert store.get([]) == [] and store.count([]) == []
    assert store.shared.asked == []
    # Neither the prefix alone nor a name that looks like it is enough.
    for key in ("p:s:{local:x}", "q:local:s:{x}", "p:localised"):
        assert store.swap(key, None, b"shared", 0)
    assert store.shared.asked == ["p:s:{local:x}", "q:local:s:{x}", "p:localised"]


def test_answers_to_keys_of_both_kinds_come_in_order(store: Any) -> None:
    store.swap("p:local:s:{x}", None, b"own", 0)
    store.swap("p:s:{x}", None, b"fleet", 0)
    mixed = ["p:local:s:{x}", "p:s:{x}", "p:s:{y}", "p:local:s:{y}", "p:s:{x}"]
    assert store.get(mixed) == [b"own", b"fleet", None, None, b"fleet"]
    assert store.shared.asked[-1] == ["p:s:{x}", "p:s:{y}", "p:s:{x}"]
    windows = [window("p:w:{x}", 2), window("p:local:w:{x}", 3), window("p:w:{x}", 2)]
    tallies = store.count(windows)
    assert [tally["lanes"][0]["amount"] for tally in tallies] == [2, 3, 4]


def test_without_the_shared_store_its_own_keys_work_on_and_what_names_both_fails(
    store: Any,
) -> None:
    store.swap("p:local:s:{x}", None, b"own", 0)
    store.shared.up = False
    with pytest.raises(StoreUnavailable):
        store.get(["p:local:s:{x}", "p:s:{x}"])
    with pytest.raises(StoreUnavailable):
        store.count([window("p:local:w:{x}"), window("p:w:{x}")])
    # Of what failed nothing was counted.
    assert store.count([window("p:local:w:{x}")])[0]["lanes"][0]["amount"] == 1
    assert store.get(["p:local:s:{x}"]) == [b"own"]
    assert store.swap("p:local:s:{x}", b"own", None, 0)


def test_each_coming_and_going_of_the_shared_store_is_noted_once(store: Any) -> None:
    store.get(["p:s:{x}"])
    assert store.changes_of_mode() == []
    for up in (False, False, True, True):
        store.shared.up = up
        for _ in range(3):
            store.get(["p:local:s:{x}"])  # says nothing of it
            try:
                store.get(["p:s:{x}"])
            except StoreUnavailable:
                pass
    assert [(change.mode, change.why) for change in store.changes_of_mode()] == [
        ("down", "it has left"),
        ("shared", "it has answered"),
    ]
    assert store.changes_of_mode() == []
    # To refuse something is to answer.
    with pytest.raises(StoreRefused):
        store.swap("p:s:{x}", None, bytes(1 << 17), 0)
    assert store.changes_of_mode() == []


def test_changes_that_nobody_asks_for_do_not_pile_up() -> None:
    store = with_own_keys(Leaving(), "p")
    assert isinstance(store, OwnKeys)
    for n in range(4 * CHANGES_MAX):
        store.shared.up = bool(n % 2)
        try:
            store.get(["p:s:{x}"])
        except StoreUnavailable:
            pass
    assert len(store.changes_of_mode()) == CHANGES_MAX


def test_what_is_kept_is_bounded_and_what_ends_first_goes_first() -> None:
    store = MemoryStore(most=100)
    for n in range(50):
        store.swap(f"stays{n}", None, b"x", 0)
    for n in range(1_000):
        store.swap(f"goes{n}", None, b"x", 60_000)
        assert store.held() <= 100
    kept = store.get([f"stays{n}" for n in range(50)])
    assert kept.count(b"x") > 40, "they end last"
    # To write what is there anyway drives nothing out.
    (last,) = store.get(["goes999"])
    assert store.swap("goes999", last, b"y", 60_000) and store.held() == 100
    assert 1_000 < OWN_MAX < 100_000


THREE: Any = {
    "failures": {"count": 3},
    "cool-down": {"first": "10ms", "jitter": 0, "max": "1m"},
    "probes": {"needed": 1},
    "ramp": False,
}


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """A Redis that is killed, and has what it held when it is back."""
    with RedisServer(keeps=True) as server:
        yield server


def everything(server: RedisServer) -> dict[bytes, bytes]:
    client = server.client()
    return {key: client.dump(key) for key in client.scan_iter()}


def test_with_redis_killed_a_breaker_of_its_own_decides_until_redis_is_back(
    server: RedisServer, component: Component, caplog: pytest.LogCaptureFixture
) -> None:
    prefix = fresh_prefix()
    events: list[Event] = []
    configuration = {"prefix": prefix, "breaker": THREE}
    policy = Policy(configuration, store=RedisStore(server.url), component=component, prefix=prefix)
    guard = Guard(policy, on_event=events.append)

    def fail(times: int, provider: str = "p") -> None:
        for _ in range(times):
            with guard.call(provider) as call:
                call.response(503)

    # What the fleet knows: `p` was open and has closed, with two failures since; `q` is forced
    # open.
    fail(3)
    wait_for(lambda: probed(guard), "the cool-down is over")
    fail(2)
    guard.order("q", "open", who="on-call", why="maintenance")
    before = everything(server)
    record = json.loads(server.client().get(f"{prefix}:s:{{p}}"))
    assert (record["phase"], record["openings"]) == ("closed", 1)

    server.stop()
    events.clear()
    with caplog.at_level(logging.INFO, "fusewire"):
        fail(3)
        assert "the store is out of use: " in caplog.text
        modes = [event for event in events if "mode" in event["kind"]]
        assert [event["kind"]["mode"] for event in modes] == ["down"] and modes[0] is events[0]
        alone = [event["kind"]["alone"] for event in events if "alone" in event["kind"]]
        assert [(change["after"], change["rule"]) for change in alone] == [("open", "failures")]
        assert not any("transition" in event["kind"] for event in events)
        # Its own breaker goes all the way, without anybody else.
        wait_for(lambda: probed(guard), "its own cool-down is over")
        alone = [event["kind"]["alone"]["after"] for event in events if "alone" in event["kind"]]
        assert alone == ["open", "half-open", "closed"]
        fail(3)
        with pytest.raises(Refused, match="for this instance alone"), guard.call("p"):
            pass
        events.clear()

        server.start()

        def back() -> bool:
            try:
                with guard.call("other"):
                    pass
            except Refused:
                return False
            return any("mode" in event["kind"] for event in events)

        wait_for(back, "the store is in use again")
    assert [event["kind"] for event in events if "mode" in event["kind"]] == [{"mode": "shared"}]
    assert "the store is in use again" in caplog.text
    # The fleet's word counts again, and none of what was found alone was written over it.
    assert everything(server) == before
    with guard.call("p") as call:
        assert not call.probe
    with pytest.raises(Refused, match="maintenance"), guard.call("q"):
        pass
    assert not any(b":local:" in key for key in everything(server))
    fail(1)
    with pytest.raises(Refused, match="2 in a row"), guard.call("p"):
        pass


def probed(guard: Guard) -> bool:
    """Makes a call that goes well, and says whether it was the probe."""
    try:
        with guard.call("p") as call:
            call.response(200)
            return call.probe
    except Refused:
        return False


def test_under_asyncio_it_is_the_same(server: RedisServer, component: Component) -> None:
    prefix = fresh_prefix()

    async def story() -> None:
        events: list[Event] = []
        configuration = {"prefix": prefix, "breaker": {"failures": {"count": 3}}}
        store = AsyncRedisStore(server.url)
        policy = AsyncPolicy(configuration, store=store, component=component, prefix=prefix)
        guard = AsyncGuard(policy, on_event=events.append)

        async def fail() -> None:
            async with guard.call("p") as call:
                call.response(503)

        await fail()
        before = everything(server)
        server.stop()
        await asyncio.gather(*[fail() for _ in range(3)])
        assert [event["kind"] for event in events if "mode" in event["kind"]] == [{"mode": "down"}]
        with pytest.raises(Refused, match="for this instance alone"):
            await fail()
        server.start()
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while {"mode": "shared"} not in [event["kind"] for event in events]:
            assert asyncio.get_running_loop().time() < deadline
            await guard.inspect("p")
            async with guard.call("other"):
                pass
            await asyncio.sleep(0.005)
        assert everything(server) == before
        async with guard.call("p"):
            pass
        (state,) = await guard.inspect("p")
        assert (state["phase"], state["failures"]) == ("closed", 1)
        await store.close()

    asyncio.run(story())
