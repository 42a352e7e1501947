"""What the policy looks at reaches it, and the caller has the answer as it came."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from asking import context
from fusewire import Component, Guard, Policy, PolicyFault, Refused, target
from fusewire.aio import AsyncGuard, AsyncPolicy
from fusewire.contract import Observation, Target, Verdict
from fusewire.httpx import AsyncGuardedTransport, GuardedTransport
from older import older
from upstream import PLACES, Upstream

# Here it is about what is seen in an answer, and not about what follows from it.
GOOGLE: Any = {
    "breaker": {"holds": False},
    "providers": {"google": {"profile": "google-geocoding"}},
}
ARCGIS = {"providers": {"arcgis": {"profile": "arcgis"}}}

OVER_LIMIT = b'{"results":[],"status":"OVER_QUERY_LIMIT"}'
THROTTLED = "profile/google-geocoding/over-query-limit"


class Noting(Policy):
    """A policy that notes what it is shown, and what it is asked."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.shown: list[Observation] = []
        self.verdicts: list[Verdict] = []
        self.asked: list[str] = []
        super().__init__(*arguments, **named)

    def classify(self, target: Target, observation: Observation) -> Verdict:
        self.shown.append(observation)
        self.verdicts.append(super().classify(target, observation))
        return self.verdicts[-1]

    def wanted(self, target: Target) -> Any:
        self.asked.append(target["provider"])
        return super().wanted(target)

    @property
    def body(self) -> bytes | None:
        """The body that it was shown last."""
        response = self.shown[-1]["response"]
        assert response is not None
        return response["body"]


def client(guard: Guard, provider: str) -> httpx.Client:
    return httpx.Client(transport=GuardedTransport(guard, target=lambda _: provider), timeout=10)


def test_a_policy_that_was_built_before_is_shown_no_body_and_all_fields(
    upstream: Upstream,
) -> None:
    policy = Noting(component=older("0.1.0"))
    assert policy.wanted(target("google")) == {
        "body-bytes": 0,
        "headers": None,
        "trailers": True,
    }
    guard = Guard(policy)
    with client(guard, "google") as http:
        assert http.get(upstream.url("places")).text == PLACES
        assert http.get(upstream.url("503")).status_code == 503
    assert [verdict["rule"] for verdict in policy.verdicts] == ["status/200", "status/503"]
    assert policy.body is None
    first = policy.shown[0]["response"]
    assert first is not None and "connection" in {field["name"] for field in first["headers"]}
    permit = policy.admit(target("google"), context())["decision"]["allowed"]
    assert policy.settle(permit, "dropped", context()) == []


def test_the_policy_says_once_for_each_provider_what_it_looks_at(component: Component) -> None:
    policy = Noting(GOOGLE, component=component)
    guard = Guard(policy)
    for operation in ("a", "b", "c"):
        assert guard.wanted(target("google", operation=operation))["body-bytes"] > 0
        assert guard.wanted("other")["body-bytes"] == 0
    assert policy.asked == ["google", "other"]


def test_the_policy_is_shown_the_fields_and_as_much_of_the_body_as_it_looks_at(
    component: Component,
) -> None:
    policy = Noting(GOOGLE, component=component)
    guard = Guard(policy)
    fields = {"Retry-After": "1", "X-Nobody-Looks": "x"}
    with guard.call("google") as call:
        call.response(200, fields, b" " * 100_000)
    wanted = guard.wanted("google")
    assert policy.body is not None and len(policy.body) == wanted["body-bytes"]
    seen = policy.shown[0]["response"]
    assert seen is not None
    names = ["Retry-After"] if wanted["headers"] is not None else list(fields)
    assert [field["name"] for field in seen["headers"]] == names
    with guard.call("other") as call:
        assert call.wanted["body-bytes"] == 0
        call.response(200, fields, b" " * 100_000)
    assert policy.body is None
    with guard.call("other", expect="image") as call:
        assert call.wanted["body-bytes"] >= 512
        call.response(200, fields, b" " * 100_000)
    assert policy.body is not None and len(policy.body) == call.wanted["body-bytes"]
    with guard.call("google") as call:
        call.response(204, fields, b"")
    assert policy.body is None


def test_a_policy_that_fails_when_it_is_asked_what_it_looks_at_is_shown_no_body(
    component: Component, upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Noting):
        def wanted(self, target: Target) -> Any:
            raise PolicyFault("evidence.wanted: it trapped")

    policy = Failing(GOOGLE, component=component)
    with client(Guard(policy), "google") as http:
        assert http.get(upstream.url("over_limit")).content == OVER_LIMIT
    assert policy.verdicts[-1]["rule"] == "status/200" and policy.body is None
    assert "no body is looked at" in caplog.text


