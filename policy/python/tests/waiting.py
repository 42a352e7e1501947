"""Waiting for an event, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 10.0
"""How long an event may take, in s. None does; a busy machine is slow."""


def wait_for(look: Callable[[], T], what: str, patience: float = PATIENCE) -> T:
    """Looks again and again until there is something to see."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        seen = look()
        if seen:
            return seen
        time.sleep(0.005)
    raise AssertionError(f"{what}: not within {patience} s")
