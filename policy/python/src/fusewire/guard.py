"""Guards calls to outside services: asks before each, and tells how it ended.

    with guard.call("geocoder") as call:
        response = client.get(url)
        call.response(response.status_code, response.headers)

Where the breaker refuses, :class:`Refused` is raised and the block is not run. An exception that
leaves the block is told as the failure that it is; a block that is left without a word is a dropped
call, which judges nothing and frees a probe's lease. Where the policy itself fails the call goes
through, unguarded.
"""

from __future__ import annotations

import functools
import logging
import os
import secrets
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from .alarms import Alarm, Alarms
from .contract import (
    Context,
    DomainState,
    Ending,
    Event,
    Fact,
    Mode,
    Observation,
    Order,
    Permit,
    Progress,
    Step,
    Target,
    Verdict,
    Wanted,
    target,
)
from .errors import PolicyFault
from .evidence import Evidence, cut
from .failures import answer_of
from .policy import WANTED_BY_DEFAULT, BasePolicy, Policy
from .report import Facts, Report, is_bad, ms
from .store.local import Change

P = ParamSpec("P")
R = TypeVar("R")

log = logging.getLogger("fusewire")

_starting = threading.Lock()
"""Held while a guard makes its alarms."""

_LOGGED = {"transition", "alone", "held", "reshaped"}
"""The kinds of events that are logged for operators. The others are for who looks closely."""

_MODE_LEVELS = {"down": logging.WARNING, "shared": logging.INFO}


