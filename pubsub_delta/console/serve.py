"""Running the console: uvicorn, on a socket that is open before it is told of."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn

from pubsub_delta.errors import FailedPrecondition


def serve(application: Any, host: str, port: int, started: Callable[[str], object]) -> None:
    """Serve until the process is told to end (SIGINT, SIGTERM); ``started`` is told the address.

    ``port``: 0 for a free one. FailedPrecondition where it cannot be listened to.
    """
    opened = listening(host.strip("[]"), port)
    config = uvicorn.Config(
        application,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
    )
    shown = f"[{host.strip('[]')}]" if ":" in host else host
    started(f"http://{shown}:{opened.getsockname()[1]}/")
    with opened, suppress(KeyboardInterrupt):  # uvicorn raises it once it has ended in order
        uvicorn.Server(config).run([opened])


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; FailedPrecondition where that cannot be."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, reuse_port=False)
    except OSError as error:
        raise FailedPrecondition(
            f"host: {host!r}, port {port}: cannot be listened to: {error}; "
            "an address of this machine with a free port is accepted, or port 0"
        ) from None
