"""Calls through the guard, over real HTTP."""

from __future__ import annotations

import errno
import logging
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from fusewire import (
    Component,
    Guard,
    MemoryStore,
    Policy,
    Refused,
    StoreUnavailable,
    target,
)
from fusewire.contract import Event
from fusewire.httpx import GuardedTransport
from upstream import Upstream, refused_port

THREE = {"breaker": {"failures": {"count": 3}}}


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def guard(component: Component, events: list[Event]) -> Guard:
    return Guard(Policy(THREE, component=component), on_event=events.append)


def state(guard: Guard, provider: str = "p") -> Any:
    (seen,) = guard.inspect(provider)
    return seen


def through_httpx(url: str) -> Any:
    return httpx.get(url, timeout=patience(url))


def through_urllib(url: str) -> Any:
    return urllib.request.urlopen(url, timeout=patience(url)).read()


def patience(url: str) -> float:
    """How long an answer is waited for, in s: not long for one that does not come."""
    return 0.1 if url.endswith("hang") else 10


def test_three_failures_open_it_and_the_fourth_call_is_not_made(
    guard: Guard, upstream: Upstream, events: list[Event]
) -> None:
    before = upstream.asked("503")
    for _ in range(3):
        with guard.call("p") as call:
            response = through_httpx(upstream.url("503"))
            call.response(response.status_code, response.headers)
    with pytest.raises(Refused) as caught, guard.call("p"):
        through_httpx(upstream.url("503"))
    assert upstream.asked("503") == before + 3
    refused = caught.value
    assert (refused.domain, refused.reason) == ("p", "open")
    assert 29 < refused.retry_after < 34 and "failures" in refused.detail
    assert "p: " in str(refused)
    assert [event["kind"]["transition"]["after"] for event in events] == ["open"]


def test_what_is_not_the_providers_fault_opens_nothing(guard: Guard, upstream: Upstream) -> None:
    for _ in range(5):
        with guard.call("p") as call:
            response = through_httpx(upstream.url("404"))
            call.response(response.status_code, response.headers)
    assert state(guard)["phase"] == "closed"
    assert call.verdict is not None and call.verdict["effect"] != "failure"


def test_a_providers_own_hint_is_read_from_its_headers(guard: Guard, upstream: Upstream) -> None:
    with guard.call("p") as call:
        response = through_httpx(upstream.url("throttled"))
        call.response(response.status_code, response.headers)
    assert call.verdict is not None
    assert call.verdict["outcome"] == "throttled"
    assert call.verdict["retry-after-ms"] == 120_000


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("hang", "read-timeout"),
        ("reset", "reset"),
        ("silence", "reset"),
        ("short", "incomplete-body"),
        ("nonsense", "protocol"),
    ],
)
@pytest.mark.parametrize("ask", [through_httpx, through_urllib])
def test_an_exception_is_told_as_the_failure_that_it_is(
    guard: Guard, upstream: Upstream, path: str, kind: str, ask: Callable[[str], Any]
) -> None:
    with pytest.raises(Exception) as caught, guard.call("p") as call:
        ask(upstream.url(path))
    assert not isinstance(caught.value, AssertionError)
    assert call.verdict is not None
    assert call.verdict["rule"].endswith(kind), (call.verdict, repr(caught.value))


@pytest.mark.parametrize("ask", [through_httpx, through_urllib])
def test_a_refused_connection_and_a_name_that_does_not_exist_are_told_apart(
    guard: Guard, ask: Callable[[str], Any]
) -> None:
    for url, kind in [
        (f"http://127.0.0.1:{refused_port()}/", "connect-refused"),
        ("http://no-such-name.invalid/", "dns-"),
    ]:
        with pytest.raises(OSError if ask is through_urllib else httpx.HTTPError):
            with guard.call("p") as call:
                ask(url)
        assert call.verdict is not None
        assert kind in call.verdict["rule"], call.verdict


def test_a_server_without_tls_fails_the_handshake(guard: Guard, upstream: Upstream) -> None:
    url = upstream.url("200").replace("http:", "https:")
    for ask in (through_httpx, through_urllib):
        with pytest.raises(Exception, match="SSL|ssl"), guard.call("p") as call:
            ask(url)
        assert call.verdict is not None and "tls-handshake" in call.verdict["rule"]


