"""Stores: a few small values that a fleet shares. ``wit/keyvalue.wit`` is what each promises.

=========== ==============================================================
module      subject
=========== ==============================================================
``rules``   what an operation may ask for: one place for all stores
``memory``  :class:`MemoryStore`: one process
``redis``   :class:`RedisStore`: a fleet
``aredis``  :class:`AsyncRedisStore`: the same for asyncio
``local``   around each: what belongs to this process alone
``clock``   the fleet's clock
=========== ==============================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..contract import Tally, Window
from .memory import MemoryStore

__all__ = ["MemoryStore", "Store"]


class Store(Protocol):
    """A store that answers at once. It is called from many threads.

    Its operations raise :class:`~fusewire.errors.StoreUnavailable` or
    :class:`~fusewire.errors.StoreRefused`; any other exception is logged, and counts as out of
    reach.
    """

    def get(self, keys: Sequence[str]) -> list[bytes | None]:
        """One value a key, in order; ``None`` where there is none."""
        ...

    def swap(
        self, key: str, expected: bytes | None, replacement: bytes | None, ttl_ms: int
    ) -> bool:
        """Replaces a value only where it still is ``expected``; ``None`` is an absent one."""
        ...

    def count(self, windows: Sequence[Window]) -> list[Tally]:
        """Adds to windowed counters and reads them: one tally a window, in order."""
        ...

    def now_ms(self) -> int:
        """The present time on the fleet's clock, in ms since the Unix epoch."""
        ...
