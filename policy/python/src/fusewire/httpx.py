"""Transports for httpx that guard every request of a client.

    client = httpx.Client(transport=GuardedTransport(guard))
    client = httpx.AsyncClient(transport=AsyncGuardedTransport(async_guard))

Each host is a provider, unless ``target`` says otherwise. A request is settled when its answer has
been read to the end, has broken off, or is closed. Needs the ``httpx`` package.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

import httpx

from .aio import AsyncCall, AsyncGuard
from .contract import Target
from .guard import Call, Guard

_IDEMPOTENT = {"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}
"""RFC 9110, section 9.2.2."""


class GuardedTransport(httpx.BaseTransport):
    """Guards what goes through another transport."""

    def __init__(
        self,
        guard: Guard,
        transport: httpx.BaseTransport | None = None,
        *,
        target: Callable[[httpx.Request], str | Target] = lambda request: request.url.host,
        limit: float | None = None,
    ) -> None:
        """``limit`` is the longest that a call may last, in s. :class:`~fusewire.guard.Refused` is
        raised where the breaker refuses."""
        self._guard = guard
        self._transport = transport or httpx.HTTPTransport()
        self._target = target
        self._limit = limit

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        call = self._guard.call(
            self._target(request), limit=self._limit, idempotent=request.method in _IDEMPOTENT
        )
        call.__enter__()
        try:
            response = self._transport.handle_request(request)
            call.response(response.status_code, response.headers)
        except BaseException as error:
            call.__exit__(type(error), error, error.__traceback__)
            raise
        assert isinstance(response.stream, httpx.SyncByteStream)
        response.stream = _Guarded(response.stream, call)
        return response

    def close(self) -> None:
        self._transport.close()


class _Guarded(httpx.SyncByteStream):
    """A body whose end is the end of the call."""

    def __init__(self, stream: httpx.SyncByteStream, call: Call) -> None:
        self._stream = stream
        self._call = call

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._stream
        except Exception as error:
            self._call.__exit__(type(error), error, error.__traceback__)
            raise
        self._call.ended()

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
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
    ) -> None:
        """As :class:`GuardedTransport`."""
        self._guard = guard
        self._transport = transport or httpx.AsyncHTTPTransport()
        self._target = target
        self._limit = limit

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        call = self._guard.call(
            self._target(request), limit=self._limit, idempotent=request.method in _IDEMPOTENT
        )
        await call.__aenter__()
        try:
            response = await self._transport.handle_async_request(request)
            call.response(response.status_code, response.headers)
        except BaseException as error:
            await call.__aexit__(type(error), error, error.__traceback__)
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _AsyncGuarded(response.stream, call)
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()


class _AsyncGuarded(httpx.AsyncByteStream):
    """A body whose end is the end of the call."""

    def __init__(self, stream: httpx.AsyncByteStream, call: AsyncCall) -> None:
        self._stream = stream
        self._call = call

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._stream:
                yield part
        except Exception as error:
            await self._call.__aexit__(type(error), error, error.__traceback__)
            raise
        self._call.ended()

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            await self._call.__aexit__(None, None, None)
