"""A store inside one process, which answers at once.

Nothing outlives the process, and no other process sees it: after a ``fork`` each goes its own way.

An entry whose lifetime is over is absent from that moment on. Its memory is given back later, a
little with each write, so that no operation ever walks through all entries.

A store may be given a limit. Past it, a new entry takes the place of the one that ends first among
a few: roughly the one that was written least recently.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..contract import Tally, Window
from ..errors import StoreRefused
from .rules import AMOUNT_MAX, adds, check_count, check_keys, check_swap

_SWEPT_BY_A_WRITE = 2
"""How many entries each write looks at for one that is gone: the least with which the sweep outruns
writes that each make a new entry."""

_LOOKED_AT_FOR_ROOM = 8
"""Among how many entries the one that ends first has to go, where there are too many."""


@dataclass
class _Counter:
    """A windowed counter: amounts by bucket and lane."""

    epoch: int
    buckets: dict[int, dict[str, int]] = field(default_factory=dict)

    def add(self, window: Window) -> None:
        since = window["since"]
        bucket = self.buckets.setdefault(window["bucket"], {})
        for lane in window["add"]:
            if lane["amount"] > 0:
                _raise(bucket, lane["name"], lane["amount"])
        for begins in [begins for begins in self.buckets if begins < since]:
            del self.buckets[begins]

    def tally(self, since: int) -> Tally:
        sums: dict[str, int] = {}
        for begins, lanes in self.buckets.items():
            if begins >= since:
                for name, amount in lanes.items():
                    _raise(sums, name, amount)
        return {
            "epoch": self.epoch,
            "lanes": [{"name": name, "amount": sums[name]} for name in sorted(sums)],
        }


@dataclass(slots=True)
class _Entry:
    held: bytes | _Counter
    expires: int | None
    """The moment from which it is absent; none: it stays."""

    def is_over(self, now: int) -> bool:
        return self.expires is not None and self.expires <= now


class MemoryStore:
    """A store inside one process, for any number of threads."""

    def __init__(self, clock: Callable[[], int] | None = None, *, most: int | None = None) -> None:
        """``clock`` answers the time in ms since the Unix epoch. By default it is the wall clock as
        it is now, and monotonic time from there on, so that setting the wall clock neither ends nor
        prolongs a lifetime. ``most`` is how many entries there may be; by default any number."""
        self._now = clock or _steady_clock()
        self._most = most
        self._lock = threading.Lock()
        # In the order in which the sweep looks at them.
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def now_ms(self) -> int:
        return self._now()

    def held(self) -> int:
        """How many entries are held, those included whose lifetime is over but whose memory was
        not given back yet."""
        return len(self._entries)

    def get(self, keys: Sequence[str]) -> list[bytes | None]:
        check_keys(keys)
        now = self._now()
        with self._lock:
            return [self._value(key, now) for key in keys]

    def swap(
        self, key: str, expected: bytes | None, replacement: bytes | None, ttl_ms: int
    ) -> bool:
        check_swap(key, replacement)
        now = self._now()
        with self._lock:
            if self._value(key, now) != expected:
                return False
            if replacement is None:
                self._entries.pop(key, None)
            else:
                self._put(key, replacement, now + ttl_ms if ttl_ms else None)
            self._sweep(now)
            return True

    def count(self, windows: Sequence[Window]) -> list[Tally]:
        check_count(windows)
        now = self._now()
        with self._lock:
            return [self._count(window, now) for window in windows]

    def _alive(self, key: str, now: int) -> bytes | _Counter | None:
        entry = self._entries.get(key)
        return None if entry is None or entry.is_over(now) else entry.held

    def _value(self, key: str, now: int) -> bytes | None:
        held = self._alive(key, now)
        if isinstance(held, _Counter):
            raise StoreRefused(f"{key!r} holds a counter, not a value")
        return held

    def _count(self, window: Window, now: int) -> Tally:
        key, epoch = window["key"], window["epoch"]
        counter = self._alive(key, now)
        if isinstance(counter, bytes):
            raise StoreRefused(f"{key!r} holds a value, not a counter")
        if counter is not None and counter.epoch > epoch:
            return {"epoch": counter.epoch, "lanes": []}
        if not adds(window):
            if counter is None or counter.epoch < epoch:
                return {"epoch": 0, "lanes": []}
            return counter.tally(window["since"])
        if counter is None or counter.epoch < epoch:
            counter = _Counter(epoch)
        counter.add(window)
        self._put(key, counter, now + window["ttl-ms"])
        self._sweep(now)
        return counter.tally(window["since"])

    def _put(self, key: str, held: bytes | _Counter, expires: int | None) -> None:
        entry = self._entries.get(key)
        if entry is None:
            if self._most is not None and len(self._entries) >= self._most:
                self._make_room()
            self._entries[key] = _Entry(held, expires)
        else:
            entry.held, entry.expires = held, expires

    def _make_room(self) -> None:
        few = itertools.islice(self._entries, _LOOKED_AT_FOR_ROOM)
        del self._entries[min(few, key=lambda key: _ends(self._entries[key]))]

    def _sweep(self, now: int) -> None:
        """Looks at the next few entries, and gives back the memory of those that are gone."""
        for _ in range(min(_SWEPT_BY_A_WRITE, len(self._entries))):
            key = next(iter(self._entries))
            if self._entries[key].is_over(now):
                del self._entries[key]
            else:
                self._entries.move_to_end(key)


def _ends(entry: _Entry) -> float:
    return float("inf") if entry.expires is None else entry.expires


def _raise(lanes: dict[str, int], name: str, amount: int) -> None:
    """Adds to the lane of this name, at most up to the largest amount."""
    lanes[name] = min(lanes.get(name, 0) + amount, AMOUNT_MAX)


def _steady_clock() -> Callable[[], int]:
    offset = time.time_ns() - time.monotonic_ns()
    return lambda: (time.monotonic_ns() + offset) // 1_000_000