def test_a_connection_that_is_not_made_in_time_is_a_connect_timeout(guard: Guard) -> None:
    # A listener whose queue is full answers no more.
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(address)
            fillers.append(filler)
        url = f"http://127.0.0.1:{address[1]}/hang"
        with pytest.raises(httpx.ConnectTimeout), guard.call("p") as call:
            through_httpx(url)
        assert call.verdict is not None and "connect-timeout" in call.verdict["rule"]
        with pytest.raises(urllib.error.URLError), guard.call("p") as call:
            through_urllib(url)
        assert call.verdict is not None and "connect-timeout" in call.verdict["rule"]
        for filler in fillers:
            filler.close()


def test_an_exception_that_stands_for_an_answer_is_that_answer(
    guard: Guard, upstream: Upstream
) -> None:
    with pytest.raises(httpx.HTTPStatusError), guard.call("p") as call:
        through_httpx(upstream.url("throttled")).raise_for_status()
    assert call.verdict is not None and call.verdict["retry-after-ms"] == 120_000
    with pytest.raises(urllib.error.HTTPError), guard.call("q") as call:
        through_urllib(upstream.url("throttled"))
    assert call.verdict is not None and call.verdict["retry-after-ms"] == 120_000


def test_a_block_left_without_a_word_judges_nothing(guard: Guard) -> None:
    for _ in range(5):
        with guard.call("p") as call:
            pass
        with pytest.raises(KeyError), guard.call("p") as call:
            raise KeyError("the caller's own")
        with pytest.raises(StoreUnavailable), guard.call("p") as call:
            # As of another guard inside this one.
            raise StoreUnavailable from ConnectionRefusedError(errno.ECONNREFUSED, "no store")
        assert call.verdict is None
    assert (state(guard)["successes"], state(guard)["failures"]) == (0, 0)


def test_a_callers_own_error_after_the_answer_leaves_the_answer_as_it_is(guard: Guard) -> None:
    with pytest.raises(KeyError), guard.call("p") as call:
        call.response(200)
        raise KeyError("the caller's own")
    assert call.verdict is not None and call.verdict["outcome"] == "success"


def test_a_failure_by_name_is_taken_and_a_name_unknown_is_a_mistake(guard: Guard) -> None:
    with guard.call("p") as call:
        call.failure("total-timeout", "took too long")
    assert call.verdict is not None and call.verdict["effect"] == "failure"
    with pytest.raises(TypeError, match="'too-slow' is not a case"), guard.call("p") as call:
        call.failure("too-slow")


def test_a_decorated_function_is_guarded_by_what_it_returns(
    guard: Guard, upstream: Upstream
) -> None:
    @guard.guarded(target("p", operation="search"), idempotent=True)
    def search(path: str) -> httpx.Response:
        """Asks."""
        return httpx.get(upstream.url(path))

    assert search.__doc__ == "Asks."
    assert search("200").status_code == 200
    for _ in range(3):
        assert search("503").status_code == 503
    with pytest.raises(Refused):
        search("200")
    assert {seen["domain"] for seen in guard.inspect(target("p", operation="search"))} == {
        "p",
        "p/search",
    }


def test_a_policy_that_traps_lets_the_call_through_and_is_counted(
    guard: Guard, caplog: pytest.LogCaptureFixture
) -> None:
    with guard.call(target("p", operation="x" * (32 << 20))) as call:
        call.response(503)
    assert guard.policy.faults == 1
    assert "goes through unguarded" in caplog.text
    with guard.call("p") as call:
        call.response(200)
    assert call.verdict is not None


def test_a_listener_that_fails_costs_nothing(component: Component) -> None:
    def broken(_: Event) -> None:
        raise ValueError

    guard = Guard(Policy({"breaker": {"failures": {"count": 1}}}, component=component))
    guard._on_event = broken
    with guard.call("p") as call:
        call.response(503)
    with pytest.raises(Refused), guard.call("p"):
        pass


def test_exactly_one_thread_is_the_probe_when_the_cool_down_is_over(component: Component) -> None:
    now = [1_000_000]
    store = MemoryStore(clock=lambda: now[0])
    configuration = {"breaker": {"failures": {"count": 1}, "cool-down": {"jitter": 0}}}
    guard = Guard(Policy(configuration, store=store, component=component))
    with guard.call("p") as call:
        call.response(503)
    now[0] += 30_000
    with guard.call("p") as call:
        assert call.probe
        for _ in range(3):
            with pytest.raises(Refused) as caught, guard.call("p"):
                pass
            assert caught.value.reason == "probe-in-flight"
        call.response(200)
    assert state(guard)["probes-passed"] == 1


