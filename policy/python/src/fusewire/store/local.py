"""Around any store: the keys of this instance alone are kept in this process.

A key in which ``local:`` follows the prefix belongs to one instance (``wit/keyvalue.wit``). It is
answered at once, whatever the shared store does: so where that is out of reach the instance has a
breaker of its own. What names both kinds of keys is asked of the shared store first, and fails
where that fails; the policy then asks for its own alone.

Whether the shared store answers is noted on the way, for one event at each change of mode.
"""

from __future__ import annotations

import inspect
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from ..contract import Tally, Window
from ..errors import StoreRefused
from .memory import MemoryStore

P = TypeVar("P")
A = TypeVar("A")

OWN_MAX = 20_000
"""The most keys of its own that an instance keeps: a record and a counter for each of 10,000
domains, far more than one calls while its store is away."""

CHANGES_MAX = 64
"""How many changes of mode are remembered: it may be that nobody asks."""


class Change(NamedTuple):
    """The shared store has come or gone."""

    mode: Literal["shared", "down"]
    """``shared``: it answers, and the fleet decides together. ``down``: it does not, and each
    instance decides by itself."""
    why: str


def with_own_keys(store: Any, prefix: str) -> Own:
    """A store around this one; it itself where it is one already."""
    if isinstance(store, Own):
        return store
    kind = AsyncOwnKeys if inspect.iscoroutinefunction(store.get) else OwnKeys
    return kind(store, prefix)


class Own:
    """What both kinds share: which keys are whose, and how the shared store has come and gone."""

    def __init__(self, shared: Any, prefix: str) -> None:
        self.shared = shared
        self.own = MemoryStore(most=OWN_MAX)
        self._begins = f"{prefix}:local:"
        self._is_down = False
        self._changing = threading.Lock()
        self._changes: deque[Change] = deque(maxlen=CHANGES_MAX)

    def changes_of_mode(self) -> list[Change]:
        """How the shared store has come and gone since this was last asked."""
        if not self._changes:
            return []
        with self._changing:
            changes = list(self._changes)
            self._changes.clear()
            return changes

    def now_ms(self) -> Any:
        return self.shared.now_ms()

    def is_own(self, key: str) -> bool:
        """Whether this key belongs to this instance alone."""
        return key.startswith(self._begins)

    def is_all_shared(self, keys: Sequence[str]) -> bool:
        """Whether there are keys, and all of them the fleet's: nearly always."""
        for key in keys:
            if key.startswith(self._begins):
                return False
        return bool(keys)

    def answered(self) -> None:
        """The shared store has answered."""
        if self._is_down:
            self._change(False, Change("shared", "it has answered"))

    def failed(self, error: Exception) -> None:
        """The shared store has failed. To refuse something is to answer."""
        if isinstance(error, StoreRefused):
            self.answered()
        elif not self._is_down:
            self._change(True, Change("down", str(error) or type(error).__name__))

    def _change(self, is_down: bool, change: Change) -> None:
        with self._changing:
            if self._is_down != is_down:  # of several threads one tells
                self._is_down = is_down
                self._changes.append(change)


class OwnKeys(Own):
    """Around a store that answers at once."""

    def get(self, keys: Sequence[str]) -> list[bytes | None]:
        if self.is_all_shared(keys):
            values: list[bytes | None] = self._ask(self.shared.get, keys)
            return values
        split = _Split([self.is_own(key) for key in keys])
        if split.is_all_own:
            return self.own.get(keys)
        return split.joined(self._ask(self.shared.get, split.shared(keys)), keys, self.own.get)

    def swap(
        self, key: str, expected: bytes | None, replacement: bytes | None, ttl_ms: int
    ) -> bool:
        if self.is_own(key):
            return self.own.swap(key, expected, replacement, ttl_ms)
        swapped: bool = self._ask(self.shared.swap, key, expected, replacement, ttl_ms)
        return swapped

    def count(self, windows: Sequence[Window]) -> list[Tally]:
        keys = [window["key"] for window in windows]
        if self.is_all_shared(keys):
            tallies: list[Tally] = self._ask(self.shared.count, windows)
            return tallies
        split = _Split([self.is_own(key) for key in keys])
        if split.is_all_own:
            return self.own.count(windows)
        tallies = self._ask(self.shared.count, split.shared(windows))
        return split.joined(tallies, windows, self.own.count)

    def _ask(self, operation: Callable[..., Any], *arguments: Any) -> Any:
        try:
            answer = operation(*arguments)
        except Exception as error:
            self.failed(error)
            raise
        self.answered()
        return answer


class AsyncOwnKeys(Own):
    """Around a store that answers later."""

    async def get(self, keys: Sequence[str]) -> list[bytes | None]:
        split = _Split([self.is_own(key) for key in keys])
        if split.is_all_own:
            return self.own.get(keys)
        values = await self._ask(self.shared.get, split.shared(keys))
        return split.joined(values, keys, self.own.get)

    async def swap(
        self, key: str, expected: bytes | None, replacement: bytes | None, ttl_ms: int
    ) -> bool:
        if self.is_own(key):
            return self.own.swap(key, expected, replacement, ttl_ms)
        swapped: bool = await self._ask(self.shared.swap, key, expected, replacement, ttl_ms)
        return swapped

    async def count(self, windows: Sequence[Window]) -> list[Tally]:
        split = _Split([self.is_own(window["key"]) for window in windows])
        if split.is_all_own:
            return self.own.count(windows)
        tallies = await self._ask(self.shared.count, split.shared(windows))
        return split.joined(tallies, windows, self.own.count)

    async def _ask(self, operation: Callable[..., Any], *arguments: Any) -> Any:
        try:
            answer = await operation(*arguments)
        except Exception as error:
            self.failed(error)
            raise
        self.answered()
        return answer


class _Split:
    """Which parts of an operation are on this instance's own keys."""

    def __init__(self, own: list[bool]) -> None:
        self._own = own
        self.is_all_own = all(own)

    def shared(self, asked: Sequence[P]) -> list[P]:
        """The parts that are not."""
        return [part for part, is_own in zip(asked, self._own, strict=True) if not is_own]

    def joined(
        self, answers: list[A], asked: Sequence[P], ask_own: Callable[[Sequence[P]], list[A]]
    ) -> list[A]:
        """The answers to all parts in order, once those of the shared store are there."""
        if not any(self._own):
            return answers
        own = [part for part, is_own in zip(asked, self._own, strict=True) if is_own]
        of = {False: iter(answers), True: iter(ask_own(own))}
        return [next(of[is_own]) for is_own in self._own]
