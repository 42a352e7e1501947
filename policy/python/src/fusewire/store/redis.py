"""A store on Redis, for a fleet, which answers at once: the calling thread waits for it.

The keys, their contents and the scripts are those of the Rust host, so that workers of every
language share one Redis. Needs the ``redis`` package.

The store never decides by being slow: it is waited for at most 50 ms at a time, and a server that
did not answer is left alone for a moment, in which every operation is out of reach at once.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import redis
from redis.retry import Retry

from ..contract import Tally, Window
from ..errors import StoreError
from . import _commands as commands
from .clock import SAMPLES, Clock
from .rules import check_count, check_keys, check_swap

T = TypeVar("T")


class RedisStore:
    """A store on Redis, for any number of threads; each uses a connection of its own."""

    def __init__(self, url: str, *, limit: float = commands.OPERATION_LIMIT) -> None:
        """``url`` is such as ``redis://user:password@host:6379/0`` or ``unix:///path``; nothing is
        connected yet. ``limit`` is how long, in s, is waited for the server at a time."""
        pool = commands.pool(redis.ConnectionPool, Retry, url, limit)
        self._client: Any = redis.Redis.from_pool(pool)
        self.address = commands.address(pool)
        """Where the server is, without the credentials."""
        self._rest = commands.Rest()
        self._clock = Clock()

    def get(self, keys: Sequence[str]) -> list[bytes | None]:
        # One `GET` a key in one round trip, rather than one `MGET`: that takes a counter for an
        # absent value, and the contract has it refused.
        check_keys(keys)
        if not keys:
            return []
        return self._perform(
            f"get {list(keys)}",
            lambda: [
                commands.value(answer) for answer in self._send([("GET", key) for key in keys])
            ],
        )

    def swap(
        self, key: str, expected: bytes | None, replacement: bytes | None, ttl_ms: int
    ) -> bool:
        check_swap(key, replacement)

        def perform() -> bool:
            by_hash, by_code = (
                commands.swap(by_hash, key, expected, replacement, ttl_ms)
                for by_hash in (True, False)
            )
            try:
                answer = self._client.execute_command(*by_hash)
            except commands.NoScriptError:
                answer = self._client.execute_command(*by_code)
            return bool(answer)

        return self._perform(f"swap {key!r}", perform)

    def count(self, windows: Sequence[Window]) -> list[Tally]:
        check_count(windows)
        if not windows:
            return []

        def perform() -> list[Tally]:
            answers = self._send([commands.count(True, window) for window in windows])
            again = commands.again(windows, answers)
            if again:
                second = self._send([commands.count(False, windows[i]) for i in again])
                for i, answer in zip(again, second, strict=True):
                    answers[i] = answer
            return [commands.tally(answer) for answer in answers]

        return self._perform(f"count {[window['key'] for window in windows]}", perform)

    def ping(self) -> None:
        """Asks for a sign of life. Raises as the operations do."""
        self._perform("ping", self._client.ping)

    def now_ms(self) -> int:
        """The present time on the fleet's clock. With the first question, and every half a minute
        after that, it is measured, for which the server is waited for."""
        if self._clock.is_due():
            # Without an answer the clock goes on as it is.
            with contextlib.suppress(StoreError):
                self._perform("time", self._measure)
        return self._clock.now_ms()

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def _measure(self) -> None:
        samples = []
        for _ in range(SAMPLES):
            sent = self._clock.sent()
            samples.append(self._clock.sample(sent, self._client.execute_command("TIME")))
        self._clock.follow(samples)

    def _send(self, calls: list[commands.Command]) -> list[Any]:
        """Sends commands in one round trip. Answers to single ones may be errors."""
        pipeline = self._client.pipeline(transaction=False)
        for call in calls:
            pipeline.execute_command(*call)
        answers: list[Any] = pipeline.execute(raise_on_error=False)
        return answers

    def _perform(self, what: str, operation: Callable[[], T]) -> T:
        self._rest.check(time.monotonic(), self.address)
        try:
            answer = operation()
        except (commands.RedisError, OSError) as error:
            if commands.is_read_only(error):
                # After a fail-over a new connection may lead to the new primary.
                self._client.connection_pool.disconnect(inuse_connections=False)
            raise commands.judged(error, what, self.address, self._rest) from error
        self._rest.answered()
        return answer
