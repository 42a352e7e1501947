"""The fleet's clock: local monotonic time plus a measured offset.

Hosts whose own clocks differ must agree on when a cool-down ends, so all of them follow the clock
of their Redis. It is not asked at each decision: its offset is measured with the first question,
and every half a minute after that. An offset that lies within what a new measurement can tell is
kept, so the clock does not jitter; one that does not is replaced at once, backwards too, since a
host in disagreement with its fleet is worse than a step.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

MEASURE_EVERY = 30.0
"""How often the clock is measured, in s. A bad quartz drifts 100 ppm: 3 ms in this time."""

SAMPLES = 4
"""How many samples a measurement takes: one may meet a slow moment, four seldom do."""


class Sample(NamedTuple):
    """The server's time, as seen from here."""

    offset_us: int
    within_us: int
    """How far off that can be to either side: half the round trip."""


class Clock:
    """See the module."""

    def __init__(self) -> None:
        self._wall_us = time.time_ns() // 1000 - self._local_us()
        self._offset_us = 0
        self._due = 0.0

    @staticmethod
    def _local_us() -> int:
        return time.monotonic_ns() // 1000

    def now_ms(self) -> int:
        """The fleet's time, in ms since the Unix epoch."""
        return (self._local_us() + self._wall_us + self._offset_us) // 1000

    def is_due(self) -> bool:
        """Whether it is time for a measurement. Then it is for the one who asked to make it, and
        for nobody else during the next second."""
        now = time.monotonic()
        if now < self._due:
            return False
        self._due = now + 1.0
        return True

    def sent(self) -> int:
        """The moment at which a question for the server's time leaves."""
        return self._local_us()

    def sample(self, sent_us: int, answer: Sequence[int]) -> Sample:
        """What the answer to ``TIME`` tells that was just received."""
        within = (self._local_us() - sent_us) // 2
        server_us = answer[0] * 1_000_000 + answer[1]
        return Sample(server_us - (sent_us + within + self._wall_us), within)

    def follow(self, samples: Sequence[Sample]) -> None:
        """Follows the most exact of these samples."""
        self._due = time.monotonic() + MEASURE_EVERY
        best = min(samples, key=lambda sample: sample.within_us)
        if abs(best.offset_us - self._offset_us) > best.within_us:
            self._offset_us = best.offset_us
