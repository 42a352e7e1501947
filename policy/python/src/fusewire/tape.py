"""The store as one call of the policy sees it.

A tape keeps every answer the call was given. A store that answers at once is asked as the policy
asks. One that answers later is not: the policy is told ``pending``, the tape holds the operation
that is awaited, and when its answer is there the call is made again and the answers are played from
the beginning, so that no operation is performed twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from .errors import StoreRefused, StoreUnavailable
from .store.rules import KEY_MAX_BYTES, VALUE_MAX_BYTES

OPERATIONS_MAX = 64
"""The most store operations of one call. The deepest path of the policy has a dozen; more is a
policy that goes in circles."""

_PENDING = {"err": "pending"}
_UNAVAILABLE = {"err": "unavailable"}

_log = logging.getLogger("fusewire")


class Tape:
    """The store during one call, which may touch keys that begin with ``prefix`` and a colon."""

    def __init__(self, store: Any, prefix: str, *, later: bool = False) -> None:
        """``later``: the store's operations are coroutines, and are answered later."""
        self._store = store
        self._prefix = f"{prefix}:"
        self._later = later
        self._answers: list[tuple[str, Any]] = []
        self._at = 0
        self._awaited: tuple[str, tuple[Any, ...]] | None = None
        self.fault: str | None = None
        """What the policy did wrong with its store, where it did."""

    @property
    def is_waiting(self) -> bool:
        """Whether an operation is awaited."""
        return self._awaited is not None

    def get(self, keys: list[str]) -> Any:
        return self._operate("get", lambda: self._check(keys), keys)

    def swap(self, key: str, expected: bytes | None, replacement: bytes | None, ttl_ms: int) -> Any:
        return self._operate(
            "swap", lambda: self._check([key], replacement), key, expected, replacement, ttl_ms
        )

    def count(self, windows: list[Any]) -> Any:
        return self._operate(
            "count", lambda: self._check([window["key"] for window in windows]), windows
        )

    async def wait(self) -> None:
        """Performs the operation that is awaited, and rewinds the tape."""
        if self._awaited is None:
            return
        name, arguments = self._awaited
        try:
            answer = {"ok": await getattr(self._store, name)(*arguments)}
        except Exception as error:
            answer = _told(name, error)
        self._awaited = None
        self._answers.append((name, answer))
        self._at = 0

    def _operate(self, name: str, check: Callable[[], None], *arguments: Any) -> Any:
        if self._awaited is not None:
            # After `pending` a policy returns; one that goes on is told the same again.
            return _PENDING
        if self._at < len(self._answers):
            recorded, answer = self._answers[self._at]
            self._at += 1
            if recorded != name:
                return self._wrong(
                    "called again with the same arguments, it asked the store something else"
                )
            return answer
        if len(self._answers) >= OPERATIONS_MAX:
            return self._wrong(f"one call made more than {OPERATIONS_MAX} store operations")
        try:
            check()
            if self._later:
                self._awaited = (name, arguments)
                return _PENDING
            answer = {"ok": getattr(self._store, name)(*arguments)}
        except Exception as error:
            answer = _told(name, error)
        self._answers.append((name, answer))
        self._at += 1
        return answer

    def _wrong(self, why: str) -> Any:
        self.fault = why
        return _UNAVAILABLE

    def _check(self, keys: list[str], value: bytes | None = None) -> None:
        for key in keys:
            if not key.startswith(self._prefix):
                raise StoreRefused(f'the key "{key}" does not begin with "{self._prefix}"')
            if len(key.encode()) > KEY_MAX_BYTES:
                raise StoreRefused(
                    f"the key has {len(key.encode())} bytes, and may have {KEY_MAX_BYTES}"
                )
        if value is not None and len(value) > VALUE_MAX_BYTES:
            raise StoreRefused(f"the value has {len(value)} bytes, and may have {VALUE_MAX_BYTES}")


def _told(name: str, error: Exception) -> Any:
    """What the policy is told of an error. One that is not the store's own is a mistake in the
    store, and must not cost the call that is guarded."""
    if isinstance(error, StoreRefused):
        return {"err": {"refused": str(error)}}
    if not isinstance(error, StoreUnavailable):
        _log.error("the store failed in an unexpected way at `%s`", name, exc_info=error)
    return _UNAVAILABLE
