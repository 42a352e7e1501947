"""A store on Redis for asyncio. See :mod:`fusewire.store.redis`, whose twin it is."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import redis.asyncio
from redis.asyncio.retry import Retry

from ..contract import Tally, Window
from ..errors import StoreError
from . import _commands as commands
from .clock import SAMPLES, Clock
from .rules import check_count, check_keys, check_swap

T = TypeVar("T")

CONNECTIONS = 8
"""The most connections of a store. Operations are short and wait for one another within their time
limit; a burst that opened a connection for each would run into it."""


class AsyncRedisStore:
    """A store on Redis, for one event loop."""

    def __init__(self, url: str, *, limit: float = commands.OPERATION_LIMIT) -> None:
        """``url`` is such as ``redis://user:password@host:6379/0`` or ``unix:///path``; nothing is
        connected yet. ``limit`` is how long, in s, one operation is waited for."""
        pool = commands.pool(
            redis.asyncio.BlockingConnectionPool,
            Retry,
            url,
            limit,
            max_connections=CONNECTIONS,
            timeout=limit,
        )
        self._client: Any = redis.asyncio.Redis.from_pool(pool)
        self.address = commands.address(pool)
        """Where the server is, without the credentials."""
        self._limit = limit
        self._rest = commands.Rest()
        self._clock = Clock()

    async def get(self, keys: Sequence[str]) -> list[bytes | None]:
        check_keys(keys)
        if not keys:
            return []

        async def perform() -> list[bytes | None]:
            answers = await self._send([("GET", key) for key in keys])
            return [commands.value(answer) for answer in answers]

        return await self._perform(f"get {list(keys)}", perform)

    async def swap(
        self, key: str, expected: bytes | None, replacement: bytes | None, ttl_ms: int
    ) -> bool:
        check_swap(key, replacement)

        async def perform() -> bool:
            by_hash, by_code = (
                commands.swap(by_hash, key, expected, replacement, ttl_ms)
                for by_hash in (True, False)
            )
            try:
                answer = await self._client.execute_command(*by_hash)
            except commands.NoScriptError:
                answer = await self._client.execute_command(*by_code)
            return bool(answer)

        return await self._perform(f"swap {key!r}", perform)

    async def count(self, windows: Sequence[Window]) -> list[Tally]:
        check_count(windows)
        if not windows:
            return []

        async def perform() -> list[Tally]:
            answers = await self._send([commands.count(True, window) for window in windows])
            again = commands.again(windows, answers)
            if again:
                second = await self._send([commands.count(False, windows[i]) for i in again])
                for i, answer in zip(again, second, strict=True):
                    answers[i] = answer
            return [commands.tally(answer) for answer in answers]

        return await self._perform(f"count {[window['key'] for window in windows]}", perform)

    async def ping(self) -> None:
        """Asks for a sign of life. Raises as the operations do."""
        await self._perform("ping", self._client.ping)

    async def now_ms(self) -> int:
        """The present time on the fleet's clock, which is measured with the first question, and
        every half a minute after that."""
        if self._clock.is_due():
            # Without an answer the clock goes on as it is.
            with contextlib.suppress(StoreError):
                await self._perform("time", self._measure)
        return self._clock.now_ms()

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    async def _measure(self) -> None:
        samples = []
        for _ in range(SAMPLES):
            sent = self._clock.sent()
            samples.append(self._clock.sample(sent, await self._client.execute_command("TIME")))
        self._clock.follow(samples)

    async def _send(self, calls: list[commands.Command]) -> list[Any]:
        """Sends commands in one round trip. Answers to single ones may be errors."""
        pipeline = self._client.pipeline(transaction=False)
        for call in calls:
            pipeline.execute_command(*call)
        answers: list[Any] = await pipeline.execute(raise_on_error=False)
        return answers

    async def _perform(self, what: str, operation: Callable[[], Awaitable[T]]) -> T:
        self._rest.check(time.monotonic(), self.address)
        try:
            answer = await asyncio.wait_for(operation(), self._limit)
        except (commands.RedisError, OSError, asyncio.TimeoutError) as error:
            if commands.is_read_only(error):
                await self._client.connection_pool.disconnect(inuse_connections=False)
            raise commands.judged(error, what, self.address, self._rest) from error
        self._rest.answered()
        return answer
