"""A policy with its configuration, on a store.

A pool keeps the instances that nobody uses. A call takes one out, or makes one where there is none,
and puts it back when it has answered; so there are as many as there were threads in a call at one
moment, and no call waits for another. An instance that trapped or broke its contract is not put
back, and the next call gets a new one.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from .component import Component, Imports, Instance, NoStore
from .contract import (
    NO_LIMITS,
    NO_TIMING,
    Admission,
    Context,
    Description,
    DomainState,
    Ending,
    Event,
    Fact,
    Observation,
    Order,
    OverrideOrder,
    Permit,
    Problem,
    Progress,
    Step,
    Target,
    Timing,
    Verdict,
    Wanted,
)
from .errors import ConfigurationError, InvalidOrder, NotOffered, OrderFailed, PolicyFault
from .store import MemoryStore, Store
from .store.local import Change, with_own_keys
from .tape import Tape

DEFAULT_PREFIX = "fusewire"
"""What every key begins with, unless the configuration says otherwise."""

WANTED_BY_DEFAULT: Wanted = {"body-bytes": 0, "headers": None, "trailers": True}
"""What is gathered for a policy that does not say what it looks at: the first version of the
contract had no such question."""

Configuration = str | Mapping[str, Any]
"""A configuration, as JSON or as what JSON would be read to."""


class Question(NamedTuple):
    """An export that may touch the store, and its arguments."""

    export: str
    arguments: dict[str, Any]


class BasePolicy:
    """A component with a configuration and a store: what both kinds of policy share."""

    def __init__(
        self,
        configuration: Configuration,
        component: Component | bytes | str | os.PathLike[str] | None,
        prefix: str,
        store: Any,
    ) -> None:
        self.component = loaded(component)
        self.prefix = prefix
        self._kept = with_own_keys(store, prefix)
        self._has_attempts = self.component.exports("attempts")
        self._has_operator = self.component.exports("operator")
        self._configuration = text(configuration)
        self._spare: deque[Instance] = deque()
        self._spare.append(self._instantiate())
        self._faults = Counter()

    @property
    def faults(self) -> int:
        """How often the policy trapped, ran for too long, or broke its contract."""
        return self._faults.value

    def changes_of_mode(self) -> list[Change]:
        """How the store has come and gone since this was last asked."""
        return self._kept.changes_of_mode()

    def describe(self) -> Description:
        """Who this policy is."""
        return cast(Description, self._run("lifecycle.describe", NoStore(), {}))

    def problems(self, configuration: Configuration) -> list[Problem]:
        """What the policy would say to another configuration. This one stays in force."""
        return _configure(self.component.instantiate(), text(configuration))

    def classify(self, target: Target, observation: Observation) -> Verdict:
        """Judges one attempt."""
        arguments = {"target": target, "observation": observation}
        return cast(Verdict, self._run("classifier.classify", NoStore(), arguments))

    def wanted(self, target: Target) -> Wanted:
        """What it looks at in answers of this target; :data:`WANTED_BY_DEFAULT` where it does not
        say."""
        if not self.component.exports("evidence"):
            return WANTED_BY_DEFAULT.copy()
        return cast(Wanted, self._run("evidence.wanted", NoStore(), {"target": target}))

    def to_admit(self, target: Target, context: Context) -> Question:
        """What is asked before a call: of a policy that was built before the contract knew
        ``attempts``, ``breaker`` instead."""
        interface = "attempts" if self._has_attempts else "breaker"
        return Question(f"{interface}.admit", {"target": target, "context": context})

    def to_settle(
        self, permit: Permit, ending: Ending, context: Context, timing: Timing = NO_TIMING
    ) -> Question:
        """What is told after a call; an older policy is told no latency."""
        arguments = {"permit": permit, "ending": ending, "context": context}
        if not self._has_attempts:
            return Question("breaker.settle", arguments)
        return Question("attempts.settle", {**arguments, "timing": timing})

    def to_overdue(self, permit: Permit, context: Context) -> Question:
        """What is told of a call that is still under way."""
        return Question("attempts.overdue", {"permit": permit, "context": context})

    def to_order(self, domain: str, order: Order | None, context: Context) -> Question:
        """How an order is given. Raises :class:`NotOffered` for a share of enforcement that an
        older policy knows nothing of."""
        given: dict[str, Any] | None = None if order is None else dict(order)
        if not self._has_operator and given is not None and given.pop("enforce-percent", 0):
            raise NotOffered("the policy enforces all refusals or none: it knows no share of them")
        export = "operator.set-order" if self._has_operator else "breaker.set-override"
        return Question(export, {"domain": domain, "order": given, "context": context})

    def to_explain(self, domain: str, context: Context) -> Question:
        """How it is asked why a domain stands as it does."""
        if not self._has_operator:
            raise NotOffered("the policy explains no domain: `inspect` has what it tells")
        return Question("operator.explain", {"domain": domain, "context": context})

    def _run(self, export: str, imports: Imports, arguments: Mapping[str, Any]) -> Any:
        """Calls an export once. See :meth:`Instance.call`."""
        try:
            instance = self._spare.pop()
        except IndexError:
            instance = self._instantiate()
        try:
            answer = instance.call(export, imports, arguments)
        except TypeError:
            self._spare.append(instance)
            raise
        except PolicyFault:
            self._faults.add()
            raise
        self._spare.append(instance)
        return answer

    def _run_on(self, tape: Tape, export: str, arguments: Mapping[str, Any]) -> Any:
        """Calls an export once on the store as the tape has it. ``None``: it is suspended."""
        answer = self._run(export, tape, arguments)
        why = tape.fault
        if why is None and _is_suspended(answer):
            if tape.is_waiting:
                return None
            why = "it suspended a call though its store had answered"
        if why is not None:
            self._faults.add()
            raise PolicyFault(f"{export}: the policy broke its contract: {why}")
        return answer

    def _instantiate(self) -> Instance:
        instance = self.component.instantiate()
        problems = _configure(instance, self._configuration)
        if problems:
            raise ConfigurationError(problems)
        return instance


class Policy(BasePolicy):
    """A policy with a configuration, on a store that answers at once. Any number of threads may
    use it at the same time.

    Raises :class:`ConfigurationError`, with every problem, where the policy does not accept the
    configuration.
    """

    def __init__(
        self,
        configuration: Configuration = "{}",
        *,
        store: Store | None = None,
        component: Component | bytes | str | os.PathLike[str] | None = None,
        prefix: str = DEFAULT_PREFIX,
    ) -> None:
        """``store`` is by default one in this process. ``component`` is one that is compiled, its
        bytes or its path; by default the one that the package has with it. ``prefix`` is what every
        key begins with: the same as in the configuration."""
        self.store: Store = MemoryStore() if store is None else store
        super().__init__(configuration, component, prefix, self.store)

    def admit(self, target: Target, context: Context) -> Admission:
        """Asks whether a call to this target may be made now."""
        return admission(self.ask(*self.to_admit(target, context)))

    def overdue(self, permit: Permit, context: Context) -> list[Event]:
        """Tells that a call is still under way ``limits["overdue-ms"]`` after it was admitted."""
        return cast("list[Event]", self.ask(*self.to_overdue(permit, context))["ok"])

    def settle(
        self, permit: Permit, ending: Ending, context: Context, timing: Timing = NO_TIMING
    ) -> list[Event]:
        """Tells how a call ended that was admitted under this permit."""
        question = self.to_settle(permit, ending, context, timing)
        return cast("list[Event]", self.ask(*question)["ok"])

    def inspect(self, target: Target, context: Context) -> list[DomainState]:
        """Reads the state of the target's domains."""
        answer = self.ask("breaker.inspect", {"target": target, "context": context})
        return cast("list[DomainState]", answer["ok"])

    def set_override(
        self, domain: str, order: OverrideOrder | None, context: Context
    ) -> list[Event]:
        """Gives an operator's order for one domain; ``None`` clears it.

        Raises :class:`InvalidOrder` or :class:`OrderFailed`.
        """
        arguments = {"domain": domain, "order": order, "context": context}
        return ordered(self.ask("breaker.set-override", arguments))

    def set_order(self, domain: str, order: Order | None, context: Context) -> list[Event]:
        """As :meth:`set_override`, and a share of the refusals may be enforced.

        Raises :class:`NotOffered` for that where the policy is an older one.
        """
        return ordered(self.ask(*self.to_order(domain, order, context)))

    def explain(self, domain: str, context: Context) -> list[Fact]:
        """Tells why a domain stands as it does, the most important first.

        Raises :class:`InvalidOrder` for what is no domain, :class:`OrderFailed` where the store
        does not answer, :class:`NotOffered` where the policy is an older one.
        """
        return explained(self.ask(*self.to_explain(domain, context)))

    def next(self, progress: Progress, verdict: Verdict, context: Context) -> Step:
        """Decides the next step after an attempt."""
        arguments = {"progress": progress, "verdict": verdict, "context": context}
        return self.ask("planner.next", arguments)["ok"]

    def ask(self, export: str, arguments: Mapping[str, Any]) -> Any:
        """Calls an export that may touch the store, and answers its result as it is."""
        return self._run_on(Tape(self._kept, self.prefix), export, arguments)