@pytest.mark.parametrize("path", ["over_limit", "over_limit_zipped"])
def test_a_200_that_says_that_the_limit_is_reached_goes_on_to_the_next_provider(
    component: Component, upstream: Upstream, path: str
) -> None:
    policy = Noting(GOOGLE, component=component)
    guard = Guard(policy)
    with client(guard, "google") as http:
        with http.stream("GET", upstream.url(path)) as response:
            # Before any of it is read.
            verdict = response.extensions["fusewire"].verdict
            assert (verdict["outcome"], verdict["rule"]) == ("throttled", THROTTLED)
            assert policy.body == OVER_LIMIT
            assert response.read() == OVER_LIMIT
    progress: Any = {
        "target": target("google"),
        "attempts": 3,
        "attempts-in-all": 3,
        "providers-left": 1,
        "probe": False,
    }
    assert guard.next(progress, verdict) == "next-provider"


def test_five_answers_200_with_an_error_of_arcgis_in_them_open_the_breaker(
    component: Component, upstream: Upstream
) -> None:
    with client(Guard(Policy(ARCGIS, component=component)), "arcgis") as http:
        for _ in range(5):
            response = http.get(upstream.url("arcgis_error"))
            assert response.status_code == 200 and response.json()["error"]["code"] == 500
        with pytest.raises(Refused):
            http.get(upstream.url("200"))


def test_a_good_answer_that_is_longer_than_what_is_looked_at_comes_whole(
    component: Component, upstream: Upstream
) -> None:
    policy = Noting(GOOGLE, component=component)
    guard = Guard(policy)
    with client(guard, "google") as http:
        with http.stream("GET", upstream.url("places")) as response:
            assert response.extensions["fusewire"].verdict is None
            assert response.read() == PLACES.encode()
        assert response.extensions["fusewire"].verdict["outcome"] == "success"
    most = guard.wanted("google")["body-bytes"]
    assert most < len(PLACES) and policy.body == PLACES.encode()[:most]


def test_an_answer_is_handed_over_at_its_head_where_no_rule_asks_for_its_body(
    component: Component, upstream: Upstream
) -> None:
    policy = Noting(GOOGLE, component=component)
    upstream.hold()
    with client(Guard(policy), "other") as http:
        with http.stream("GET", upstream.url("head_first")) as response:
            assert response.status_code == 200
            upstream.go_on()
            assert response.read() == b"ok"
    assert policy.body is None


def test_the_first_event_of_a_stream_arrives_while_the_stream_is_going_on(
    component: Component, upstream: Upstream
) -> None:
    rule = {"name": "failed", "when": {"event": "error"}, "then": "transient"}
    profiles = {"tokens": {"rules": [rule]}}
    configuration = {"profiles": profiles, "providers": {"llm": {"profile": "tokens"}}}
    policy = Noting(configuration, component=component)
    upstream.hold()
    with client(Guard(policy), "llm") as http:
        with http.stream("GET", upstream.url("events")) as response:
            parts = response.iter_raw()
            first = b""
            while b"one" not in first:
                first += next(parts)
            assert response.extensions["fusewire"].verdict is None
            upstream.go_on()
            rest = b"".join(parts)
            assert rest.endswith(b'event: error\ndata: {"type":"error"}\n\n')
        # What the stream ended with decides.
        assert response.extensions["fusewire"].verdict["rule"] == "profile/tokens/failed"
    assert policy.body == first + rest


def test_what_has_no_body_by_its_kind_has_none_to_look_at_and_an_empty_one_is_empty(
    component: Component, upstream: Upstream
) -> None:
    policy = Noting(GOOGLE, component=component)
    with client(Guard(policy), "google") as http:
        assert http.head(upstream.url("places")).content == b""
        assert policy.body is None
        assert http.get(upstream.url("nothing")).content == b""
    assert policy.body == b""


def test_a_body_that_breaks_off_while_it_is_looked_at_is_that_failure_and_no_answer(
    component: Component, upstream: Upstream
) -> None:
    policy = Noting(GOOGLE, component=component)
    with client(Guard(policy), "google") as http:
        for path, rule in [
            ("broken", "transport/reset-mid-body"),
            ("short", "transport/incomplete-body"),
        ]:
            with pytest.raises(httpx.TransportError):
                with http.stream("GET", upstream.url(path)):
                    raise AssertionError("nothing was handed over")
            assert policy.verdicts[-1]["rule"] == rule
            assert policy.body in (b'{"results":[', b"half")


def test_a_body_that_cannot_be_decoded_is_that_failure(
    component: Component, upstream: Upstream
) -> None:
    policy = Noting(GOOGLE, component=component)
    with client(Guard(policy), "google") as http, pytest.raises(httpx.DecodingError):
        http.get(upstream.url("garbled"))
    assert policy.verdicts[-1]["rule"] == "transport/content-decoding"


