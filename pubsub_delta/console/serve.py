"""Runs the console by uvicorn, on a socket that listens before its address is printed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

from pubsub_delta.errors import FailedPrecondition


def serve(application: Any, host: str, port: int, started: Callable[[str], object]) -> None:
    """Serve until SIGINT or SIGTERM. ``started`` is called with the URL.

    ``port``: 0 for a free one. FailedPrecondition if the address cannot be bound.
    """
    opened = open_socket(host, port)
    started(url_of(host, opened))
    with opened, suppress(KeyboardInterrupt):  # uvicorn raises it after an orderly end
        _server(application).run([opened])


@contextmanager
def serve_in_thread(application: Any, opened: socket.socket) -> Iterator[None]:
    """Serve in a thread for the time of the block, with the logger ``uvicorn``.

    In a thread uvicorn handles no signals; the program does.
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


def url_of(host: str, opened: socket.socket) -> str:
    """Return the URL of a socket."""
    shown = f"[{host.strip('[]')}]" if ":" in host else host
    return f"http://{shown}:{opened.getsockname()[1]}/"


def open_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket; FailedPrecondition if the address cannot be bound."""
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        family, _, _, _, address = found[0]
        return socket.create_server(address[:2], family=family, reuse_port=False)
    except OSError as error:
        raise FailedPrecondition(
            f"host: {host!r}, port {port}: cannot be bound: {error}; "
            "choose an address of this machine with a free port, or port 0"
        ) from None
