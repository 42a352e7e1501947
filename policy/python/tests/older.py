"""The shipped policy as one that was built before the contract knew `evidence`: a copy with that
interface under another name, and the names of the others in the contract's first version."""

from __future__ import annotations

import re
from pathlib import Path

from fusewire._parts import part
from fusewire.component import BUILT_IN


def older() -> bytes:
    """Names of the same length, so that no size in the component changes."""
    wasm = Path(part(BUILT_IN, f"target/{BUILT_IN}")).read_bytes()
    first = re.sub(rb"(fusewire:policy/[a-z]+@0\.1)\.\d", rb"\1.0", wasm)
    return first.replace(b"fusewire:policy/evidence", b"fusewire:policy/audience")
