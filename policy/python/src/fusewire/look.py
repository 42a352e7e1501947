"""The beginning of a body, as the policy is shown it: kept while it passes, decoded, and never more
than the policy looks at.

Below an HTTP client's own decoding a body is as it was sent, so it is decoded here once more, as
far as it is looked at. Only ``gzip`` and ``deflate`` are known here; of a body with another coding
nobody can say what is in it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping

from .contract import Wanted
from .evidence import has_no_body

_CODED = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}


class Look:
    """What is looked at of one body."""

    def __init__(self, most: int, coding: str, *, events: bool) -> None:
        """``most`` is in bytes; ``events``: the body is a stream of events."""
        self._most = most
        self._decoder = _Decoder(_CODED[coding]) if coding in _CODED else None
        self._first_event = FirstEvent() if events else None
        self._has_first_event = False
        self._taken = 0
        self._seen = bytearray()
        self.is_whole = False
        """Whether the body has ended."""
        self.broken: str | None = None
        """Why the body could not be decoded, where it could not."""

    @classmethod
    def at(
        cls, method: str, status: int, headers: Mapping[str, str], wanted: Wanted
    ) -> Look | None:
        """``None``: there is no body by its kind, or the policy does not look."""
        coding = headers.get("content-encoding", "").strip().lower()
        if method == "HEAD" or has_no_body(status):
            return None
        if wanted["body-bytes"] == 0 or coding not in {"", "identity", *_CODED}:
            return None
        media = headers.get("content-type", "").lower()
        return cls(wanted["body-bytes"], coding, events=media.startswith("text/event-stream"))

    def take(self, part: bytes) -> None:
        """Keeps what is looked at of the next part."""
        room = self._most - len(self._seen)
        if room == 0 or self.broken is not None:
            return
        self._taken += len(part)
        try:
            kept = part[:room] if self._decoder is None else self._decoder.decoded(part, room)
        except zlib.error as error:
            self.broken = str(error)
            return
        self._seen += kept
        if self._first_event is not None and not self._has_first_event:
            self._has_first_event = self._first_event.is_in(kept)

    def end(self) -> None:
        """Says that nothing more will come."""
        self.is_whole = True

    @property
    def enough(self) -> bool:
        """Whether what has come shows how it stands: of a stream of events the first one, so that
        what follows is not held back."""
        return (
            self._has_first_event
            or self.is_whole
            or self.broken is not None
            or len(self._seen) == self._most
            # What does not grow when it is decoded must not be held for ever.
            or self._taken >= self._most
        )

    @property
    def body(self) -> bytes:
        """What has come so far."""
        return bytes(self._seen)


class _Decoder:
    """Decodes the beginning of what zlib can decode."""

    def __init__(self, window_bits: int) -> None:
        self._inner = zlib.decompressobj(window_bits)
        self._begun = False
        self._may_be_raw = window_bits == zlib.MAX_WBITS

    def decoded(self, part: bytes, most: int) -> bytes:
        """What is in the next part, at most so many bytes."""
        try:
            found = self._inner.decompress(part, most)
        except zlib.error:
            # By `deflate` some servers mean the bare format, without zlib's frame.
            if self._begun or not self._may_be_raw:
                raise
            self._inner = zlib.decompressobj(-zlib.MAX_WBITS)
            found = self._inner.decompress(part, most)
        self._begun = True
        return found


_DATA = re.compile(rb"(\xef\xbb\xbf)?data(:|$)")
"""A line with data, after the byte order mark that a stream may begin with."""

_LINE_BYTES = 8
"""As much of a line as that takes."""


class FirstEvent:
    """Where the first event of a ``text/event-stream`` is over, by the grammar of the HTML standard
    (section 9.2.6): a block of lines with data, and an empty line. Comments, which keep a
    connection alive, and fields without data are no event."""

    def __init__(self) -> None:
        self._line = b""
        self._has_data = False
        self._after_cr = False

    def is_in(self, part: bytes) -> bool:
        """Whether the first event ends in the next part of the stream."""
        for line in part.splitlines(keepends=True):
            if line == b"\n" and self._after_cr:
                self._after_cr = False  # the second half of a line's end
                continue
            text = line.rstrip(b"\r\n")
            self._line = (self._line + text[:_LINE_BYTES])[:_LINE_BYTES]
            self._after_cr = line.endswith(b"\r")
            if len(text) == len(line):
                return False  # the line goes on in the next part
            if not self._line and self._has_data:
                return True
            self._has_data = bool(self._line) and (
                self._has_data or _DATA.match(self._line) is not None
            )
            self._line = b""
        return False
