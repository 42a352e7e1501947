"""What the package shares with the rest of the repository: a built package has copies of it, and a
package that runs from the repository finds it there."""

from __future__ import annotations

from pathlib import Path

from .errors import LoadError


def part(name: str, in_repository: str) -> Path:
    """Where this part is."""
    here = Path(__file__).resolve()
    for place in (here.with_name(name), here.parents[4] / in_repository):
        if place.is_file():
            return place
    raise LoadError(f"{name} is neither in the package nor at {in_repository} of the repository")
