"""From an exception of an HTTP client to the contract's name for it.

No client is imported: exceptions are known by the names of their classes and of those above them,
so httpx, requests, urllib, urllib3 and aiohttp are understood alike, and what is built on them.

Clients wrap exceptions in exceptions. Three questions are asked of the whole chain, one after the
other: is there one whose name says it all? an error of the system (refused, reset, name
resolution, TLS)? and last, from the inside out, a name that says roughly what it was? The words of
an exception are looked at only where its class says nothing.
"""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator
from typing import Any, NamedTuple

_CLIENTS = {
    "aiohttp",
    "botocore",
    "h11",
    "h2",
    "http",
    "httpcore",
    "httpx",
    "requests",
    "urllib",
    "urllib3",
}
"""The packages whose exceptions are known by name. A name alone could be anybody's."""


class Failure(NamedTuple):
    """What failed, as the contract names it, and more about it for people."""

    kind: str
    cause: str


class Answered(NamedTuple):
    """An exception that stands for an answer, such as httpx's ``HTTPStatusError``."""

    status: int
    headers: Any
    body: bytes | None = None
    """Where the client has read it."""


_EXACT = {
    # The time limits, each by its own name.
    "ConnectTimeout": "connect-timeout",
    "ConnectTimeoutError": "connect-timeout",
    "ConnectionTimeoutError": "connect-timeout",
    "ReadTimeout": "read-timeout",
    "ReadTimeoutError": "read-timeout",
    "WriteTimeout": "read-timeout",
    "SocketTimeoutError": "read-timeout",
    "ServerTimeoutError": "read-timeout",
    # Nothing was sent, for a reason on this side.
    "PoolTimeout": "local-resources",
    "EmptyPoolError": "local-resources",
    "InvalidURL": "invalid-request",
    "MissingSchema": "invalid-request",
    "InvalidSchema": "invalid-request",
    "InvalidHeader": "invalid-request",
    "UnsupportedProtocol": "invalid-request",
    "LocalProtocolError": "invalid-request",
    "LocationParseError": "invalid-request",
    # The answer.
    "TooManyRedirects": "too-many-redirects",
    "DecodingError": "content-decoding",
    "ContentDecodingError": "content-decoding",
    "DecodeError": "content-decoding",
    "IncompleteRead": "incomplete-body",
    "ChunkedEncodingError": "incomplete-body",
    "ClientPayloadError": "incomplete-body",
}

_ROUGH = {
    "NameResolutionError": "dns-temporary",
    "ClientConnectorDNSError": "dns-temporary",
    "RemoteProtocolError": "protocol",
    "BadStatusLine": "protocol",
    "ServerDisconnectedError": "reset",
    "HTTPException": "protocol",
    "ConnectError": "connect-refused",
    "NewConnectionError": "connect-refused",
    "ClientConnectorError": "connect-refused",
    "ReadError": "reset",
    "WriteError": "reset",
    "CloseError": "reset",
    "ProtocolError": "reset",
    "ConnectionError": "connect-refused",
    # What every error of a client is at the least: httpx and requests, urllib3, urllib, aiohttp.
    "TransportError": "other",
    "RequestException": "other",
    "RequestError": "other",
    "HTTPError": "other",
    "URLError": "other",
    "ClientError": "other",
}

_CONNECTING = {"ConnectError", "URLError", "NewConnectionError", "ClientConnectorError"}
"""Exceptions that say that the connection was being made."""

_ANSWERS = {"HTTPStatusError", "HTTPError", "ClientResponseError"}
"""Exceptions that stand for an answer."""

_ERRNO = {
    errno.ECONNREFUSED: "connect-refused",
    errno.ECONNRESET: "reset",
    errno.ECONNABORTED: "reset",
    errno.EPIPE: "reset",
    errno.ENETUNREACH: "network-unreachable",
    errno.ENETDOWN: "network-unreachable",
    errno.EHOSTUNREACH: "network-unreachable",
    errno.EADDRNOTAVAIL: "local-resources",
    errno.EMFILE: "local-resources",
    errno.ENFILE: "local-resources",
}

_NO_SUCH_NAME = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}

_MID_BODY = {"reset": "reset-mid-body", "protocol": "incomplete-body"}
"""What a failure is called once the answer has begun."""


