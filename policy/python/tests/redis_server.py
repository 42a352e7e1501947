"""A real redis-server on a free port."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

import redis

from waiting import wait_for


def _binary() -> str:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(os.environ.get("FUSEWIRE_CACHE") or home / "fusewire")
    found = shutil.which("redis-server") or shutil.which(cache / "bin" / "redis-server")
    if found is None:
        raise AssertionError(
            f"no redis-server on PATH or in {cache / 'bin'}; `make setup` brings one"
        )
    return str(found)


class RedisServer:
    """A Redis that lives as long as the block."""

    def __init__(self, password: str | None = None, *, keeps: bool = False) -> None:
        """``keeps``: what it holds is there again when it is started again."""
        self._password = password
        self._keeps = keeps
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def client(self) -> redis.Redis:
        """A plain client, to look at what is there."""
        return redis.Redis(port=self.port, password=self._password)

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        arguments = ["--port", str(self.port), "--save", "", "--bind", "127.0.0.1"]
        if self._password:
            arguments += ["--requirepass", self._password]
        if self._keeps:
            arguments += ["--appendonly", "yes", "--appendfsync", "always"]
        self._process = subprocess.Popen(
            [_binary(), *arguments, "--dir", self._folder.name], stdout=subprocess.DEVNULL
        )
        wait_for(self._answers, "redis-server answers")

    def stop(self) -> None:
        """Kills it."""
        self._process.send_signal(signal.SIGCONT)
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Has it answer nothing, with its connections open."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def _answers(self) -> bool:
        try:
            return bool(self.client().ping())
        except redis.ConnectionError:
            return False

    def __enter__(self) -> RedisServer:
        self._folder = tempfile.TemporaryDirectory()
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._folder.cleanup()
