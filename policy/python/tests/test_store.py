"""What every store promises, in short: the whole of the contract is tested through `drive.py`."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from redis._parsers.base import BaseParser

from asking import fresh_prefix
from fusewire.errors import StoreRefused, StoreUnavailable
from fusewire.store import MemoryStore
from fusewire.store._commands import NoScriptError, Rest, again, judge
from fusewire.store.aredis import AsyncRedisStore
from fusewire.store.clock import Clock, Sample
from fusewire.store.redis import RedisStore
from redis_server import RedisServer
from waiting import wait_for


class Waited:
    """A store that answers later, waited for."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._loop = asyncio.new_event_loop()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            return self._loop.run_until_complete(getattr(self._store, name)(*arguments))

        return call


@pytest.fixture(params=["memory", "redis", "aredis"])
def store(request: pytest.FixtureRequest, redis_server: RedisServer) -> Iterator[Any]:
    if request.param == "memory":
        yield MemoryStore()
        return
    if request.param == "redis":
        opened: Any = RedisStore(redis_server.url, limit=5)
    else:
        opened = Waited(AsyncRedisStore(redis_server.url, limit=5))
    yield opened
    opened.close()


@pytest.fixture
def key() -> str:
    return f"{fresh_prefix()}:k"


def window(key: str, **fields: Any) -> Any:
    given = {"key": key, "epoch": 1, "bucket": 0, "add": [], "since": 0, "ttl-ms": 60_000}
    given.update({name.replace("_", "-"): value for name, value in fields.items()})
    return given


def lanes(**amounts: int) -> Any:
    return [{"name": name, "amount": amount} for name, amount in amounts.items()]


def test_a_swap_replaces_only_what_is_expected(store: Any, key: str) -> None:
    every = bytes(range(256))
    assert store.swap(key, None, every, 60_000)
    for wrong in (None, b"", every + b"\0"):
        assert not store.swap(key, wrong, b"x", 60_000)
    assert store.get([f"{key}1", key, key]) == [None, every, every]
    assert store.swap(key, every, b"", 60_000) and store.get([key]) == [b""]
    assert store.swap(key, b"", None, 0) and store.get([key]) == [None]
    assert store.get([]) == []


def test_a_lifetime_ends_and_nothing_refused_extends_it(store: Any, key: str) -> None:
    began = time.monotonic()
    store.swap(key, None, b"x", 100)
    store.count([window(f"{key}c", epoch=2, add=lanes(a=1), ttl_ms=100)])

    def gone() -> bool:
        store.swap(key, b"y", b"z", 60_000)
        store.count([window(f"{key}c", epoch=2)])
        (counter,) = store.count([window(f"{key}c", add=lanes(a=1))])
        return store.get([key]) == [None] and counter["epoch"] == 1

    wait_for(gone, "both are gone")
    assert time.monotonic() - began >= 0.095


def test_counters_sum_saturate_and_drop_old_buckets(store: Any, key: str) -> None:
    most = 2**53 - 1
    (tally,) = store.count([window(key, add=[*lanes(slow=1, failure=2), *lanes(failure=1)])])
    assert tally == {"epoch": 1, "lanes": lanes(failure=3, slow=1)}
    (tally,) = store.count([window(key, bucket=10, since=10, add=lanes(failure=2**64 - 1))])
    assert tally == {"epoch": 1, "lanes": lanes(failure=most)}
    assert store.count([window(key)]) == [{"epoch": 1, "lanes": lanes(failure=most)}]


def test_a_newer_epoch_takes_a_counter_over_and_an_older_one_is_told(store: Any, key: str) -> None:
    last = 2**64 - 1
    store.count([window(key, epoch=last - 1, add=lanes(a=5))])
    newer, older, read = store.count(
        [
            window(key, epoch=last, add=lanes(a=1)),
            window(key, epoch=last - 1, add=lanes(a=1)),
            window(key, epoch=last),
        ]
    )
    assert newer == read == {"epoch": last, "lanes": lanes(a=1)}
    assert older == {"epoch": last, "lanes": []}
    assert store.count([window(f"{key}x")]) == [{"epoch": 0, "lanes": []}]


def test_the_other_kind_of_key_is_refused(store: Any, key: str) -> None:
    store.swap(key, None, b"x", 60_000)
    store.count([window(f"{key}c", add=lanes(a=1))])
    for operation in (
        lambda: store.get([f"{key}c"]),
        lambda: store.swap(f"{key}c", None, b"x", 60_000),
        lambda: store.count([window(key)]),
        lambda: store.count([window(key, add=lanes(a=1))]),
    ):
        with pytest.raises(StoreRefused):
            operation()


