"""Contexts and observations, as tests ask with them."""

from __future__ import annotations

import itertools
from typing import Any

from fusewire.contract import Context, Observation

NOW_MS = 1_790_000_000_000

_prefixes = itertools.count()


def context(now_ms: int = NOW_MS, **fields: Any) -> Context:
    given: Any = {"now-ms": now_ms, "entropy": 1 << 63, "instance": "a"}
    given.update({name.replace("_", "-"): value for name, value in fields.items()})
    return given  # type: ignore[no-any-return]


def answered(status: int, now_ms: int = NOW_MS, headers: Any = ()) -> Observation:
    seen: Any = {
        "response": {
            "status": status,
            "headers": [{"name": name, "value": value} for name, value in headers],
            "trailers": [],
        },
        "latency-ms": 5,
        "now-ms": now_ms,
        "idempotent": True,
        "delivered-partial": False,
        "expect": "any",
    }
    return seen  # type: ignore[no-any-return]


def fresh_prefix() -> str:
    """A prefix that no other test uses."""
    return f"t{next(_prefixes)}"