class Counter:
    """A number that any number of threads add to."""

    def __init__(self) -> None:
        self.value = 0
        self._lock = threading.Lock()

    def add(self) -> None:
        with self._lock:
            self.value += 1


def text(configuration: Configuration) -> str:
    """A configuration as JSON."""
    return configuration if isinstance(configuration, str) else json.dumps(configuration)


def loaded(given: Component | bytes | str | os.PathLike[str] | None) -> Component:
    """A component from what was given."""
    if given is None:
        return Component.built_in()
    if isinstance(given, Component):
        return given
    return Component(given) if isinstance(given, bytes) else Component.from_file(given)


def _is_suspended(answer: Any) -> bool:
    """Whether a result says that the store has not answered yet."""
    error = answer.get("err")
    return isinstance(error, dict) and ("answered" in error or "suspended" in error)


def admission(answer: Any) -> Admission:
    """What an `admit` answered: an older policy sets no limits."""
    return cast(Admission, {"limits": NO_LIMITS.copy(), **answer["ok"]})


def ordered(answer: Any) -> list[Event]:
    """The events of an order, or its error raised."""
    return cast("list[Event]", _carried_out(answer))


def explained(answer: Any) -> list[Fact]:
    """The facts of an `explain`, or its error raised."""
    return cast("list[Fact]", _carried_out(answer))


def _carried_out(answer: Any) -> Any:
    if "ok" in answer:
        return answer["ok"]
    error = answer["err"]
    if isinstance(error, dict) and "invalid" in error:
        raise InvalidOrder(error["invalid"])
    if isinstance(error, dict) and "store" in error:
        raise OrderFailed(error["store"])
    raise OrderFailed("the record changed each time it was about to be written; try again")


def _configure(instance: Instance, configuration: str) -> list[Problem]:
    answer = instance.call("lifecycle.configure", NoStore(), {"json": configuration})
    return cast("list[Problem]", answer)