def test_what_the_contract_does_not_allow_is_refused(store: Any, key: str) -> None:
    for operation in (
        lambda: store.get([""]),
        lambda: store.get(["ö" * 257]),
        lambda: store.swap("", None, b"x", 0),
        lambda: store.swap(key, None, bytes(64 * 1024 + 1), 0),
        lambda: store.count([window("", add=lanes(a=1))]),
        lambda: store.count([window(key, add=lanes(a=1), ttl_ms=0)]),
        lambda: store.count([window(key, add=lanes(A=1))]),
        lambda: store.count([window(key, add=[{"name": "", "amount": 1}])]),
        lambda: store.count([window(key, add=[{"name": "a" * 17, "amount": 1}])]),
        lambda: store.count([window(key, add=[{"name": "a\n", "amount": 1}])]),
    ):
        with pytest.raises(StoreRefused):
            operation()
    assert store.get([key]) == [None]
    assert store.swap(key.ljust(512, "k"), None, bytes(64 * 1024), 1)
    assert store.count([window(key, ttl_ms=0, add=lanes(a=0))]) == [{"epoch": 0, "lanes": []}]


def test_of_many_threads_that_create_a_value_one_wins_and_no_add_is_lost(
    redis_server: RedisServer, key: str
) -> None:
    for store in (MemoryStore(), RedisStore(redis_server.url, limit=5)):
        start = threading.Barrier(8)

        def work(name: int, store: Any = store, start: threading.Barrier = start) -> bool:
            start.wait()
            for _ in range(20):
                store.count([window(f"{key}c", add=lanes(a=1))])
            return bool(store.swap(key, None, str(name).encode(), 60_000))

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(8))).count(True) == 1
        assert store.count([window(f"{key}c")]) == [{"epoch": 1, "lanes": lanes(a=160)}]


def test_memory_does_not_grow_with_keys_long_gone() -> None:
    now = [0]
    store = MemoryStore(clock=lambda: now[0])
    for ms in range(20_000):
        now[0] = ms
        store.swap(f"k{ms}", None, b"x", 1_000)
        assert store.held() <= 2_100


def test_after_a_pause_one_caller_tries_a_server_and_the_others_are_told_as_before() -> None:
    rest = Rest()
    rest.check(0.0, "there")
    rest.failed(0.0)
    for now in (0.01, 0.049):
        with pytest.raises(StoreUnavailable):
            rest.check(now, "there")
    rest.check(0.06, "there")
    with pytest.raises(StoreUnavailable):
        rest.check(0.06, "there")
    rest.answered()
    rest.check(0.06, "there")
    for _ in range(10):
        rest.failed(1.0)
    rest.check(2.01, "there")


def test_windows_that_read_after_an_unknown_script_are_read_again() -> None:
    unknown = NoScriptError("No matching script")
    adding, reading = window("k", add=lanes(a=1)), window("k")
    windows = [adding, reading, adding, reading]
    assert again(windows, [[b"1"]] * 4) == []
    # Another host brought the script after the first was asked.
    assert again(windows, [unknown, [b"0"], [b"1"], [b"1"]]) == [0, 1, 3]
    assert again(windows, [[b"1"], [b"1"], unknown, unknown]) == [2, 3]


def test_a_server_that_is_gone_slows_nobody_down_and_is_found_again(
    own_redis: RedisServer, key: str
) -> None:
    store = RedisStore(own_redis.url)
    assert store.swap(key, None, b"x", 0)
    own_redis.stop()
    began = time.monotonic()
    for _ in range(200):
        with pytest.raises(StoreUnavailable):
            store.get([key])
    assert time.monotonic() - began < 1
    own_redis.start()
    wait_for(lambda: is_up(lambda: store.get([key])), "the store answers")
    # Its scripts are gone with it.
    assert store.swap(key, None, b"x", 0)
    (tally,) = store.count([window(f"{key}c", add=lanes(a=1))])
    assert tally["lanes"] == lanes(a=1)


def is_up(operation: Callable[[], Any]) -> bool:
    try:
        operation()
    except StoreUnavailable:
        return False
    return True


