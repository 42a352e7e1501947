"""Plays scenarios: one JSON object a line in, one a line out, in the driver's protocol of the
scenario player (`fusewire::scenario::driver`).

    python drive.py --store memory
    python drive.py --store redis://127.0.0.1:6379
    python drive.py --store asyncio+redis://127.0.0.1:6379

The last plays through `pending`: the store answers later, and the policy is called again.

The policy is `$FUSEWIRE_POLICY_WASM`, or target/fusewire_policy.wasm of this repository. What is
played is what the package ships; here are the stage around the store, and the protocol alone.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "src"))

from fusewire import Component, ConfigurationError, MemoryStore, Policy  # noqa: E402
from fusewire.aio import AsyncPolicy  # noqa: E402
from fusewire.contract import Window  # noqa: E402
from fusewire.errors import StoreRefused, StoreUnavailable  # noqa: E402
from fusewire.policy import Question, admission  # noqa: E402
from fusewire.store.aredis import AsyncRedisStore  # noqa: E402
from fusewire.store.local import AsyncOwnKeys, OwnKeys  # noqa: E402
from fusewire.store.redis import RedisStore  # noqa: E402

ASYNCIO = "asyncio+"

PATIENCE = 10.0
"""How long a Redis is waited for, in s: a slow machine must not change what is decided."""

LIFETIME_MS = 600_000
"""How long a key that the policy writes lives, whatever it asks for: time in a scenario is not
real, and a key must neither vanish in the middle of one nor stay behind for ever."""


class Gate:
    """The shared store during a scenario, which can go away."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.up = True

    def get(self, keys: Sequence[str]) -> Any:
        return self._open().get(keys)

    def swap(self, *arguments: Any) -> Any:
        return self._open().swap(*arguments)

    def count(self, windows: Sequence[Window]) -> Any:
        return self._open().count(windows)

    def now_ms(self) -> Any:
        return self._inner.now_ms()

    def _open(self) -> Any:
        if not self.up:
            raise StoreUnavailable("the scenario says so")
        return self._inner


class AsyncGate(Gate):
    """The same before a store that answers later."""

    async def get(self, keys: Sequence[str]) -> Any:
        return await super().get(keys)

    async def swap(self, *arguments: Any) -> Any:
        return await super().swap(*arguments)

    async def count(self, windows: Sequence[Window]) -> Any:
        return await super().count(windows)


class Staging:
    """What happens on the stage: it can forget a counter, and operations are counted, those on an
    instance's own keys as well."""

    def __init__(self) -> None:
        self.lost: dict[str, int] = {}
        self.operations = 0

    def take_operations(self) -> int:
        """How many operations the policy has asked for since this was last asked."""
        operations, self.operations = self.operations, 0
        return operations

    def staged(self, windows: Sequence[Window]) -> list[Window]:
        staged = [window.copy() for window in windows]
        for window in staged:
            if window["key"] in self.lost:
                window["key"] = f"{window['key']}~{self.lost[window['key']]}"
            window["ttl-ms"] = _lifetime(window["ttl-ms"])
        return staged


class Stage(Staging, OwnKeys):
    """The store as the policy has it."""

    def __init__(self, gate: Gate, prefix: str) -> None:
        Staging.__init__(self)
        OwnKeys.__init__(self, gate, prefix)

    def get(self, keys: Sequence[str]) -> Any:
        self.operations += 1
        return super().get(keys)

    def swap(self, key: str, expected: bytes | None, replacement: bytes | None, ttl_ms: int) -> Any:
        self.operations += 1
        return super().swap(key, expected, replacement, _lifetime(ttl_ms))

    def count(self, windows: Sequence[Window]) -> Any:
        self.operations += 1
        return super().count(self.staged(windows))


class AsyncStage(Staging, AsyncOwnKeys):
    """The same around a store that answers later."""

    def __init__(self, gate: Gate, prefix: str) -> None:
        Staging.__init__(self)
        AsyncOwnKeys.__init__(self, gate, prefix)

    async def get(self, keys: Sequence[str]) -> Any:
        self.operations += 1
        return await super().get(keys)

    async def swap(
        self, key: str, expected: bytes | None, replacement: bytes | None, ttl_ms: int
    ) -> Any:
        self.operations += 1
        return await super().swap(key, expected, replacement, _lifetime(ttl_ms))

    async def count(self, windows: Sequence[Window]) -> Any:
        self.operations += 1
        return await super().count(self.staged(windows))


def _lifetime(ttl_ms: int) -> int:
    return LIFETIME_MS if ttl_ms else 0


