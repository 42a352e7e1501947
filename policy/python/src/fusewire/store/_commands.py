"""What is asked of Redis and how its answers are read: the same for both clients of redis-py.

The scripts are those of the Rust host, so that workers of every language share one Redis. Each is
atomic on the server and is called by its hash; a server that does not know it says so without
having done anything, and is then sent the script itself.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any

from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterDownError,
    NoScriptError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)

from .._parts import part
from ..contract import Tally, Window
from ..errors import StoreError, StoreRefused, StoreUnavailable
from .rules import AMOUNT_MAX, adds

OPERATION_LIMIT = 0.05
"""How long one operation of the store is waited for, in s: far below any provider's time limit, far
above a store's usual answer."""

PAUSE_MIN, PAUSE_MAX = 0.05, 1.0
"""How long a server that did not answer is left alone, and what that doubles up to, in s."""

_TTL_MAX_MS = AMOUNT_MAX
"""The longest lifetime that is asked of Redis: its own ends with signed 64 bits."""

_PASSES = ("BUSY ", "NOREPLICAS ", "MISCONF ")
"""How errors begin that are neither redis-py's own classes nor final: they pass by themselves."""

__all__ = ["NoScriptError", "RedisError"]

Command = tuple[Any, ...]


def _script(name: str) -> bytes:
    """A script, from the installed package or, in the repository, from the host."""
    return part(name, f"host/src/store/redis/{name}").read_bytes()


class Script:
    """A script, and the hash that the server knows it by."""

    def __init__(self, name: str) -> None:
        self.code = _script(name)
        self.hash = hashlib.sha1(self.code, usedforsecurity=False).hexdigest()

    def call(self, by_hash: bool, key: str, *arguments: Any) -> Command:
        name = ("EVALSHA", self.hash) if by_hash else ("EVAL", self.code)
        return (*name, 1, key, *arguments)


_SWAP = Script("swap.lua")
_COUNT = Script("count.lua")


def swap(
    by_hash: bool, key: str, expected: bytes | None, replacement: bytes | None, ttl_ms: int
) -> Command:
    """A call of ``swap.lua``."""
    values: list[Any] = []
    for value in (expected, replacement):
        values += [0 if value is None else 1, value or b""]
    return _SWAP.call(by_hash, key, *values, min(ttl_ms, _TTL_MAX_MS))


def count(by_hash: bool, window: Window) -> Command:
    """A call of ``count.lua``."""
    lanes = [
        part
        for lane in window["add"]
        if lane["amount"] > 0
        for part in (lane["name"], min(lane["amount"], AMOUNT_MAX))
    ]
    numbers = (window["epoch"], window["bucket"], window["since"])
    return _COUNT.call(by_hash, window["key"], *numbers, min(window["ttl-ms"], _TTL_MAX_MS), *lanes)


def again(windows: Sequence[Window], answers: Sequence[Any]) -> list[int]:
    """Which windows to ask for once more, with the script itself: those that the server did not
    know it for, and those that only read after them, so that none misses an add that comes before
    it. Another host may have brought the script between two of these calls."""
    unknown = [isinstance(answer, NoScriptError) for answer in answers]
    if True not in unknown:
        return []
    first = unknown.index(True)
    return [i for i in range(first, len(windows)) if unknown[i] or not adds(windows[i])]


def value(answer: Any) -> bytes | None:
    """The answer to a ``GET``."""
    if isinstance(answer, Exception):
        raise answer
    return None if answer is None else bytes(answer)


def tally(answer: Any) -> Tally:
    """The answer of ``count.lua``."""
    if isinstance(answer, Exception):
        raise answer
    epoch, *lanes = answer
    pairs = sorted(zip(lanes[::2], lanes[1::2], strict=True))
    return {
        "epoch": int(epoch),
        "lanes": [{"name": name.decode(), "amount": int(amount)} for name, amount in pairs],
    }


def pool(kind: Any, retry: type[Any], url: str, limit: float, **more: Any) -> Any:
    """Connections for this URL: no retries, no greeting beyond what is needed, and a time limit."""
    try:
        return kind.from_url(
            url,
            **more,
            socket_timeout=limit,
            socket_connect_timeout=limit,
            retry=retry(NoBackoff(), 0),
            retry_on_error=[],
            protocol=2,
            driver_info=None,
            decode_responses=False,
        )
    except ValueError:
        # The message may have a piece of the URL in it, and that a password.
        raise StoreRefused(
            "cannot use the URL of Redis; a right one looks like redis://host:6379/0"
        ) from None


def address(pool: Any) -> str:
    """Where the server of these connections is, without the credentials."""
    to = pool.connection_kwargs
    if "path" in to:
        return str(to["path"])
    return f"{to.get('host', 'localhost')}:{to.get('port', 6379)}"


def judged(error: Exception, what: str, address: str, rest: Rest) -> StoreError:
    """What an error means, once the server is left alone for a while where it did not answer."""
    if isinstance(error, ResponseError | AuthenticationError | AuthorizationError):
        rest.answered()
    else:
        rest.failed(time.monotonic())
    return judge(error, what, address)


def judge(error: Exception, what: str, address: str) -> StoreError:
    """What an error of Redis, or of the way there, means.

    States that pass by themselves (loading, a fail-over, a script that runs too long) are out of
    reach, as a lost connection is. Everything else that a server says is an answer: the operation
    is refused and nothing was changed.
    """
    text = f"{what} at {address}: {error or type(error).__name__}"
    if isinstance(error, (AuthenticationError, AuthorizationError)):
        return StoreRefused(text)
    if isinstance(error, ResponseError) and not passes(error):
        return StoreRefused(text)
    return StoreUnavailable(text)


def passes(error: ResponseError) -> bool:
    """Whether an answer of the server is a state that passes by itself."""
    return (
        isinstance(error, (BusyLoadingError, ClusterDownError, TryAgainError))
        or is_read_only(error)
        or str(error).startswith(_PASSES)
    )


def is_read_only(error: Exception) -> bool:
    """A replica takes no writes. Before version 7 the error of a command inside a script is only
    told in the text."""
    return isinstance(error, ReadOnlyError) or "READONLY" in str(error)


class Rest:
    """Whether a server that did not answer is left alone for now, so that it slows nobody down."""

    def __init__(self) -> None:
        self._pause = 0.0
        self._until = 0.0

    def check(self, now: float, address: str) -> None:
        """Raises while it is left alone. When that is over one caller tries, and the others are
        told as before until it has its answer."""
        if now < self._until:
            raise StoreUnavailable(f"Redis at {address} did not answer, and is left alone for now")
        if self._pause:
            self._until = now + self._pause

    def answered(self) -> None:
        """The server is there."""
        self._pause = self._until = 0.0

    def failed(self, now: float) -> None:
        """The server did not answer."""
        self._pause = min(max(self._pause * 2, PAUSE_MIN), PAUSE_MAX)
        self._until = now + self._pause
