"""What is known of one call: what the caller says of it, and what an exception says."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .contract import (
    NO_LIMITS,
    Admission,
    Field,
    Observation,
    Permit,
    Refusal,
    Response,
    Target,
    Timing,
    Verdict,
    target,
)
from .errors import FusewireError
from .evidence import BODY_MAX_BYTES
from .failures import answer_of, failure_of

Headers = Mapping[str, str] | Iterable[tuple[str, str]]


class Refused(FusewireError):
    """The breaker refuses the call for now. Nothing was sent."""

    def __init__(self, refusal: Refusal) -> None:
        self.domain = refusal["domain"]
        """The failure domain that refused: ``provider``, ``provider@account`` or
        ``provider/operation``."""
        self.reason = refusal["reason"]
        """Why: ``open``, ``probe-in-flight``, ``override``, ..."""
        self.retry_after = refusal["retry-after-ms"] / 1000
        """In how many s it is worth asking again."""
        self.detail = refusal["detail"]
        """Why, as a sentence."""
        super().__init__(f"{self.domain}: {self.detail}; ask again in {self.retry_after:.3g} s")


class Facts(NamedTuple):
    """What is known of a call before it is made."""

    limit: float | None = None
    """The longest that it may last, in s."""
    fingerprint: int | None = None
    """A digest of the request, the same for equal requests."""
    idempotent: bool = False
    """Whether the request may be sent twice without harm."""
    expect: str = "any"
    """What the caller can use: ``any``, ``json``, ``xml``, ``image``, ``vector-tile``."""
    minimum_budget: float | None = None
    """The least time, in s, in which this provider can be expected to answer."""


class Report:
    """What is known of one call: what a caller says, and what an exception says."""

    verdict: Verdict | None = None
    """What the call meant, once it is settled; ``None`` for one that was not judged."""

    def __init__(self, to: str | Target, facts: Facts) -> None:
        self._target = target(to) if isinstance(to, str) else to
        self._facts = facts
        self._permit: Permit | None = None
        self._limits = NO_LIMITS
        self._began = 0.0
        self._ended = 0.0
        self._response: Response | None = None
        self._failure: tuple[str, str | None] | None = None
        self._delivered = False

    @property
    def probe(self) -> bool:
        """Whether this call is the fleet's probe of a provider that was down: do not make it
        twice."""
        return self._permit is not None and self._permit["probe"]

    @property
    def limit(self) -> float | None:
        """The longest that this call may last, in s: what the caller has said, and for a probe what
        the policy leaves it of that. ``None``: no limit is known."""
        known = [limit for limit in (self._facts.limit, self.total) if limit is not None]
        return min(known, default=None)

    @property
    def total(self) -> float | None:
        """The longest that the policy lets this call last, in s; ``None``: it does not say."""
        return _seconds(self._limits["total-ms"])

    @property
    def left(self) -> float | None:
        """What is left of :attr:`total`, in s; zero or less once it is over."""
        total = self.total
        return None if total is None else self._began + total - time.monotonic()

    def response(
        self,
        status: int,
        headers: Headers = (),
        body: bytes | None = None,
        trailers: Headers = (),
    ) -> None:
        """Reports the answer, which is at its end, unless :meth:`ended` says later that it is only
        then. Said more than once, the last counts. ``body`` is as it was decoded, and ``None``
        where nobody looked; no more of it is shown to the policy than that looks at."""
        self._response = {
            "status": status,
            "headers": _fields(headers),
            "trailers": _fields(trailers),
            "body": None if body is None else body[:BODY_MAX_BYTES],
        }
        self.ended()

    def looked_at(self, body: bytes) -> None:
        """Says what has been seen of the body of the answer that was reported."""
        if self._response is not None:
            self._response["body"] = body

    def forget(self) -> None:
        """Takes back the answer: nobody waits for it any more, and nothing is judged."""
        self._response = None

    def failure(self, kind: str, cause: str | None = None) -> None:
        """Reports a failure by the contract's name for it, such as ``read-timeout``."""
        self._failure = (kind, cause)
        self.ended()

    def ended(self) -> None:
        """Says that the answer was at its end just now, where it was reported before."""
        self._ended = time.monotonic()

    def delivered(self) -> None:
        """Says that part of the answer was passed on already, so that nothing can be retried."""
        self._delivered = True

    def raised(self, error: BaseException | None) -> None:
        """Takes from an exception what it says of the call, if anything."""
        if self._failure is not None or not isinstance(error, Exception):
            return
        if isinstance(error, FusewireError):
            return
        answered = answer_of(error)
        if answered is None:
            found = failure_of(error, answering=self._response is not None)
            if found is not None:
                self.failure(*found)
        elif self._response is None:
            self.response(*answered)

    def _begin(self) -> None:
        self._began = time.monotonic()

    def _admitted(self, admission: Admission) -> None:
        decision = admission["decision"]
        if "refused" in decision:
            raise Refused(decision["refused"])
        self._permit = decision["allowed"]
        self._limits = admission["limits"]

    def _take_permit(self) -> Permit | None:
        permit, self._permit = self._permit, None
        return permit

    @property
    def _overdue_after(self) -> float | None:
        """After how many s it is told that the call is still under way."""
        return None if self._permit is None else _seconds(self._limits["overdue-ms"])

    def _timing(self, seen: Observation | None, overdue: bool) -> Timing:
        """How long the call took; ``overdue``: whether that was told meanwhile."""
        return {"latency-ms": None if seen is None else seen["latency-ms"], "overdue": overdue}

    def _observation(self, now_ms: int) -> Observation | None:
        """What was seen of the call; ``None``: nothing."""
        if self._response is None and self._failure is None:
            return None
        kind, cause = self._failure or (None, None)
        return {
            "response": self._response,
            "failure": kind,
            "cause": cause,
            "latency-ms": max(0, int((self._ended - self._began) * 1000)),
            "now-ms": now_ms,
            "delivered-partial": self._delivered,
            "idempotent": self._facts.idempotent,
            "expect": self._facts.expect,
            "minimum-budget-ms": ms(self._facts.minimum_budget),
        }


def is_bad(verdict: Verdict) -> bool:
    """Whether there is anything to do about an answer, be it the same call again or another."""
    good = verdict["effect"] in ("success", "slow-success")
    return not good or verdict["retry-same"] or verdict["next-provider"]


def _fields(headers: Headers) -> list[Field]:
    pairs: Any = headers
    for method in ("multi_items", "items"):  # httpx has each value of a field in the first
        if hasattr(headers, method):
            pairs = getattr(headers, method)()
            break
    return [{"name": _text(name), "value": _text(value)} for name, value in pairs]


def _text(value: Any) -> str:
    """A name or value of a header; bytes that are not UTF-8 are replaced."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value).encode(errors="replace").decode()


def _seconds(span_ms: int | None) -> float | None:
    return None if span_ms is None else span_ms / 1000


def ms(seconds: float | None) -> int | None:
    return None if seconds is None else max(0, int(seconds * 1000))