def test_a_throttled_account_is_held_back_and_no_other(guard: Guard, upstream: Upstream) -> None:
    events: list[Event] = []
    guard._on_event = events.append
    with guard.call(target("p", account="one")) as call:
        response = through_httpx(upstream.url("throttled"))
        call.response(response.status_code, response.headers)
    assert "held" in events[-1]["kind"] and events[-1]["domain"] == "p@one"
    with pytest.raises(Refused) as caught, guard.call(target("p", account="one")):
        pass
    assert (caught.value.domain, caught.value.reason) == ("p@one", "hold")
    assert 110 < caught.value.retry_after <= 120
    with guard.call(target("p", account="two")):
        pass


def test_a_breaker_that_has_just_closed_lets_a_share_through(component: Component) -> None:
    now = [1_000_000]
    store = MemoryStore(clock=lambda: now[0])
    breaker = {"failures": {"count": 1}, "cool-down": {"jitter": 0}, "probes": {"needed": 1}}
    guard = Guard(Policy({"breaker": breaker}, store=store, component=component))
    with guard.call("p") as call:
        call.response(503)
    now[0] += 30_000
    with guard.call("p") as call:
        call.response(200)

    def share() -> float:
        made = 0
        for _ in range(200):
            try:
                with guard.call("p"):
                    made += 1
            except Refused as refused:
                assert refused.reason == "ramp"
        return made / 200

    assert share() < 0.3
    now[0] += 5_000
    assert 0.3 < share() < 0.8
    now[0] += 5_000
    assert share() == 1


def test_an_operators_order_holds_for_every_guard_and_ends_by_itself(component: Component) -> None:
    now = [1_000_000]
    store = MemoryStore(clock=lambda: now[0])
    desk, worker = (Guard(Policy(store=store, component=component)) for _ in range(2))
    desk.order("p", "open", who="operator@desk", why="maintenance", lasts=60)
    with pytest.raises(Refused, match="operator@desk: maintenance"), worker.call("p"):
        pass
    (order,) = (fact for fact in worker.explain("p") if fact["subject"] == "order")
    assert order["value"] == "open" and "for another 1m" in order["says"]
    now[0] += 60_000
    with worker.call("p"):
        pass
    desk.order("p", "observe", who="operator@desk", why="a trial", enforce_percent=30)
    (order,) = (fact for fact in worker.explain("p") if fact["subject"] == "order")
    assert "30 of a hundred refusals are enforced, until it is cleared" in order["says"]
    desk.clear("p")
    assert [fact["subject"] for fact in worker.explain("p")].count("order") == 0


def test_transitions_are_in_the_log(guard: Guard, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "fusewire"):
        for _ in range(3):
            with guard.call("p") as call:
                call.response(500)
    assert "p: the rule `failures` tripped" in caplog.text


class TestTransport:
    """What goes through an httpx client."""

    def client(self, guard: Guard) -> httpx.Client:
        return httpx.Client(transport=GuardedTransport(guard, target=lambda _: "p"), timeout=10)

    def test_every_request_is_guarded(self, guard: Guard, upstream: Upstream) -> None:
        with self.client(guard) as client:
            assert client.get(upstream.url("200")).text == "ok"
            assert state(guard)["successes"] == 1
            for path in ("503", "hang", "short"):
                try:
                    client.get(upstream.url(path), timeout=patience(path))
                except httpx.HTTPError:
                    pass
            with pytest.raises(Refused):
                client.get(upstream.url("200"))
        assert state(guard)["failures"] == 3

    def test_a_streamed_answer_is_judged_at_its_end(self, guard: Guard, upstream: Upstream) -> None:
        with self.client(guard) as client:
            with client.stream("GET", upstream.url("short")) as response:
                assert state(guard)["failures"] == 0
                with pytest.raises(httpx.RemoteProtocolError):
                    response.read()
                assert state(guard)["failures"] == 1
            with client.stream("GET", upstream.url("200")):
                pass
        assert (state(guard)["successes"], state(guard)["failures"]) == (1, 1)

    def test_a_slow_body_is_a_slow_answer(self, component: Component, upstream: Upstream) -> None:
        guard = Guard(Policy({"slow": "100ms"}, component=component))
        with self.client(guard) as client:
            for path in ("200", "trickle"):
                assert client.get(upstream.url(path)).text == "ok"
        assert (state(guard)["successes"], state(guard)["slow"]) == (2, 1)
