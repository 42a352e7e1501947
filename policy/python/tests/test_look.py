"""What is looked at of a body."""

from __future__ import annotations

import zlib

import pytest

from fusewire.contract import Wanted
from fusewire.look import FirstEvent, Look


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("data: one\n\n", "data: two\n\n"),
        ("data: one\r\n\r", "\ndata: two"),
        ("data\r\r", ""),
        ("\ufeffdata: one\n\n", "x"),
        (": wait\n\n\nretry: 9\n\nevent: a\ndata: {\ndata: }\n\n", ": x\n\n"),
        ("dataset: no\n\ndata:yes\n\n", ""),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_the_first_event_is_over_at_the_empty_line_however_it_comes(
    text: str, rest: str, size: int
) -> None:
    first, whole, seen = FirstEvent(), (text + rest).encode(), 0
    while seen < len(whole):
        part = whole[seen : seen + size]
        seen += len(part)
        if first.is_in(part):
            break
    ends = len(text.encode())
    assert ends <= seen < ends + size


def test_a_stream_that_has_nothing_but_comments_has_no_first_event() -> None:
    assert not FirstEvent().is_in(b": a\n\n: b\r\n\r\nid: 1\n\nevent: x\n\n")


def look(method: str = "GET", status: int = 200, most: int = 100, **headers: str) -> Look | None:
    wanted: Wanted = {"body-bytes": most, "headers": None, "trailers": False}
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return Look.at(method, status, fields, wanted)


def test_a_body_is_looked_at_where_there_can_be_one_and_a_rule_asks_for_it() -> None:
    assert look() and look(status=503) and look(content_encoding="GZIP")
    assert look(content_encoding="identity")
    assert look(most=0) is None
    assert look("HEAD") is None
    assert look(status=204) is None and look(status=304) is None and look(status=101) is None
    assert look(content_encoding="br") is None
    assert look(content_encoding="gzip, gzip") is None


def packed(text: bytes, window_bits: int) -> bytes:
    packer = zlib.compressobj(wbits=window_bits)
    return packer.compress(text) + packer.flush()


@pytest.mark.parametrize(
    ("coding", "window_bits"),
    [
        ("gzip", zlib.MAX_WBITS | 16),
        ("deflate", zlib.MAX_WBITS),
        ("deflate", -zlib.MAX_WBITS),
    ],
)
@pytest.mark.parametrize("size", [2, 7, 1000])
def test_a_coded_body_is_decoded_as_far_as_it_is_looked_at(
    coding: str, window_bits: int, size: int
) -> None:
    text = b"a place, " * 100_000
    whole = packed(text, window_bits)
    seen = look(most=65_536, content_encoding=coding)
    assert seen is not None
    taken = 0
    while not seen.enough:
        seen.take(whole[taken : taken + size])
        taken += size
    assert seen.body == text[: len(seen.body)]
    assert len(seen.body) == 65_536 and seen.broken is None


def test_a_body_that_cannot_be_decoded_is_broken_and_enough() -> None:
    seen = look(content_encoding="gzip")
    assert seen is not None
    seen.take(b"this is not gzip")
    assert seen.enough and seen.broken is not None and seen.body == b""


def test_what_does_not_grow_when_it_is_decoded_is_not_held_for_ever() -> None:
    seen = look(most=1000, content_encoding="gzip")
    assert seen is not None
    empty = packed(b"", zlib.MAX_WBITS | 16)
    for _ in range(1000):
        if not seen.enough:
            seen.take(empty)
    assert seen.enough and seen.body == b""


def test_no_more_is_kept_than_is_looked_at() -> None:
    seen = look(most=25_000)
    assert seen is not None
    for parts in range(5):
        assert seen.enough == (parts >= 3)
        seen.take(bytes([parts]) * 10_000)
    assert len(seen.body) == 25_000 and seen.body[-1] == 2
