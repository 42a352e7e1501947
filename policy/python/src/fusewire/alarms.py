"""Something that is to be done at its time unless its call is over by then, for threads.

One daemon thread, which is started with the first alarm and so where no policy sets a limit never.
Each alarm is for one call; nearly all are ended long before their time, which costs no waking.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import os
import threading
import time
from collections.abc import Callable

_CLEARED_FROM = 64
"""How many ended alarms are left lying before it is looked whether they are most."""

_WAIT_MAX = 3600.0
"""The longest wait at a time, in s: a thread cannot wait for any number that a policy may say."""

_LAST_WORDS = 1.0
"""How long, in s, is waited at the end of the process for what is being done."""

_log = logging.getLogger("fusewire")


class Alarm:
    """One thing to do, which answers whether it was done."""

    def __init__(self, do: Callable[[], bool], ended: Callable[[], None]) -> None:
        self._do: Callable[[], bool] | None = do
        self._ended = ended
        # Re-entrant, since what is done may tell a listener, who may end the call.
        self._lock = threading.RLock()
        self._was_done = False

    @property
    def is_over(self) -> bool:
        return self._do is None

    def ring(self) -> None:
        """Does it, unless it has ended."""
        with self._lock:
            do, self._do = self._do, None
            if do is not None:
                self._was_done = do()

    def end(self) -> bool:
        """From now on it is not done any more; what is being done is waited for. Answers whether it
        was done."""
        with self._lock:
            if self._do is not None:
                self._do = None
                self._ended()
            return self._was_done


class Alarms:
    """Alarms of one process, and the thread that waits for them."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        """The process that the thread is in: after a `fork` the child has none."""
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._waiting: list[tuple[float, int, Alarm]] = []
        self._serial = itertools.count()
        self._over = 0
        self._is_stopped = False

    def after(self, seconds: float, do: Callable[[], bool]) -> Alarm:
        """Has something done so many seconds from now."""
        alarm = Alarm(do, self._ended)
        due = time.monotonic() + seconds
        with self._changed:
            if self._over >= _CLEARED_FROM and self._over * 2 > len(self._waiting):
                self._clear()
            heapq.heappush(self._waiting, (due, next(self._serial), alarm))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="fusewire-alarms", daemon=True
                )
                self._thread.start()
            elif self._waiting[0][2] is alarm:
                self._changed.notify()
        return alarm

    def stop(self) -> None:
        """Ends the thread: a process that ends must not do so in the middle of the policy."""
        if self.pid != os.getpid():
            return
        with self._changed:
            self._is_stopped = True
            self._changed.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_LAST_WORDS)

    def _run(self) -> None:
        while (alarm := self._next()) is not None:
            try:
                alarm.ring()
            except Exception:
                _log.exception("an overdue call could not be told of")

    def _next(self) -> Alarm | None:
        """The next alarm whose time has come; ``None``: there will be none."""
        with self._changed:
            while not self._is_stopped:
                if not self._waiting:
                    self._changed.wait()
                    continue
                due, _, alarm = self._waiting[0]
                left = due - time.monotonic()
                if left > 0:
                    self._changed.wait(min(left, _WAIT_MAX))
                    continue
                heapq.heappop(self._waiting)
                return alarm
            return None

    def _ended(self) -> None:
        with self._changed:
            self._over += 1

    def _clear(self) -> None:
        self._waiting = [waiting for waiting in self._waiting if not waiting[2].is_over]
        heapq.heapify(self._waiting)
        self._over = 0
