"""What tests share: a real Redis, and a real HTTP server, on free ports of the loopback address."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fusewire import Component
from redis_server import RedisServer
from upstream import Upstream


@pytest.fixture(scope="session")
def component() -> Component:
    """The policy, compiled once for all tests."""
    return Component.built_in()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis that tests share; each uses a prefix of its own."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """A Redis that one test may stop, freeze and flush."""
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="session")
def upstream() -> Iterator[Upstream]:
    """An HTTP server that does what the path says."""
    with Upstream() as server:
        yield server
