"""An HTTP endpoint of this machine, which notes down what is pushed to it."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Pushed:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def told(self) -> dict[str, Any]:
        """The JSON of a request with the wrapper."""
        return dict(json.loads(self.body))

    @property
    def data(self) -> bytes:
        """The data of the message in the JSON."""
        return base64.b64decode(self.told["message"].get("data", ""))

    @property
    def attempt(self) -> int | None:
        """The delivery attempt in the JSON."""
        attempt: int | None = self.told.get("deliveryAttempt")
        return attempt


def accept(_: Pushed) -> int:
    """Answer every request with a success."""
    return 204


@dataclass
class PushEndpoint:
    """What came to an endpoint, and how it answers: ``answer`` is called in a thread of its own.

    ``most_at_once``: how many requests it was answering at a time.
    """

    url: str
    answer: Callable[[Pushed], int] = accept
    requests: list[Pushed] = field(default_factory=list)
    most_at_once: int = 0
    _under_way: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def data(self) -> list[bytes]:
        """The data of the messages that came, in the order of their requests."""
        return [each.data for each in list(self.requests)]

    def has_had(self, at_once: int) -> bool:
        """Tell whether so many requests were under way at a time."""
        return self.most_at_once >= at_once

    def hear(self, request: Pushed) -> int:
        """Note a request down, and return the code of its answer."""
        with self._lock:
            self.requests.append(request)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            return self.answer(request)
        finally:
            with self._lock:
                self._under_way -= 1


@contextmanager
def listening(
    answer: Callable[[Pushed], int] = accept, *, protocol: str = "HTTP/1.1"
) -> Iterator[PushEndpoint]:
    """Run an endpoint on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = protocol

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            code = endpoint.hear(Pushed(self.path, headers, self.rfile.read(length)))
            self.send_response(code)
            if 300 <= code < 400:
                self.send_header("Location", "/elsewhere")
            if code >= 200 and code != 204:
                self.send_header("Content-Length", "3")
            self.end_headers()
            if code >= 200 and code != 204:
                self.wfile.write(b"ok\n")

        def log_message(self, format: str, *args: Any) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    endpoint = PushEndpoint(f"http://127.0.0.1:{server.server_port}/push?token=abc", answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
