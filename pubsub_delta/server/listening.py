"""Sockets that listen, before there is a server that accepts their connections.

A connection waits meanwhile. Otherwise it would be refused, and clients back off longer after each
refusal. So a server that is started again listens first, and imports gRPC and Arrow and opens its
store afterwards.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator

from pubsub_delta.errors import FailedPrecondition

BACKLOG = 1024
"""Connections that wait to be accepted."""


def listen(host: str, port: int) -> tuple[socket.socket, ...]:
    """Return sockets that listen at all addresses of a host, at the same port; 0 for a free one.

    FailedPrecondition if the address cannot be bound.
    """
    made: list[socket.socket] = []
    try:
        for each in _listening(host, port):
            made.append(each)
    except OSError as error:
        for each in made:
            each.close()
        raise FailedPrecondition(
            f"{host}:{port} cannot be bound ({error.strerror or error}); choose a free port of "
            "an address of this machine"
        ) from None
    return tuple(made)


def port_of(sockets: tuple[socket.socket, ...]) -> int:
    """Return the port at which sockets listen."""
    return int(sockets[0].getsockname()[1])


def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a socket for each address of a host, all with the same port.

    Addresses that this machine does not have are skipped, such as ``::1`` without IPv6.
    """
    found = socket.getaddrinfo(
        host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    missing: OSError | None = None
    made = 0
    for family, address in dict.fromkeys((family, each[0]) for family, *_, each in found):
        both = address == "::" and socket.has_dualstack_ipv6()
        try:
            one = socket.create_server(
                (str(address), port), family=family, backlog=BACKLOG, dualstack_ipv6=both
            )
        except OSError as error:
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                raise
            missing = error
            continue
        port = one.getsockname()[1]
        made += 1
        yield one
    if not made and missing is not None:
        raise missing
