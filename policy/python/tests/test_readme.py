"""Every example of the README runs as it is written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from redis_server import RedisServer
from upstream import Upstream

PACKAGE = Path(__file__).resolve().parents[1]
EXAMPLES = {path.read_text(): path for path in sorted((PACKAGE / "examples").glob("*.py"))}


def run(name: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, PACKAGE / "examples" / f"{name}.py", *arguments],
        env={**os.environ, "PYTHONPATH": str(PACKAGE / "src")},
        capture_output=True,
        check=False,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_readme_shows_the_examples_and_nothing_else() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
    assert sorted(blocks) == sorted(EXAMPLES)


def test_a_call_is_guarded(upstream: Upstream) -> None:
    lines = run("guard", upstream.url("503"))
    assert [line.partition(" ")[0] for line in lines] == ["503"] * 3 + ["not"] * 2
    assert "not asked for 3" in lines[3]


def test_a_fleet_shares_one_redis(own_redis: RedisServer, upstream: Upstream) -> None:
    first = run("fleet", upstream.url("503"), own_redis.url)
    assert first.count("503") == 5
    assert any("transition" in line for line in first)
    # Another process finds it open.
    second = run("fleet", upstream.url("200"), own_redis.url)
    refused = "payments is open, for every worker on this Redis"
    assert second == [refused] * 6 + ["payments open 5"]


def test_a_client_is_guarded_by_its_transport(upstream: Upstream) -> None:
    lines = run("transport", upstream.url("reset"))
    assert [line.partition(":")[0] for line in lines] == ["failed"] * 5 + [
        "127.0.0.1 was not asked"
    ]


def test_an_error_in_the_body_of_a_200_is_seen(upstream: Upstream) -> None:
    (line,) = run("profile", upstream.url("over_limit"))
    assert line.startswith("200 throttled ") and "queries per second" in line


def test_an_order_is_given_and_explained(own_redis: RedisServer) -> None:
    phase, order, *_ = run("orders", own_redis.url)
    assert phase == "phase: closed, and has not tripped for as long as the store remembers"
    assert order.startswith("order: 10 of a hundred refusals are enforced, for another ")
    assert order.endswith(", by on-call: a trial")


def test_many_calls_at_once_are_guarded(own_redis: RedisServer, upstream: Upstream) -> None:
    first, second = run("many", upstream.url("503"), own_redis.url)
    assert "'503'" in first
    assert second == str(["open"] * 10)
