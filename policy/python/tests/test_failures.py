"""From exceptions to the contract's names for failures."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from typing import Any

import httpx
import pytest

from fusewire.failures import answer_of, failure_of


def kind(error: BaseException, *, answering: bool = False) -> str | None:
    found = failure_of(error, answering=answering)
    return found.kind if found else None


def of(module: str, name: str, *above: type[Any]) -> type[Any]:
    """A class as another package would have it."""
    return type(name, above or (Exception,), {"__module__": module})


def raised(error: BaseException, cause: BaseException | None) -> BaseException:
    error.__cause__ = cause
    return error


CONNECT = of("requests.exceptions", "ConnectionError", OSError)
POOL = of("urllib3.exceptions", "MaxRetryError")
NEW = of(
    "urllib3.exceptions", "NewConnectionError", of("urllib3.exceptions", "ConnectTimeoutError")
)
NAME = of("urllib3.exceptions", "NameResolutionError", NEW)
PROTOCOL = of("urllib3.exceptions", "ProtocolError")
CONNECTOR = of("aiohttp.client_exceptions", "ClientConnectorError", OSError)


def pool_error(reason: BaseException) -> BaseException:
    """As requests raises it: around urllib3's, which has the reason."""
    outer = POOL("max retries")
    outer.reason = reason  # type: ignore[attr-defined]
    return CONNECT(outer)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (httpx.ConnectTimeout("x"), "connect-timeout"),
        (httpx.ReadTimeout("x"), "read-timeout"),
        (httpx.WriteTimeout("x"), "read-timeout"),
        (httpx.PoolTimeout("x"), "local-resources"),
        (httpx.TooManyRedirects("x"), "too-many-redirects"),
        (httpx.DecodingError("x"), "content-decoding"),
        (httpx.UnsupportedProtocol("x"), "invalid-request"),
        (httpx.InvalidURL("x"), "invalid-request"),
        (httpx.RemoteProtocolError("illegal status line"), "protocol"),
        (raised(httpx.ConnectError("x"), ssl.SSLCertVerificationError(1, "x")), "tls-certificate"),
        (raised(httpx.ConnectError("x"), ssl.SSLError(1, "x")), "tls-handshake"),
        (raised(httpx.ReadError("x"), ConnectionResetError(errno.ECONNRESET, "x")), "reset"),
        (raised(httpx.ConnectError("x"), OSError(errno.EMFILE, "x")), "local-resources"),
        (raised(httpx.ConnectError("x"), OSError(errno.ENETUNREACH, "x")), "network-unreachable"),
        (httpx.ConnectError("x"), "connect-refused"),
        (socket.gaierror(socket.EAI_NONAME, "x"), "dns-not-found"),
        (socket.gaierror(socket.EAI_AGAIN, "x"), "dns-temporary"),
        (TimeoutError("timed out"), "read-timeout"),
        (TimeoutError(errno.ETIMEDOUT, "x"), "reset"),
        (raised(TimeoutError(), asyncio.CancelledError()), "total-timeout"),
        (pool_error(NEW("x", ConnectionRefusedError(errno.ECONNREFUSED, "x"))), "connect-refused"),
        (pool_error(NEW("no more")), "connect-refused"),
        (raised(pool_error(NAME("x")), None), "dns-temporary"),
        (pool_error(raised(NAME("x"), socket.gaierror(socket.EAI_NONAME, "x"))), "dns-not-found"),
        (pool_error(of("urllib3.exceptions", "ReadTimeoutError")("x")), "read-timeout"),
        (CONNECT(PROTOCOL("aborted", ConnectionResetError(errno.ECONNRESET, "x"))), "reset"),
        (of("requests.exceptions", "ConnectTimeout", CONNECT)("x"), "connect-timeout"),
        (of("requests.exceptions", "ChunkedEncodingError")("x"), "incomplete-body"),
        (CONNECTOR(errno.ECONNREFUSED, "x"), "connect-refused"),
        (of("aiohttp.client_exceptions", "ServerDisconnectedError")("x"), "reset"),
        (of("aiohttp.client_exceptions", "SocketTimeoutError", TimeoutError)("x"), "read-timeout"),
        (of("my.client", "Wrapped", httpx.ReadTimeout)("x"), "read-timeout"),
        (of("requests.exceptions", "RequestException")("x"), "other"),
    ],
    ids=str,
)
def test_a_failure_has_the_contracts_name(error: BaseException, expected: str) -> None:
    assert kind(error) == expected


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"),
        FileNotFoundError(errno.ENOENT, "x"),
        of("jwt.exceptions", "DecodeError")("x"),
        of("starlette.exceptions", "HTTPException")("x"),
        of("redis.exceptions", "ConnectionError")("x"),
        asyncio.CancelledError(),
    ],
    ids=repr,
)
def test_what_is_the_callers_own_is_no_failure_of_the_provider(error: BaseException) -> None:
    assert kind(error) is None


def test_once_the_answer_has_begun_a_reset_is_one_in_the_middle() -> None:
    reset = raised(httpx.ReadError("x"), ConnectionResetError(errno.ECONNRESET, "x"))
    assert kind(reset, answering=True) == "reset-mid-body"
    assert kind(httpx.ReadTimeout("x"), answering=True) == "read-timeout"


def test_a_failure_in_a_fallback_is_not_taken_for_the_one_before_it() -> None:
    try:
        try:
            raise httpx.ReadTimeout("the first provider")
        except httpx.ReadTimeout:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "the second") from None
    except ConnectionRefusedError as error:
        assert kind(error) == "connect-refused"
    try:
        try:
            raise httpx.ReadTimeout("the first provider")
        except httpx.ReadTimeout:
            raise KeyError("the caller's own")  # noqa: B904  the context is the point
    except KeyError as error:
        assert kind(error) is None


def test_an_exception_with_a_status_of_its_own_is_an_answer_only_where_it_is_a_clients() -> None:
    answer = of("aiohttp.client_exceptions", "ClientResponseError")("x")
    answer.status, answer.headers = 503, {"Retry-After": "1"}
    assert answer_of(answer) == (503, {"Retry-After": "1"}, None)
    own = of("starlette.exceptions", "HTTPException")("x")
    own.status_code, own.headers = 502, {}
    assert answer_of(own) is None
