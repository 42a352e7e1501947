"""A real HTTP server that does what the path says: `/200`, `/503`, `/hang`, `/reset`, ..."""

from __future__ import annotations

import json
import socket
import socketserver
import struct
import threading
import time
import zlib
from types import TracebackType

PLACES = json.dumps(
    {"status": "OK", "results": [{"place": f"number {i}", "lat": i / 100} for i in range(9_000)]}
)
"""A good answer that is longer than what any policy looks at."""

OVER_LIMIT = '{"results":[],"status":"OVER_QUERY_LIMIT"}'


class _Handler(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        if self.rfile.peek(1)[:1] == b"\x16":
            self._send("HTTP/1.1 400 X\r\nConnection: close\r\n\r\n")  # a TLS handshake
            return
        line = self.rfile.readline().decode("latin-1")
        while self.rfile.readline().strip():
            pass
        self.method = line.partition(" ")[0]
        path = line.split(" ")[1] if " " in line else "/"
        name = path.strip("/").partition("?")[0]
        with self.server.lock:
            self.server.asked[name] = self.server.asked.get(name, 0) + 1
        getattr(self, name, self.status)(name)

    def status(self, name: str) -> None:
        self._send(f"HTTP/1.1 {name} X\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

    def throttled(self, _: str) -> None:
        self._send(
            "HTTP/1.1 429 X\r\nRetry-After: 120\r\nX-Odd: \xe9\r\n"
            "Content-Length: 0\r\nConnection: close\r\n\r\n"
        )

    def hang(self, _: str) -> None:
        self.server.over.wait(30)

    def reset(self, _: str) -> None:
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()

    def silence(self, _: str) -> None:
        """Closes without a word."""

    def short(self, _: str) -> None:
        self._send("HTTP/1.1 200 X\r\nContent-Length: 10\r\nConnection: close\r\n\r\nhalf")

    def trickle(self, _: str) -> None:
        self._send("HTTP/1.1 200 X\r\nContent-Length: 2\r\nConnection: close\r\n\r\no")
        time.sleep(0.15)  # longer than what counts as slow
        self._send("k")

    def drip(self, _: str) -> None:
        """An answer without end, a little at a time."""
        self._send("HTTP/1.1 200 X\r\nConnection: close\r\n\r\n")
        try:
            while not self.server.over.wait(0.02):
                self._send("x")
        except OSError:
            pass  # who asked has gone

    def over_limit(self, _: str) -> None:
        self._answer(OVER_LIMIT.encode())

    def over_limit_zipped(self, _: str) -> None:
        packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
        self._answer(
            packer.compress(OVER_LIMIT.encode()) + packer.flush(), "Content-Encoding: gzip"
        )

    def arcgis_error(self, _: str) -> None:
        error = {"code": 500, "message": "Error performing query", "details": []}
        self._answer(json.dumps({"error": error}).encode())

    def places(self, _: str) -> None:
        self._answer(PLACES.encode())

    def nothing(self, _: str) -> None:
        self._answer(b"")

    def broken(self, _: str) -> None:
        self._send('HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\n{"results":[')
        time.sleep(0.02)  # so that the beginning is not lost to the reset
        self.reset("")

    def head_first(self, _: str) -> None:
        self._send("HTTP/1.1 200 X\r\nContent-Length: 2\r\nConnection: close\r\n\r\n")
        self.server.go_on.wait(30)
        self._send("ok")

    def events(self, _: str) -> None:
        self._send("HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        self._send(': no token yet\n\ndata: {"token":"one"}\n\n')
        self.server.go_on.wait(30)
        self._send('event: error\ndata: {"type":"error"}\n\n')

    def nonsense(self, _: str) -> None:
        self._send("this is not HTTP\r\n\r\n")

    def garbled(self, _: str) -> None:
        self._send(
            "HTTP/1.1 200 X\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n"
            "Connection: close\r\n\r\nnope"
        )

    def _answer(self, body: bytes, *fields: str) -> None:
        head = ["HTTP/1.1 200 X", "Content-Type: application/json", "Connection: close", *fields]
        self._send("\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]))
        if self.method != "HEAD":
            self.wfile.write(body)

    def _send(self, text: str) -> None:
        self.wfile.write(text.encode("latin-1"))


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: dict[str, int] = {}
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.go_on = threading.Event()


class Upstream:
    """A server that lives as long as the block."""

    def __enter__(self) -> Upstream:
        self._server = _Server()
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def hold(self) -> None:
        """Lets what begins its answer wait with the rest of it."""
        self._server.go_on.clear()

    def go_on(self) -> None:
        """Lets it go on."""
        self._server.go_on.set()

    def asked(self, path: str) -> int:
        """How often this path was asked for."""
        return self._server.asked.get(path, 0)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.over.set()
        self._server.go_on.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def refused_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port