class BaseGuard:
    """What guards for threads and for asyncio share."""

    def __init__(
        self,
        policy: BasePolicy,
        instance: str | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self._judge = policy
        self._evidence = Evidence(policy)
        self._instance = instance
        self._random: tuple[int, str] | None = None
        self._on_event = on_event

    @property
    def instance(self) -> str:
        """This process's id, distinct in the fleet. After a `fork` it is another, unless given."""
        if self._instance is not None:
            return self._instance
        if self._random is None or self._random[0] != os.getpid():
            self._random = (os.getpid(), f"python-{secrets.token_hex(4)}")
        return self._random[1]

    def wanted(self, to: str | Target, expect: str = "any") -> Wanted:
        """What the policy looks at in answers of this target, so that nobody gathers more: the
        beginning of the body above all. Asked once for each provider. ``expect`` is what the call
        will say that it can use."""
        try:
            return self._evidence.wanted(target(to) if isinstance(to, str) else to, expect)
        except PolicyFault as fault:
            log.error("no body is looked at: %s", fault)
            return WANTED_BY_DEFAULT

    def classify(self, to: Target, seen: Observation) -> Verdict:
        """Judges one attempt by as much of what was seen as the policy looks at."""
        response = seen["response"]
        if response is not None:
            seen = seen.copy()
            seen["response"] = cut(response, self.wanted(to, seen["expect"]))
        return self._judge.classify(to, seen)

    def tell(self, events: list[Event], now_ms: int) -> None:
        """Tells what happened to the log and to whoever listens; before that, whether the store has
        come or gone meanwhile."""
        for change in self._judge.changes_of_mode():
            event = _mode_event(change, now_ms)
            log.log(_MODE_LEVELS[change.mode], "%s", event["detail"])
            self._hand_on(event)
        for event in events:
            kind = event["kind"]
            (name,) = (kind,) if isinstance(kind, str) else kind
            level = logging.INFO if name in _LOGGED else logging.DEBUG
            log.log(level, "%s: %s", event["domain"], event["detail"])
            self._hand_on(event)

    def _hand_on(self, event: Event) -> None:
        if self._on_event is not None:
            try:
                self._on_event(event)
            except Exception:
                log.exception("on_event failed; the call goes on")

    def context_at(self, now_ms: int, facts: Facts | None = None) -> Context:
        """What is known at this moment, and of a call that is to be made."""
        return {
            "now-ms": now_ms,
            "entropy": secrets.randbits(64),
            "instance": self.instance,
            "call-limit-ms": ms(facts.limit) if facts else None,
            "fingerprint": facts.fingerprint if facts else None,
        }


class Guard(BaseGuard):
    """Guards calls with one policy on its store. Any number of threads may use it."""

    def __init__(
        self,
        policy: Policy,
        *,
        instance: str | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        """``instance`` is this process's id, distinct in the fleet; by default random. ``on_event``
        is told what happens, on the thread of the call that brought it about or on that of
        :mod:`fusewire.alarms`; what operators want to know is logged as well."""
        super().__init__(policy, instance, on_event)
        self.policy = policy
        self._alarms: Alarms | None = None

    def call(
        self,
        to: str | Target,
        *,
        limit: float | None = None,
        fingerprint: int | None = None,
        idempotent: bool = False,
        expect: str = "any",
        minimum_budget: float | None = None,
    ) -> Call:
        """One call, as a context manager. ``limit`` is the longest that it may last, in s: a
        probe's lease lasts at least as long. ``minimum_budget`` is the least time, in s, in which
        this provider can be expected to answer."""
        facts = Facts(limit, fingerprint, idempotent, expect, minimum_budget)
        return Call(self, to, facts)

    def guarded(self, to: str | Target, **facts: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """A decorator for a function that makes one call and returns its response: what has a
        ``status_code``, ``status`` or ``code``, and ``headers``. ``facts`` as for :meth:`call`."""

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            @functools.wraps(function)
            def wrapped(*arguments: P.args, **named: P.kwargs) -> R:
                with self.call(to, **facts) as call:
                    returned = function(*arguments, **named)
                    answered = answer_of(returned)
                    if answered is None:
                        raise TypeError(f"{function.__qualname__} did not return a response")
                    call.response(*answered)
                return returned

            return wrapped

        return decorate

    def inspect(self, to: str | Target) -> list[DomainState]:
        """The state of the target's domains; those that the store does not answer for are left
        out."""
        to = target(to) if isinstance(to, str) else to
        return self.policy.inspect(to, self.context())

    def explain(self, domain: str) -> list[Fact]:
        """Why a domain stands as it does, the most important first; changes nothing. Raises as
        :meth:`fusewire.Policy.explain`."""
        return self.policy.explain(domain, self.context())

    def order(
        self,
        domain: str,
        mode: Mode,
        *,
        who: str,
        why: str,
        lasts: float | None = None,
        enforce_percent: int = 0,
    ) -> None:
        """Gives an operator's order for one domain, to the whole fleet, in place of the one before.

        ``lasts`` is in s; by default it stands until it is cleared. ``enforce_percent`` is how many
        of a hundred refusals are enforced, with the mode ``observe`` alone. Raises as
        :meth:`fusewire.Policy.set_order`.
        """
        context = self.context()
        order = order_of(mode, who, why, lasts, enforce_percent, context)
        self.tell(self.policy.set_order(domain, order, context), context["now-ms"])

    def clear(self, domain: str) -> None:
        """Takes back the operator's order for one domain."""
        context = self.context()
        self.tell(self.policy.set_order(domain, None, context), context["now-ms"])

    def next(self, progress: Progress, verdict: Verdict) -> Step:
        """Decides the next step after an attempt."""
        return self.policy.next(progress, verdict, self.context())

    def context(self, facts: Facts | None = None) -> Context:
        """What is known at this moment, and of a call that is to be made."""
        return self.context_at(self.policy.store.now_ms(), facts)

    def alarm(self, seconds: float, do: Callable[[], bool]) -> Alarm:
        """Has something done so many s from now, on a thread that is started with the first."""
        alarms = self._alarms
        if alarms is None or alarms.pid != os.getpid():
            with _starting:
                alarms = self._alarms
                if alarms is None or alarms.pid != os.getpid():
                    alarms = self._alarms = Alarms()
                    weakref.finalize(self, alarms.stop)
        return alarms.after(seconds, do)


class Call(Report):
    """One call under way. Settled once, when its block is left."""

    def __init__(self, guard: Guard, to: str | Target, facts: Facts) -> None:
        super().__init__(to, facts)
        self._guard = guard
        self._alarm: Alarm | None = None

    @property
    def wanted(self) -> Wanted:
        """What the policy looks at in the answer."""
        return self._guard.wanted(self._target, self._facts.expect)

    def __enter__(self) -> Call:
        try:
            context = self._guard.context(self._facts)
            admission = self._guard.policy.admit(self._target, context)
        except PolicyFault as fault:
            log.error("a call goes through unguarded: %s", fault)
        else:
            self._guard.tell(admission["events"], context["now-ms"])
            self._admitted(admission)
        self._begin()
        permit, overdue_after = self._permit, self._overdue_after
        if permit is not None and overdue_after is not None:
            tell = functools.partial(self._tell_overdue, permit)
            self._alarm = self._guard.alarm(overdue_after, tell)
        return self

    def _tell_overdue(self, permit: Permit) -> bool:
        """Tells that the call is still under way. Answers whether that was done."""
        context = self._guard.context(self._facts)
        try:
            events = self._guard.policy.overdue(permit, context)
        except PolicyFault as fault:
            log.error("that a call is overdue was lost: %s", fault)
            return False
        self._guard.tell(events, context["now-ms"])
        return True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.raised(error)
        self.settle()

    def settle(self) -> None:
        """Tells how the call ended. The second time nothing happens."""
        permit = self._take_permit()
        if permit is None:
            return
        # From now on nobody tells that it is still under way; who is at it is waited for.
        overdue = self._alarm is not None and self._alarm.end()
        policy = self._guard.policy
        context = self._guard.context(self._facts)
        seen = self._observation(context["now-ms"])
        try:
            ending: Ending = "dropped"
            if seen is not None:
                self.verdict = self._guard.classify(self._target, seen)
                ending = {"judged": self.verdict}
            events = policy.settle(permit, ending, context, self._timing(seen, overdue))
            self._guard.tell(events, context["now-ms"])
        except PolicyFault as fault:
            log.error("the outcome of a call was lost: %s", fault)

    def settle_if_bad(self) -> None:
        """Settles the call now, though its answer is still coming, where what was seen of it is
        bad. Of an answer that is good so far the end decides."""
        seen = self._observation(self._guard.policy.store.now_ms())
        try:
            bad = seen is not None and is_bad(self._guard.classify(self._target, seen))
        except PolicyFault:
            bad = False  # `settle` says so
        if bad:
            self.settle()


def order_of(
    mode: Mode, who: str, why: str, lasts: float | None, enforce_percent: int, context: Context
) -> Order:
    """An order that lasts so many s from now on the fleet's clock."""
    span = ms(lasts)
    return {
        "mode": mode,
        "enforce-percent": enforce_percent,
        "who": who,
        "why": why,
        "until-ms": 0 if span is None else context["now-ms"] + span,
    }


def _mode_event(change: Change, now_ms: int) -> Event:
    """A change of the store's mode, which is no domain's."""
    says = "out of use" if change.mode == "down" else "in use again"
    detail = f"the store is {says}: {change.why}"
    return {"domain": "", "at-ms": now_ms, "kind": {"mode": change.mode}, "detail": detail}
