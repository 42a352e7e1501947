"""The same for asyncio: nothing waits inside the policy, and no thread waits for the store.

    async with guard.call("geocoder") as call:
        response = await client.get(url)
        call.response(response.status_code, response.headers)

A store that answers later is answered for by ``pending``: the policy returns at once, and is called
again when the answer is there, with every answer so far played to it in order
(``wit/package.wit``, "Suspension"). So one instance serves any number of calls in flight.

A question whose asker is cancelled is asked to its end all the same: the answer may be a probe
lease, which would be held by nobody until its time is over.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, TypeVar, cast

from .component import Component
from .contract import (
    NO_TIMING,
    Admission,
    Context,
    DomainState,
    Ending,
    Event,
    Fact,
    Mode,
    Order,
    OverrideOrder,
    Permit,
    Progress,
    Step,
    Tally,
    Target,
    Timing,
    Verdict,
    Wanted,
    Window,
    target,
)
from .errors import PolicyFault
from .guard import BaseGuard, log, order_of
from .policy import DEFAULT_PREFIX, BasePolicy, Configuration, admission, explained, ordered
from .report import Facts, Report, is_bad
from .store import MemoryStore, Store
from .tape import Tape

T = TypeVar("T")


class AsyncStore(Protocol):
    """A store that answers later. See :class:`fusewire.store.Store`."""

    async def get(self, keys: Sequence[str]) -> list[bytes | None]: ...

    async def swap(
        self, key: str, expected: bytes | None, replacement: bytes | None, ttl_ms: int
    ) -> bool: ...

    async def count(self, windows: Sequence[Window]) -> list[Tally]: ...

    async def now_ms(self) -> int: ...


class AsyncPolicy(BasePolicy):
    """A policy with a configuration, on a store that answers later, or at once and without
    waiting. See :class:`fusewire.Policy`."""

    def __init__(
        self,
        configuration: Configuration = "{}",
        *,
        store: AsyncStore | Store | None = None,
        component: Component | bytes | str | os.PathLike[str] | None = None,
        prefix: str = DEFAULT_PREFIX,
    ) -> None:
        """As :class:`fusewire.Policy`."""
        self.store: AsyncStore | Store = MemoryStore() if store is None else store
        super().__init__(configuration, component, prefix, self.store)
        self._later = inspect.iscoroutinefunction(self.store.get)

    async def now_ms(self) -> int:
        """The present time on the fleet's clock."""
        now = self.store.now_ms()
        return now if isinstance(now, int) else await now

    async def admit(self, target: Target, context: Context) -> Admission:
        """Asks whether a call to this target may be made now."""
        return admission(await self.ask(*self.to_admit(target, context)))

    async def overdue(self, permit: Permit, context: Context) -> list[Event]:
        """Tells that a call is still under way ``limits["overdue-ms"]`` after it was admitted."""
        return cast("list[Event]", (await self.ask(*self.to_overdue(permit, context)))["ok"])

    async def settle(
        self, permit: Permit, ending: Ending, context: Context, timing: Timing = NO_TIMING
    ) -> list[Event]:
        """Tells how a call ended that was admitted under this permit."""
        question = self.to_settle(permit, ending, context, timing)
        return cast("list[Event]", (await self.ask(*question))["ok"])

    async def inspect(self, target: Target, context: Context) -> list[DomainState]:
        """Reads the state of the target's domains."""
        answer = await self.ask("breaker.inspect", {"target": target, "context": context})
        return cast("list[DomainState]", answer["ok"])

    async def set_override(
        self, domain: str, order: OverrideOrder | None, context: Context
    ) -> list[Event]:
        """Gives an operator's order for one domain; ``None`` clears it."""
        arguments = {"domain": domain, "order": order, "context": context}
        return ordered(await self.ask("breaker.set-override", arguments))

    async def set_order(self, domain: str, order: Order | None, context: Context) -> list[Event]:
        """As :meth:`set_override`, and a share of the refusals may be enforced."""
        return ordered(await self.ask(*self.to_order(domain, order, context)))

    async def explain(self, domain: str, context: Context) -> list[Fact]:
        """Tells why a domain stands as it does, the most important first."""
        return explained(await self.ask(*self.to_explain(domain, context)))

    async def next(self, progress: Progress, verdict: Verdict, context: Context) -> Step:
        """Decides the next step after an attempt."""
        arguments = {"progress": progress, "verdict": verdict, "context": context}
        return (await self.ask("planner.next", arguments))["ok"]

    async def ask(self, export: str, arguments: Mapping[str, Any]) -> Any:
        """Calls an export that may touch the store, as often as it takes, and answers its result
        as it is."""
        tape = Tape(self._kept, self.prefix, later=self._later)
        while (answer := self._run_on(tape, export, arguments)) is None:
            await tape.wait()
        return answer