@pytest.mark.parametrize("kind", [RedisStore, AsyncRedisStore])
def test_a_server_that_hangs_is_waited_for_50_ms_and_then_left_alone(
    own_redis: RedisServer, key: str, kind: Any
) -> None:
    store = kind(own_redis.url)
    if inspect.iscoroutinefunction(store.get):
        store = Waited(store)
    assert store.get([key]) == [None]
    own_redis.freeze()
    spans = []
    for _ in range(50):
        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            store.swap(key, None, b"x", 0)
        spans.append(time.monotonic() - began)
    assert spans[0] < 0.5, "the client's own limit is 5 s"
    assert sorted(spans)[25] < 0.01, "most are told at once"
    own_redis.thaw()
    wait_for(lambda: is_up(lambda: store.get([key])), "the store answers")
    assert [store.get([f"{key}x"]) for _ in range(20)] == [[None]] * 20
    store.close()


def test_a_script_that_the_server_forgot_is_sent_again_and_no_add_is_lost(
    own_redis: RedisServer, key: str
) -> None:
    store = RedisStore(own_redis.url)
    windows = [window(key, add=lanes(a=1)), window(key), window(key, add=lanes(a=1))]
    for round_ in (1, 2):
        own_redis.client().script_flush()
        sums = [tally["lanes"][0]["amount"] for tally in store.count(windows)]
        assert sums == [2 * round_ - 1, 2 * round_ - 1, 2 * round_]
    own_redis.client().script_flush()
    assert store.swap(f"{key}v", None, b"x", 0)


def test_a_wrong_password_is_refused_and_named_nowhere(key: str) -> None:
    with RedisServer(password="right") as server:
        good = RedisStore(server.url.replace("//", "//:right@"))
        assert good.get([key]) == [None]
        for url in (server.url, server.url.replace("//", "//:wr0ng@")):
            store = RedisStore(url)
            with pytest.raises(StoreRefused) as caught:
                store.get([key])
            assert "wr0ng" not in str(caught.value)
            assert store.address == f"127.0.0.1:{server.port}"


def test_a_url_that_makes_no_sense_is_refused_without_the_password() -> None:
    for url in ("", "host:6379", "http://u:s3cret@host:6379", "redis://u:s3cret@host:port"):
        with pytest.raises(StoreRefused, match="redis://host:6379/0") as caught:
            RedisStore(url)
        assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        "LOADING Redis is loading the dataset in memory",
        "READONLY You can't write against a read only replica.",
        "CLUSTERDOWN The cluster is down",
        "MASTERDOWN Link with MASTER is down",
        "TRYAGAIN Multiple keys request during rehashing of slot",
        "BUSY Redis is busy running a script.",
        "NOREPLICAS Not enough good replicas to write.",
        "MISCONF Redis is configured to save RDB snapshots",
        "ERR Error running script (call to f_0): @user_script:3: -READONLY You can't write",
    ],
)
def test_a_state_that_passes_by_itself_is_out_of_reach(line: str) -> None:
    assert isinstance(judge(BaseParser.parse_error(line), "get", "there"), StoreUnavailable)


@pytest.mark.parametrize(
    "line",
    [
        "WRONGTYPE Operation against a key holding the wrong kind of value",
        "ERR value is not an integer or out of range",
        "NOPERM this user has no permissions to run the 'eval' command",
        "NOAUTH Authentication required.",
        "OOM command not allowed when used memory > 'maxmemory'.",
        "CROSSSLOT Keys in request don't hash to the same slot",
        "MOVED 3999 127.0.0.1:6381",
    ],
)
def test_what_the_server_will_not_do_is_refused(line: str) -> None:
    assert isinstance(judge(BaseParser.parse_error(line), "get", "there"), StoreRefused)


def test_the_clock_is_the_servers_and_not_this_hosts(redis_server: RedisServer) -> None:
    store = RedisStore(redis_server.url, limit=5)
    store._clock._wall_us += 3_600_000_000  # as on a host that is an hour ahead
    now = store.now_ms()
    seconds, _ = redis_server.client().time()
    assert abs(now / 1000 - seconds) < 5


def test_a_host_whose_clock_is_an_hour_off_agrees_with_the_fleet() -> None:
    hour_us = 3_600_000_000
    clock = Clock()
    before = clock.now_ms()
    clock.follow([Sample(9 * hour_us, 40_000), Sample(hour_us, 100)])
    assert abs(clock.now_ms() - before - 3_600_000) < 1_000
    moved = clock._offset_us
    clock.follow([Sample(hour_us + 4_000, 5_000)])
    assert clock._offset_us == moved, "what a vague measurement cannot tell is kept"
    clock.follow([Sample(hour_us + 4_000, 100)])
    assert clock._offset_us == hour_us + 4_000
