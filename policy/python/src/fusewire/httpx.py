"""Transports for httpx that guard every request of a client.

    client = httpx.Client(transport=GuardedTransport(guard))
    client = httpx.AsyncClient(transport=AsyncGuardedTransport(async_guard))

Each host is a provider, unless ``target`` says otherwise. A request is settled when its answer has
been read to the end, has broken off, or is closed. Needs the ``httpx`` package.

Where the policy looks at bodies, the beginning of one is awaited before the answer is handed over,
and handed on from there: an answer that it shows to be bad is settled before anybody has it, and
one that breaks off meanwhile is none. ``response.extensions["fusewire"]`` is the request's call,
whose ``verdict`` says what the answer meant once it is settled.

A probe that the policy gives less time than other calls has its time limits shortened to that, each
of them, and its answer breaks off where all of it takes longer.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx

from .aio import AsyncCall, AsyncGuard
from .contract import Target
from .guard import Call, Guard
from .look import Look
from .report import Report

_IDEMPOTENT = {"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}
"""RFC 9110, section 9.2.2."""

EXTENSION = "fusewire"
"""The name under which a response has its call."""

PRINTED_MAX_BYTES = 64 * 1024
"""How much of a body goes into a fingerprint, with its length: requests that only differ after that
are taken for one, which hides no outage and costs no upload its time."""

_LIMITS = ("connect", "read", "write", "pool")
"""The time limits of httpx. None of them is for all of a request."""


def fingerprint_of(request: httpx.Request) -> int | None:
    """A digest of the method, the URL and the body; ``None`` where the body is streamed, and so
    nobody knows it yet."""
    try:
        body = request.content
    except httpx.RequestNotRead:
        return None
    head = f"{request.method} {request.url}\n{len(body)}\n".encode()
    digest = hashlib.blake2b(head, digest_size=8)
    digest.update(body[:PRINTED_MAX_BYTES])
    return int.from_bytes(digest.digest(), "big")


class GuardedTransport(httpx.BaseTransport):
    """Guards what goes through another transport."""

    def __init__(
        self,
        guard: Guard,
        transport: httpx.BaseTransport | None = None,
        *,
        target: Callable[[httpx.Request], str | Target] = lambda request: request.url.host,
        limit: float | None = None,
        fingerprint: Callable[[httpx.Request], int | None] = fingerprint_of,
    ) -> None:
        """``limit`` is the longest that a call may last, in s; a probe is given a part of it.
        ``fingerprint`` is what tells requests apart, by default by their method, URL and body.
        :class:`~fusewire.guard.Refused` is raised where the breaker refuses."""
        self._guard = guard
        self._transport = transport or httpx.HTTPTransport()
        self._target = target
        self._limit = limit
        self._fingerprint = fingerprint

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        call = self._guard.call(
            self._target(request),
            limit=self._limit,
            fingerprint=self._fingerprint(request),
            idempotent=request.method in _IDEMPOTENT,
        )
        call.__enter__()
        extensions = request.extensions
        try:
            request.extensions = _hurried(call, request)
            response = self._transport.handle_request(request)
        except BaseException as error:
            call.__exit__(type(error), error, error.__traceback__)
            raise
        finally:
            # Whoever sends it again, or goes on from it, has all of the time.
            request.extensions = extensions
        look = _reported(call, request, response)
        assert isinstance(response.stream, httpx.SyncByteStream)
        body = _Guarded(response.stream, call, look)
        if look is not None:
            body.look_ahead()
        if response.is_closed:  # read before it came here, as a cache's is: nobody will read it
            call.settle()
        response.stream = body
        return response

    def close(self) -> None:
        self._transport.close()


class _Guarded(httpx.SyncByteStream):
    """A body whose end is the end of the call."""

    def __init__(self, stream: httpx.SyncByteStream, call: Call, look: Look | None) -> None:
        self._stream = stream
        self._rest = iter(stream)
        self._ahead: deque[bytes] = deque()
        self._call = call
        self._look = look

    def look_ahead(self) -> None:
        """Fetches as many parts as there is to look at, and settles the call where that is all, or
        bad."""
        look = self._look
        assert look is not None
        try:
            while not look.enough:
                part = next(self._rest, None)
                if part is None:
                    look.end()
                    self._call.ended()
                else:
                    _in_time(self._call)
                    look.take(part)
                    self._ahead.append(part)
            _looked(self._call, look)
            if look.is_whole or look.broken is not None:
                self._call.settle()
            else:
                self._call.settle_if_bad()
        except BaseException as error:
            _broke_off(self._call, look, error)
            self._call.__exit__(type(error), error, error.__traceback__)
            self._stream.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        try:
            while self._ahead:
                yield self._ahead.popleft()
            for part in self._rest:
                _in_time(self._call)
                if self._look is not None:
                    self._look.take(part)
                yield part
        except Exception as error:
            _looked(self._call, self._look)
            self._call.__exit__(type(error), error, error.__traceback__)
            raise
        self._call.ended()

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            _looked(self._call, self._look)
            self._call.settle()


class AsyncGuardedTransport(httpx.AsyncBaseTransport):
    """The same for :class:`httpx.AsyncClient`."""

    def __init__(
        self,
        guard: AsyncGuard,
        transport: httpx.AsyncBaseTransport | None = None,
        *,
        target: Callable[[httpx.Request], str | Target] = lambda request: request.url.host,
        limit: float | None = None,
        fingerprint: Callable[[httpx.Request], int | None] = fingerprint_of,
    ) -> None:
        """As :class:`GuardedTransport`."""
        self._guard = guard
        self._transport = transport or httpx.AsyncHTTPTransport()
        self._target = target
        self._limit = limit
        self._fingerprint = fingerprint

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        call = self._guard.call(
            self._target(request),
            limit=self._limit,
            fingerprint=self._fingerprint(request),
            idempotent=request.method in _IDEMPOTENT,
        )
        await call.__aenter__()
        extensions = request.extensions
        try:
            request.extensions = _hurried(call, request)
            response = await self._transport.handle_async_request(request)
        except BaseException as error:
            await call.__aexit__(type(error), error, error.__traceback__)
            raise
        finally:
            # Whoever sends it again, or goes on from it, has all of the time.
            request.extensions = extensions
        look = _reported(call, request, response)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        body = _AsyncGuarded(response.stream, call, look)
        if look is not None:
            await body.look_ahead()
        if response.is_closed:
            await call.__aexit__(None, None, None)
        response.stream = body
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()


class _AsyncGuarded(httpx.AsyncByteStream):
    """A body whose end is the end of the call."""

    def __init__(self, stream: httpx.AsyncByteStream, call: AsyncCall, look: Look | None) -> None:
        self._stream = stream
        self._rest = aiter(stream)
        self._ahead: deque[bytes] = deque()
        self._call = call
        self._look = look

    async def look_ahead(self) -> None:
        """As :meth:`_Guarded.look_ahead`."""
        look = self._look
        assert look is not None
        try:
            while not look.enough:
                part = await anext(self._rest, None)
                if part is None:
                    look.end()
                    self._call.ended()
                else:
                    _in_time(self._call)
                    look.take(part)
                    self._ahead.append(part)
            _looked(self._call, look)
            if look.is_whole or look.broken is not None:
                await self._call.__aexit__(None, None, None)
            else:
                await self._call.settle_if_bad()
        except BaseException as error:
            _broke_off(self._call, look, error)
            await self._call.__aexit__(type(error), error, error.__traceback__)
            await self._stream.aclose()
            raise

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while self._ahead:
                yield self._ahead.popleft()
            async for part in self._rest:
                _in_time(self._call)
                if self._look is not None:
                    self._look.take(part)
                yield part
        except Exception as error:
            _looked(self._call, self._look)
            await self._call.__aexit__(type(error), error, error.__traceback__)
            raise
        self._call.ended()

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            _looked(self._call, self._look)
            await self._call.__aexit__(None, None, None)


def _hurried(call: Report, request: httpx.Request) -> dict[str, Any]:
    """The extensions of a request, with no time limit longer than the policy lets it last."""
    total = call.total
    if total is None:
        return request.extensions
    given = request.extensions.get("timeout", {})
    limits = {name: given.get(name) for name in _LIMITS}
    shortened = {
        name: total if limit is None else min(limit, total) for name, limit in limits.items()
    }
    return {**request.extensions, "timeout": shortened}


def _in_time(call: Report) -> None:
    """Breaks an answer off that takes longer than the policy lets it last."""
    left = call.left
    if left is not None and left <= 0:
        cause = f"the answer to a probe is to take {call.total} s at most"
        call.failure("total-timeout", cause)
        raise httpx.ReadTimeout(cause)


def _reported(
    call: Call | AsyncCall, request: httpx.Request, response: httpx.Response
) -> Look | None:
    """Reports the head of an answer, and says what will be looked at of its body."""
    call.response(response.status_code, response.headers)
    response.extensions[EXTENSION] = call
    return Look.at(request.method, response.status_code, response.headers, call.wanted)


def _looked(call: Report, look: Look | None) -> None:
    """Reports what has been seen of the body."""
    if look is not None:
        call.looked_at(look.body)
        if look.broken is not None:
            call.failure("content-decoding", look.broken)


def _broke_off(call: Report, look: Look, error: BaseException) -> None:
    """Reports what was looked at of a body that did not come any further, unless it was the caller
    who went away: then there is nothing to judge."""
    if isinstance(error, Exception):
        _looked(call, look)
    else:
        call.forget()
