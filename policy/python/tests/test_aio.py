"""The same decisions under asyncio, through `pending`."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from asking import answered, context, fresh_prefix
from fusewire import Component, MemoryStore, Policy, PolicyFault, Refused, target
from fusewire.aio import AsyncGuard, AsyncPolicy
from fusewire.httpx import AsyncGuardedTransport
from fusewire.store.aredis import AsyncRedisStore
from fusewire.store.redis import RedisStore
from fusewire.tape import Tape
from redis_server import RedisServer
from upstream import Upstream, refused_port


def guard_on(redis: RedisServer, component: Component, **breaker: Any) -> AsyncGuard:
    prefix = fresh_prefix()
    configuration = {"prefix": prefix, "breaker": {"failures": {"count": 3}, **breaker}}
    # The time limit is not the point here, and machines are slow at times.
    store = AsyncRedisStore(redis.url, limit=5)
    return AsyncGuard(AsyncPolicy(configuration, store=store, component=component, prefix=prefix))


async def close(guard: AsyncGuard) -> None:
    await guard.policy.store.close()  # type: ignore[union-attr]


def test_three_failures_open_it_for_all(redis_server: RedisServer, component: Component) -> None:
    async def story() -> None:
        guard = guard_on(redis_server, component)
        prefix = guard.policy.prefix
        for _ in range(3):
            async with guard.call("p") as call:
                call.response(503)
        with pytest.raises(Refused):
            async with guard.call("p"):
                pass
        # A worker that waits for its store sees the same.
        other = Policy(
            {"prefix": prefix},
            store=RedisStore(redis_server.url, limit=5),
            component=component,
            prefix=prefix,
        )
        now = other.store.now_ms()
        assert "refused" in other.admit(target("p"), context(now))["decision"]
        await close(guard)

    asyncio.run(story())


def test_every_operation_is_performed_once_however_often_the_call_is_made_again(
    component: Component,
) -> None:
    class Counted(MemoryStore):
        operations = 0

        async def get(self, keys: Any) -> Any:  # type: ignore[override]
            Counted.operations += 1
            return super().get(keys)

        async def swap(self, *arguments: Any) -> Any:  # type: ignore[override]
            Counted.operations += 1
            return super().swap(*arguments)

        async def count(self, windows: Any) -> Any:  # type: ignore[override]
            Counted.operations += 1
            return super().count(windows)

    class AtOnce(MemoryStore):
        operations = 0

        def get(self, keys: Any) -> Any:
            AtOnce.operations += 1
            return super().get(keys)

        def swap(self, *arguments: Any) -> Any:
            AtOnce.operations += 1
            return super().swap(*arguments)

        def count(self, windows: Any) -> Any:
            AtOnce.operations += 1
            return super().count(windows)

    later = AsyncPolicy(store=Counted(), component=component)  # type: ignore[arg-type]
    at_once = Policy(store=AtOnce(), component=component)

    async def story() -> list[Any]:
        told: list[Any] = []
        for _ in range(6):
            admission = await later.admit(target("p", "k", "o"), context())
            told.append(admission)
            verdict = later.classify(target("p", "k", "o"), answered(503))
            permit = admission["decision"]["allowed"]
            told.append(await later.settle(permit, {"judged": verdict}, context()))
            if len(told) == 10:
                break
        told.append(await later.inspect(target("p", "k", "o"), context()))
        return told

    seen = asyncio.run(story())
    expected: list[Any] = []
    for _ in range(5):
        admission = at_once.admit(target("p", "k", "o"), context())
        verdict = at_once.classify(target("p", "k", "o"), answered(503))
        permit = admission["decision"]["allowed"]
        expected += [admission, at_once.settle(permit, {"judged": verdict}, context())]
    expected.append(at_once.inspect(target("p", "k", "o"), context()))
    assert seen == expected
    assert Counted.operations == AtOnce.operations > 10


def test_a_policy_that_asks_for_something_else_the_second_time_is_found_out() -> None:
    async def story() -> None:
        class Later(MemoryStore):
            async def get(self, keys: Any) -> Any:  # type: ignore[override]
                return super().get(keys)

        tape = Tape(Later(), "p", later=True)
        assert tape.get(["p:k"]) == {"err": "pending"}
        assert tape.get(["p:other"]) == {"err": "pending"}
        await tape.wait()
        assert tape.swap("p:k", None, b"x", 0) == {"err": "unavailable"}
        assert tape.fault is not None and "something else" in tape.fault

    asyncio.run(story())


def test_a_hundred_calls_at_once_share_one_instance(
    redis_server: RedisServer, component: Component
) -> None:
    async def story() -> None:
        guard = guard_on(redis_server, component)

        async def one() -> None:
            async with guard.call("p") as call:
                call.response(200)

        await asyncio.gather(*[one() for _ in range(100)])
        (state,) = await guard.inspect("p")
        assert state["successes"] == 100
        assert len(guard.policy._spare) == 1
        await close(guard)

    asyncio.run(story())


@pytest.mark.parametrize("when", ["while it is asked", "just after the answer"])
def test_whoever_is_cancelled_leaves_no_probe_lease_behind(component: Component, when: str) -> None:
    now = [1_000_000]

    class Slow(MemoryStore):
        """A store whose swaps are answered when they may be."""

        may = asyncio.Event()
        asked = asyncio.Event()

        async def get(self, keys: Any) -> Any:  # type: ignore[override]
            return super().get(keys)

        async def swap(self, *arguments: Any) -> Any:  # type: ignore[override]
            self.asked.set()
            await self.may.wait()
            return super().swap(*arguments)

        async def count(self, windows: Any) -> Any:  # type: ignore[override]
            return super().count(windows)

    async def story() -> None:
        store = Slow(clock=lambda: now[0])
        configuration = {"breaker": {"failures": {"count": 1}, "cool-down": {"jitter": 0}}}
        policy = AsyncPolicy(configuration, store=store, component=component)  # type: ignore[arg-type]
        guard = AsyncGuard(policy)
        store.may.set()
        async with guard.call("p") as call:
            call.response(503)
        now[0] += 30_000
        store.may.clear()
        store.asked.clear()

        async def probe() -> None:
            async with guard.call("p"):
                raise AssertionError("it was cancelled before")

        task = asyncio.ensure_future(probe())
        await asyncio.wait_for(store.asked.wait(), 5)
        if when == "while it is asked":
            task.cancel()
        else:
            (asking,) = guard._under_way
            asking.add_done_callback(lambda _: task.cancel())
            store.may.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        store.may.set()
        while guard._under_way:
            await asyncio.gather(*guard._under_way)
        (state,) = await guard.inspect("p")
        assert state["phase"] == "half-open" and state["lease"] is None
        async with guard.call("p") as call:
            assert call.probe
            call.response(200)

    asyncio.run(story())


@pytest.mark.parametrize("mode", ["allow", "deny", "local"])
def test_what_is_done_while_a_store_is_gone_is_configured(component: Component, mode: str) -> None:
    async def story() -> list[str]:
        store = AsyncRedisStore(f"redis://127.0.0.1:{refused_port()}")
        configuration = {"breaker": {"store-failure": mode}}
        guard = AsyncGuard(AsyncPolicy(configuration, store=store, component=component))
        told = []
        for _ in range(7):
            try:
                async with guard.call("p") as call:
                    call.response(503)
                told.append("made")
            except Refused as refused:
                told.append(refused.reason)
        return told

    expected = {
        "allow": ["made"] * 7,
        "deny": ["store"] * 7,
        "local": ["made"] * 5 + ["open"] * 2,
    }
    assert asyncio.run(story()) == expected[mode]


def test_a_store_in_this_process_needs_no_pending(component: Component) -> None:
    async def story() -> None:
        guard = AsyncGuard(AsyncPolicy(component=component))
        async with guard.call("p") as call:
            call.response(200)
        assert (await guard.inspect("p"))[0]["successes"] == 1
        with pytest.raises(PolicyFault):
            await guard.policy.inspect(target("p", operation="x" * (32 << 20)), context())

    asyncio.run(story())


def test_orders_are_given_and_domains_explained(
    redis_server: RedisServer, component: Component
) -> None:
    async def story() -> None:
        guard = guard_on(redis_server, component)
        await guard.order("p", "open", who="on-call", why="maintenance", lasts=60)
        with pytest.raises(Refused, match="on-call: maintenance"):
            async with guard.call("p"):
                pass
        facts = {fact["subject"]: fact["value"] for fact in await guard.explain("p")}
        assert (facts["phase"], facts["order"]) == ("closed", "open")
        await guard.order("p", "observe", who="on-call", why="a trial", enforce_percent=30)
        facts = {fact["subject"]: fact["says"] for fact in await guard.explain("p")}
        assert "30 of a hundred" in facts["order"]
        await guard.clear("p")
        assert "order" not in {fact["subject"] for fact in await guard.explain("p")}
        await close(guard)

    asyncio.run(story())


def test_an_async_httpx_client_is_guarded(
    redis_server: RedisServer, component: Component, upstream: Upstream
) -> None:
    async def story() -> None:
        guard = guard_on(redis_server, component)
        transport = AsyncGuardedTransport(guard, target=lambda _: "p")
        async with httpx.AsyncClient(transport=transport, timeout=10) as client:
            assert (await client.get(upstream.url("200"))).text == "ok"
            for path in ("503", "hang", "short"):
                try:
                    await client.get(upstream.url(path), timeout=0.1 if path == "hang" else 10)
                except httpx.HTTPError:
                    pass
            with pytest.raises(Refused):
                await client.get(upstream.url("200"))
        (state,) = await guard.inspect("p")
        assert (state["successes"], state["failures"]) == (1, 3)
        await close(guard)

    asyncio.run(story())
