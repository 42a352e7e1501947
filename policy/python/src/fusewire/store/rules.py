"""What an operation of a store may ask for, in one place for all stores."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..contract import Window
from ..errors import StoreRefused

KEY_MAX_BYTES = 512
"""The longest key, in bytes."""

VALUE_MAX_BYTES = 64 * 1024
"""The longest value, in bytes."""

AMOUNT_MAX = (1 << 53) - 1
"""The largest amount that a lane can hold: what a double holds exactly."""

_LANE = re.compile(r"[a-z0-9-]{1,16}")


def check_keys(keys: Sequence[str]) -> None:
    """Refuses a key that is too short or too long."""
    for key in keys:
        size = len(key.encode())
        if not 1 <= size <= KEY_MAX_BYTES:
            raise StoreRefused(f"the key has {size} bytes, and may have 1 to {KEY_MAX_BYTES}")


def check_swap(key: str, replacement: bytes | None) -> None:
    """Refuses a swap whose key or value is too long."""
    check_keys([key])
    if replacement is not None and len(replacement) > VALUE_MAX_BYTES:
        raise StoreRefused(
            f"the value for {key!r} has {len(replacement)} bytes, and may have {VALUE_MAX_BYTES}"
        )


def check_count(windows: Sequence[Window]) -> None:
    """Refuses windows with a lane of another name, or that add without a lifetime."""
    check_keys([window["key"] for window in windows])
    for window in windows:
        for lane in window["add"]:
            if not _LANE.fullmatch(lane["name"]):
                raise StoreRefused(
                    f"{lane['name']!r} is not the name of a lane: 1 to 16 of a-z, `-` and digits"
                )
        if adds(window) and window["ttl-ms"] == 0:
            raise StoreRefused(f"to add to {window['key']!r} needs a ttl-ms above zero")


def adds(window: Window) -> bool:
    """Whether a window adds something; otherwise it only reads."""
    return any(lane["amount"] > 0 for lane in window["add"])
