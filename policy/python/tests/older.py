"""The shipped policy as one that was built before the contract knew some of its interfaces: a copy
with those under other names, and the names of the others in that version of the contract."""

from __future__ import annotations

import re
from pathlib import Path

from fusewire._parts import part
from fusewire.component import BUILT_IN

# Names of the same length, so that no size in the component changes.
_LATER = {
    "0.1.0": {b"evidence": b"audience", b"attempts": b"endeavor", b"operator": b"director"},
    "0.1.1": {b"attempts": b"endeavor", b"operator": b"director"},
}

VERSIONS = tuple(_LATER)


def older(version: str) -> bytes:
    """A policy of this version of the contract."""
    wasm = Path(part(BUILT_IN, f"target/{BUILT_IN}")).read_bytes()
    wasm = re.sub(rb"(fusewire:policy/[a-z]+@)0\.1\.\d", rb"\g<1>" + version.encode(), wasm)
    for name, other in _LATER[version].items():
        wasm = wasm.replace(b"fusewire:policy/" + name, b"fusewire:policy/" + other)
    return wasm