class Driver:
    """One policy and one store."""

    def __init__(self, component: Component, store: Any) -> None:
        self.component = component
        self.store = store
        self.later = inspect.iscoroutinefunction(store.get)
        self.loop = asyncio.new_event_loop()
        self.prefix = "fusewire"
        self._begin("{}")

    def _begin(self, configuration: str) -> None:
        """Begins anew, unless the configuration is not accepted."""
        gate = (AsyncGate if self.later else Gate)(self.store)
        stage: Any = (AsyncStage if self.later else Stage)(gate, self.prefix)
        kind: Any = AsyncPolicy if self.later else Policy
        policy = kind(configuration, store=stage, component=self.component, prefix=self.prefix)
        self.gate, self.stage, self.policy = gate, stage, policy

    def done(self, answer: Any) -> Any:
        """An answer, which is waited for where it comes later."""
        return self.loop.run_until_complete(answer) if inspect.isawaitable(answer) else answer

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request, which is an object with one name."""
        ((name, given),) = request.items()
        method = getattr(self, f"on_{name.replace('-', '_')}", None)
        if method is None:
            raise ValueError(f"{name!r} is not a request")
        answer: dict[str, Any] = method(given)
        return answer

    def on_describe(self, _: Any) -> Any:
        return {"description": self.policy.describe()}

    def on_configure(self, configuration: str) -> Any:
        try:
            self._begin(configuration)
        except ConfigurationError as error:
            return {"problems": error.problems}
        return {"problems": []}

    def on_prefix(self, prefix: str) -> Any:
        self.prefix = prefix
        return {"done": True}

    def on_stage(self, given: Any) -> Any:
        self.gate.up = given["up"]
        return {"done": True}

    def on_lose_counter(self, key: str) -> Any:
        self.stage.lost[key] = self.stage.lost.get(key, 0) + 1
        return {"done": True}

    def on_classify(self, given: Any) -> Any:
        return {"verdict": self.policy.classify(**given)}

    def on_admit(self, given: Any) -> Any:
        return self._asked("admission", self.policy.to_admit(**given), admission)

    def on_overdue(self, given: Any) -> Any:
        return self._asked("events", self.policy.to_overdue(**given))

    def on_settle(self, given: Any) -> Any:
        return self._asked("events", self.policy.to_settle(**given))

    def on_inspect(self, given: Any) -> Any:
        return self._asked("states", Question("breaker.inspect", given))

    def on_set_override(self, given: Any) -> Any:
        return self._asked("events", Question("breaker.set-override", given))

    def on_set_order(self, given: Any) -> Any:
        return self._asked("events", self.policy.to_order(**given))

    def on_explain(self, given: Any) -> Any:
        return self._asked("facts", self.policy.to_explain(**given))

    def on_next(self, given: Any) -> Any:
        return self._asked("step", Question("planner.next", given))

    def _asked(
        self, what: str, question: Question, read: Callable[[Any], Any] = lambda ok: ok["ok"]
    ) -> Any:
        self.stage.take_operations()
        result = self.done(self.policy.ask(*question))
        operations = self.stage.take_operations()
        if "ok" in result:
            return {what: read(result), "operations": operations}
        return {"override-error": result["err"], "operations": operations}

    def on_get(self, keys: list[str]) -> Any:
        def values() -> Any:
            values = self.done(self.store.get(keys))
            return [None if value is None else list(value) for value in values]

        return stored("values", values)

    def on_swap(self, given: Any) -> Any:
        def swapped() -> Any:
            expected, replacement = (
                None if given[name] is None else bytes(given[name])
                for name in ("expected", "replacement")
            )
            return self.done(self.store.swap(given["key"], expected, replacement, given["ttl-ms"]))

        return stored("swapped", swapped)

    def on_count(self, windows: Any) -> Any:
        return stored("tallies", lambda: self.done(self.store.count(windows)))


def stored(what: str, operation: Callable[[], Any]) -> Any:
    """The answer of the store itself."""
    try:
        return {what: operation()}
    except StoreUnavailable:
        return {"error": "unavailable"}
    except StoreRefused as error:
        return {"error": {"refused": str(error)}}


def opened(store: str) -> Any:
    """The store that was asked for."""
    if store == "memory":
        return MemoryStore()
    if store.startswith(ASYNCIO):
        return AsyncRedisStore(store.removeprefix(ASYNCIO), limit=PATIENCE)
    return RedisStore(store, limit=PATIENCE)


def main() -> None:
    arguments = argparse.ArgumentParser(description="Plays scenarios in Python.")
    arguments.add_argument(
        "--store",
        required=True,
        help="memory, or a URL: redis://host:port, asyncio+redis://host:port",
    )
    store = opened(arguments.parse_args().store)
    wasm = os.environ.get("FUSEWIRE_POLICY_WASM")
    component = Component.from_file(wasm) if wasm else Component.built_in()
    driver = Driver(component, store)
    for line in sys.stdin:
        try:
            answer = driver.answer(json.loads(line))
        except Exception as error:
            answer = {"fault": f"{type(error).__name__}: {error}".replace("\n", " ")}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
