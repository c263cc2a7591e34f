"""Running the console: uvicorn, on a socket that is open before it is told of."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

from pubsub_delta.errors import FailedPrecondition


def serve(application: Any, host: str, port: int, started: Callable[[str], object]) -> None:
    """Serve until the process is told to end (SIGINT, SIGTERM); ``started`` is told the address.

    ``port``: 0 for a free one. FailedPrecondition where it cannot be listened to.
    """
    opened = listening(host, port)
    started(address_of(host, opened))
    with opened, suppress(KeyboardInterrupt):  # uvicorn raises it once it has ended in order
        _server(application).run([opened])


@contextmanager
def serving(application: Any, opened: socket.socket) -> Iterator[None]:
    """Serve from a thread for as long as the block lasts, and log to who listens to ``uvicorn``.

    In a thread uvicorn leaves signals alone: they are for the program around it.
    """
    server = _server(application, log_config=None)
    thread = threading.Thread(target=server.run, args=([opened],), name="console")
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def _server(application: Any, **more: Any) -> uvicorn.Server:
    config = uvicorn.Config(
        application,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
        **more,
    )
    return uvicorn.Server(config)


def address_of(host: str, opened: socket.socket) -> str:
    """Return the address of what listens there, for a browser."""
    shown = f"[{host.strip('[]')}]" if ":" in host else host
    return f"http://{shown}:{opened.getsockname()[1]}/"


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; FailedPrecondition where that cannot be."""
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        family, _, _, _, address = found[0]
        return socket.create_server(address[:2], family=family, reuse_port=False)
    except OSError as error:
        raise FailedPrecondition(
            f"host: {host!r}, port {port}: cannot be listened to: {error}; "
            "an address of this machine with a free port is accepted, or port 0"
        ) from None