def test_a_decorated_function_and_an_exception_show_the_body_that_was_read(
    component: Component, upstream: Upstream
) -> None:
    policy = Noting(GOOGLE, component=component)
    guard = Guard(policy)

    @guard.guarded("google")
    def ask(path: str, method: str = "GET") -> httpx.Response:
        return httpx.request(method, upstream.url(path))

    assert ask("over_limit").status_code == 200
    assert policy.verdicts[-1]["rule"] == THROTTLED
    assert ask("places", "HEAD").status_code == 200
    assert policy.body is None
    with pytest.raises(httpx.HTTPStatusError), guard.call("google"):
        httpx.get(upstream.url("503")).raise_for_status()
    assert policy.body == b"ok"

    @guard.guarded("google")
    def unread() -> httpx.Response:
        return httpx.Response(200, stream=httpx.ByteStream(b"x"))

    assert unread().read() == b"x"
    assert policy.body is None


@pytest.mark.parametrize("provider", ["google", "other"])
def test_an_answer_that_was_read_before_it_came_to_the_transport_is_judged(
    component: Component, provider: str
) -> None:
    def kept(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=OVER_LIMIT)

    policy = Noting(GOOGLE, component=component)
    transport = GuardedTransport(
        Guard(policy), httpx.MockTransport(kept), target=lambda _: provider
    )
    with httpx.Client(transport=transport) as http:
        assert http.get("http://kept.invalid/").content == OVER_LIMIT
    (verdict,) = policy.verdicts
    assert verdict["rule"] == (THROTTLED if provider == "google" else "status/200")

    async def story() -> None:
        guard = AsyncGuard(AsyncPolicy(GOOGLE, component=component))
        transport = AsyncGuardedTransport(
            guard, httpx.MockTransport(kept), target=lambda _: provider
        )
        async with httpx.AsyncClient(transport=transport) as http:
            response = await http.get("http://kept.invalid/")
        assert response.extensions["fusewire"].verdict["rule"] == verdict["rule"]

    asyncio.run(story())


def async_client(guard: AsyncGuard, provider: str) -> httpx.AsyncClient:
    transport = AsyncGuardedTransport(guard, target=lambda _: provider)
    return httpx.AsyncClient(transport=transport, timeout=10)


def test_under_asyncio_a_bad_body_is_judged_and_a_good_one_comes_whole(
    component: Component, upstream: Upstream
) -> None:
    async def story() -> None:
        both = {**GOOGLE, "providers": {**GOOGLE["providers"], **ARCGIS["providers"]}}
        guard = AsyncGuard(AsyncPolicy(both, component=component))
        async with async_client(guard, "google") as http:
            async with http.stream("GET", upstream.url("over_limit_zipped")) as response:
                assert response.extensions["fusewire"].verdict["rule"] == THROTTLED
                assert await response.aread() == OVER_LIMIT
            response = await http.get(upstream.url("places"))
            assert response.text == PLACES
            assert response.extensions["fusewire"].verdict["outcome"] == "success"
            with pytest.raises(httpx.TransportError):
                await http.get(upstream.url("broken"))
            with pytest.raises(httpx.DecodingError):
                await http.get(upstream.url("garbled"))
        (state,) = await guard.inspect("google")
        assert (state["successes"], state["failures"]) == (1, 2)
        async with async_client(guard, "arcgis") as http:
            for _ in range(5):
                assert (await http.get(upstream.url("arcgis_error"))).status_code == 200
            with pytest.raises(Refused):
                await http.get(upstream.url("200"))

    asyncio.run(story())


def test_under_asyncio_a_stream_of_events_is_not_held_back(
    component: Component, upstream: Upstream
) -> None:
    async def story() -> None:
        guard = AsyncGuard(AsyncPolicy(GOOGLE, component=component))
        upstream.hold()
        async with async_client(guard, "google") as http:
            async with http.stream("GET", upstream.url("events")) as response:
                parts = response.aiter_raw()
                first = b""
                while b"one" not in first:
                    first += await anext(parts)
                upstream.go_on()
                assert (first + b"".join([part async for part in parts])).endswith(b"}\n\n")

    asyncio.run(story())


def test_a_task_that_is_cancelled_while_a_body_is_looked_at_judges_nothing(
    component: Component, upstream: Upstream
) -> None:
    async def story() -> None:
        guard = AsyncGuard(AsyncPolicy(GOOGLE, component=component))
        upstream.hold()

        class Telling(httpx.AsyncHTTPTransport):
            """Says when the head of an answer has come."""

            answered = asyncio.Event()

            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                response = await super().handle_async_request(request)
                self.answered.set()
                return response

        transport = AsyncGuardedTransport(guard, Telling(), target=lambda _: "google")
        async with httpx.AsyncClient(transport=transport, timeout=10) as http:
            task = asyncio.ensure_future(http.get(upstream.url("head_first")))
            await asyncio.wait_for(Telling.answered.wait(), 5)
            await asyncio.sleep(0)  # it goes on to the body, which does not come
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        upstream.go_on()
        (state,) = await guard.inspect("google")
        assert (state["successes"], state["failures"]) == (0, 0)

    asyncio.run(story())