def failure_of(error: BaseException, *, answering: bool = False) -> Failure | None:
    """What an exception says about the way to the provider. ``None``: nothing, it is the caller's
    own. ``answering``: the answer had begun."""
    links = list(_chain(error))
    names = [_names(link) for link in links]
    kind = (
        _first(_EXACT, names)
        or _timed_out(links, names)
        or next(filter(None, map(_of_system, links)), None)
        or next((words for link in links if (words := _of_words(link))), None)
        or _first(_ROUGH, names[::-1])
    )
    if kind is None:
        return None
    if answering:
        kind = _MID_BODY.get(kind, kind)
    innermost = links[-1]
    return Failure(kind, f"{type(innermost).__name__}: {innermost}"[:200])


def answer_of(given: Any) -> Answered | None:
    """The answer that an exception stands for: of httpx and requests by their ``response``, of
    urllib and aiohttp by itself. Or the answer that a response is."""
    if isinstance(given, BaseException) and not _names(given) & _ANSWERS:
        return None
    for holder in (getattr(given, "response", None), given):
        headers = getattr(holder, "headers", None)
        for name in ("status_code", "status", "code"):
            status = getattr(holder, name, None)
            if headers is not None and isinstance(status, int):
                return Answered(status, headers, _body_of(holder))
    return None


def _body_of(response: Any) -> bytes | None:
    """The body of a response of httpx, requests or aiohttp that has been read. It is taken from
    where they keep it, since to ask for one that was not would read it, or raise."""
    kept = getattr(response, "__dict__", {})
    request = kept.get("_request") or kept.get("request")
    body = kept.get("_content", kept.get("_body"))
    has_none = getattr(request, "method", kept.get("method")) == "HEAD"
    return body if isinstance(body, bytes) and not has_none else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exceptions inside an exception, from the outside in: its cause, or a ``reason`` or an
    argument that is one itself, as in urllib and urllib3. Not its context: that is whatever was
    being handled, such as another provider's failure."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        inside = (getattr(link, "reason", None), *link.args, link.__cause__)
        link = next((part for part in inside if isinstance(part, BaseException)), None)


def _names(error: BaseException) -> set[str]:
    """The names of an exception's class and of those above it, as far as they are a client's."""
    names = {
        of.__name__ for of in type(error).__mro__ if of.__module__.partition(".")[0] in _CLIENTS
    }
    if "NewConnectionError" in names:
        names.discard("ConnectTimeoutError")  # above it in urllib3 1, whatever went wrong
    return names


def _first(table: dict[str, str], names: list[set[str]]) -> str | None:
    return next((kind for of in names for name, kind in table.items() if name in of), None)


def _timed_out(links: list[BaseException], names: list[set[str]]) -> str | None:
    """What a bare ``TimeoutError`` stands for."""
    timeout = next((link for link in links if type(link) is TimeoutError), None)
    if timeout is None:
        return None
    if any(type(link).__name__ == "CancelledError" for link in links):
        return "total-timeout"  # `asyncio.timeout` around the call
    if any(_CONNECTING & of for of in names):
        return "connect-timeout"
    # With a number it is the kernel's, which gave up a connection that had been made.
    return "reset" if timeout.errno == errno.ETIMEDOUT else "read-timeout"


def _of_system(error: BaseException) -> str | None:
    """What an error of the system says."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "tls-certificate"
    if isinstance(error, ssl.SSLError):
        return "tls-handshake"
    if isinstance(error, socket.gaierror):
        return "dns-not-found" if error.errno in _NO_SUCH_NAME else "dns-temporary"
    if isinstance(error, OSError) and error.errno in _ERRNO:
        return _ERRNO[error.errno]
    if isinstance(error, ConnectionRefusedError):
        return "connect-refused"
    if isinstance(error, (ConnectionResetError, ConnectionAbortedError, BrokenPipeError)):
        return "reset"
    return None


def _of_words(error: BaseException) -> str | None:
    """What h11 says in words alone."""
    if not _names(error):
        return None
    text = str(error)
    if "without sending complete message body" in text or "incomplete chunked read" in text:
        return "incomplete-body"
    if "without sending a response" in text:
        return "reset"
    return None
