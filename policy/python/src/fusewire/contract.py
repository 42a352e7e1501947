"""The contract's records, as they are in ``wit/``: dictionaries with the contract's own names.

For type checkers and readers alone: nothing is converted, and ``wit/`` has what each field means.
An option is the value or ``None``, and may be left out where it is given; a variant is ``"case"``
or ``{"case": payload}``. Times and spans are in milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

# ruff: noqa: UP013  the names have hyphens in them, which the class syntax does not allow

Target = TypedDict(
    "Target",
    {"provider": str, "account": "str | None", "operation": "str | None"},
)
"""Whom a call is made to."""

Description = TypedDict(
    "Description",
    {"name": str, "version": str, "record-schema": int},
)

Problem = TypedDict("Problem", {"path": str, "wrong": str, "right": str})
"""Something in a configuration that cannot be accepted."""

Context = TypedDict(
    "Context",
    {
        "now-ms": int,
        "entropy": int,
        "instance": str,
        "call-limit-ms": "int | None",
        "fingerprint": "int | None",
    },
)
"""What the host knows at the moment of a call."""

Field = TypedDict("Field", {"name": str, "value": str})

Response = TypedDict(
    "Response",
    {
        "status": int,
        "headers": "Sequence[Field]",
        "trailers": "Sequence[Field]",
        "body": "bytes | None",
    },
)

Observation = TypedDict(
    "Observation",
    {
        "response": "Response | None",
        "failure": "str | None",
        "cause": "str | None",
        "latency-ms": int,
        "now-ms": int,
        "idempotent": bool,
        "delivered-partial": bool,
        "expect": str,
        "minimum-budget-ms": "int | None",
    },
)
"""What a host saw of one attempt."""

Wanted = TypedDict(
    "Wanted",
    {"body-bytes": int, "headers": "list[str] | None", "trailers": bool},
)
"""What a policy looks at in the answers of a target: how much of the beginning of a body, in bytes
(zero: no body), which header fields, by their names in lower case (``None``: all), and whether
trailers are worth waiting for."""

Verdict = TypedDict(
    "Verdict",
    {
        "outcome": str,
        "effect": str,
        "blame": str,
        "retry-same": bool,
        "next-provider": bool,
        "min-delay-ms": int,
        "retry-after-ms": "int | None",
        "slow": bool,
        "rule": str,
        "reason": str,
    },
)
"""What one attempt means."""

Permit = TypedDict("Permit", {"target": Target, "probe": bool, "token": str})
"""The right to make one call."""

Refusal = TypedDict(
    "Refusal",
    {"domain": str, "reason": str, "retry-after-ms": int, "detail": str},
)

Event = TypedDict(
    "Event",
    {"domain": str, "at-ms": int, "kind": Any, "detail": str},
)
"""Something that the host should count, log, or keep. ``kind`` is a variant: ``transition``,
``alone`` (this instance's own breaker changed its phase, and nobody else's), ``held`` (until when),
``probe``, ``ignored``, ``ordered``, ``store``, ``reshaped``. One is this package's own: ``mode``,
``shared`` or ``down``, with the store and not a domain behind it."""

Decision = dict[Literal["allowed", "refused"], Any]
"""``{"allowed": Permit}`` or ``{"refused": Refusal}``."""

Limits = TypedDict("Limits", {"total-ms": "int | None", "overdue-ms": "int | None"})
"""What a policy wants of an admitted call's time: the longest that it may last, and from when on it
is told of as ``overdue``. ``None``: no wish."""

NO_LIMITS: Limits = {"total-ms": None, "overdue-ms": None}

Timing = TypedDict("Timing", {"latency-ms": "int | None", "overdue": bool})
"""How long a call took, where that is known, and whether ``overdue`` was told of it."""

NO_TIMING: Timing = {"latency-ms": None, "overdue": False}

Admission = TypedDict(
    "Admission",
    {"decision": Decision, "holds-until-ms": int, "limits": Limits, "events": "list[Event]"},
)

Ending = Literal["dropped"] | dict[Literal["judged"], Verdict]
"""How a call ended."""

Mode = Literal["open", "closed", "off", "observe"]
"""What an operator can order: refuse every call; admit every call and never trip; count nothing
either; decide and count as usual, and admit all the same."""

OverrideOrder = TypedDict(
    "OverrideOrder",
    {"mode": str, "who": str, "why": str, "until-ms": int},
)
"""An operator's order."""

Order = TypedDict(
    "Order",
    {"mode": Mode, "enforce-percent": int, "who": str, "why": str, "until-ms": int},
)
"""An operator's order. ``enforce-percent``: with ``observe``, how many of a hundred refusals are
enforced; zero with the other modes. ``until-ms``: zero where it stands until it is cleared."""

Fact = TypedDict("Fact", {"subject": str, "value": str, "says": str})
"""One thing about a domain: what it is about and how that stands, for scripts, and a sentence."""

Lease = TypedDict("Lease", {"token": str, "owner": str, "expires-ms": int})

DomainState = TypedDict(
    "DomainState",
    {
        "domain": str,
        "phase": str,
        "epoch": int,
        "until-ms": int,
        "openings": int,
        "probes-passed": int,
        "lease": "Lease | None",
        "order": "OverrideOrder | None",
        "successes": int,
        "failures": int,
        "slow": int,
        "retries": int,
        "stored": "str | None",
    },
)
"""One domain as it stands."""

Progress = TypedDict(
    "Progress",
    {
        "target": Target,
        "attempts": int,
        "attempts-in-all": int,
        "providers-left": int,
        "probe": bool,
        "deadline-ms": "int | None",
    },
)
"""One logical call so far."""

Step = Any
"""``"done"``, ``{"retry": ms}``, ``"next-provider"`` or ``{"give-up": why}``."""

Lane = TypedDict("Lane", {"name": str, "amount": int})

Window = TypedDict(
    "Window",
    {
        "key": str,
        "epoch": int,
        "bucket": int,
        "add": "list[Lane]",
        "since": int,
        "ttl-ms": int,
    },
)
"""One operation on one windowed counter."""

Tally = TypedDict("Tally", {"epoch": int, "lanes": "list[Lane]"})
"""What a windowed counter held after an operation on it."""


def target(provider: str, account: str | None = None, operation: str | None = None) -> Target:
    """Whom a call is made to: an outside service, and where wanted whose credential is used there
    and what is asked for."""
    return {"provider": provider, "account": account, "operation": operation}