class AsyncGuard(BaseGuard):
    """Guards calls with one policy on its store, in one event loop."""

    def __init__(
        self,
        policy: AsyncPolicy,
        *,
        instance: str | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        """As :class:`fusewire.Guard`."""
        super().__init__(policy, instance, on_event)
        self.policy = policy
        self._under_way: set[asyncio.Task[Any]] = set()

    def call(
        self,
        to: str | Target,
        *,
        limit: float | None = None,
        fingerprint: int | None = None,
        idempotent: bool = False,
        expect: str = "any",
        minimum_budget: float | None = None,
    ) -> AsyncCall:
        """One call, as an asynchronous context manager. See :meth:`fusewire.Guard.call`."""
        facts = Facts(limit, fingerprint, idempotent, expect, minimum_budget)
        return AsyncCall(self, to, facts)

    async def inspect(self, to: str | Target) -> list[DomainState]:
        """The state of the target's domains; those that the store does not answer for are left
        out."""
        to = target(to) if isinstance(to, str) else to
        return await self.policy.inspect(to, await self.context())

    async def explain(self, domain: str) -> list[Fact]:
        """Why a domain stands as it does, the most important first; changes nothing."""
        return await self.policy.explain(domain, await self.context())

    async def order(
        self,
        domain: str,
        mode: Mode,
        *,
        who: str,
        why: str,
        lasts: float | None = None,
        enforce_percent: int = 0,
    ) -> None:
        """Gives an operator's order for one domain. See :meth:`fusewire.Guard.order`."""
        context = await self.context()
        order = order_of(mode, who, why, lasts, enforce_percent, context)
        self.tell(await self.policy.set_order(domain, order, context), context["now-ms"])

    async def clear(self, domain: str) -> None:
        """Takes back the operator's order for one domain."""
        context = await self.context()
        self.tell(await self.policy.set_order(domain, None, context), context["now-ms"])

    async def next(self, progress: Progress, verdict: Verdict) -> Step:
        """Decides the next step after an attempt."""
        return await self.policy.next(progress, verdict, await self.context())

    async def context(self, facts: Facts | None = None) -> Context:
        """What is known at this moment, and of a call that is to be made."""
        return self.context_at(await self.policy.now_ms(), facts)

    async def to_its_end(self, work: Coroutine[Any, Any, T]) -> T:
        """Does something to its end, also where whoever waits for it is cancelled."""
        return await asyncio.shield(self.start(work))

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Does something that nobody waits for."""
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task


class AsyncCall(Report):
    """One call under way. Settled once, when its block is left."""

    def __init__(self, guard: AsyncGuard, to: str | Target, facts: Facts) -> None:
        super().__init__(to, facts)
        self._guard = guard
        self._gone = False
        self._alarm: asyncio.TimerHandle | None = None
        self._telling: asyncio.Task[bool] | None = None

    @property
    def wanted(self) -> Wanted:
        """What the policy looks at in the answer."""
        return self._guard.wanted(self._target, self._facts.expect)

    async def __aenter__(self) -> AsyncCall:
        try:
            await self._guard.to_its_end(self._ask())
        except asyncio.CancelledError:
            # Whoever is later, the question or this, reports the call as dropped.
            self._gone = True
            self._guard.start(self.settle())
            raise
        self._begin()
        permit, overdue_after = self._permit, self._overdue_after
        if permit is not None and overdue_after is not None:
            ring = functools.partial(self._ring, permit)
            self._alarm = asyncio.get_running_loop().call_later(overdue_after, ring)
        return self

    def _ring(self, permit: Permit) -> None:
        self._telling = self._guard.start(self._tell_overdue(permit))

    async def _tell_overdue(self, permit: Permit) -> bool:
        """Tells that the call is still under way. Answers whether that was done."""
        context = await self._guard.context(self._facts)
        try:
            events = await self._guard.policy.overdue(permit, context)
        except PolicyFault as fault:
            log.error("that a call is overdue was lost: %s", fault)
            return False
        self._guard.tell(events, context["now-ms"])
        return True

    async def _ask(self) -> None:
        try:
            context = await self._guard.context(self._facts)
            admission = await self._guard.policy.admit(self._target, context)
        except PolicyFault as fault:
            log.error("a call goes through unguarded: %s", fault)
            return
        self._guard.tell(admission["events"], context["now-ms"])
        self._admitted(admission)
        if self._gone:
            await self.settle()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.raised(error)
        await self._guard.to_its_end(self.settle())

    async def settle(self) -> None:
        """Tells how the call ended. The second time nothing happens."""
        permit = self._take_permit()
        if permit is None:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        overdue = self._telling is not None and await self._telling
        policy = self._guard.policy
        context = await self._guard.context(self._facts)
        seen = self._observation(context["now-ms"])
        try:
            ending: Ending = "dropped"
            if seen is not None:
                self.verdict = self._guard.classify(self._target, seen)
                ending = {"judged": self.verdict}
            events = await policy.settle(permit, ending, context, self._timing(seen, overdue))
            self._guard.tell(events, context["now-ms"])
        except PolicyFault as fault:
            log.error("the outcome of a call was lost: %s", fault)

    async def settle_if_bad(self) -> None:
        """Settles the call now, though its answer is still coming, where what was seen of it is
        bad. Of an answer that is good so far the end decides."""
        seen = self._observation(await self._guard.policy.now_ms())
        try:
            bad = seen is not None and is_bad(self._guard.classify(self._target, seen))
        except PolicyFault:
            bad = False  # `settle` says so
        if bad:
            await self._guard.to_its_end(self.settle())
