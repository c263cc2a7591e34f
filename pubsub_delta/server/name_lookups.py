"""Looks up the addresses of hosts, each in a thread of its own.

A resolver may take a minute to give a name up, and cannot be interrupted. In a pool that others
share a few such names would hold up everything.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress

MOST_LOOKUPS = 256
"""The most lookups of a process at a time."""

_threads = threading.BoundedSemaphore(MOST_LOOKUPS)


class NameLookups:
    """Lookups of host names: one at a time for each name, shared by all who ask meanwhile."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Future[Sequence[str] | Exception]] = {}

    async def addresses(self, host: str) -> Sequence[str]:
        """Return the IP addresses of a host, the best first; OSError if it has none."""
        running = self._running.get(host)
        if running is None:
            running = self._begin(host)
        found = await asyncio.shield(running)
        if isinstance(found, Exception):
            raise found
        return found

    def _begin(self, host: str) -> asyncio.Future[Sequence[str] | Exception]:
        if not _threads.acquire(blocking=False):
            raise OSError(f"{host}: {MOST_LOOKUPS} other names are being looked up")
        loop = asyncio.get_running_loop()
        running: asyncio.Future[Sequence[str] | Exception] = loop.create_future()

        def look_up() -> None:
            try:
                found = _addresses(host)
            finally:
                _threads.release()
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(end, found)

        def end(found: Sequence[str] | Exception) -> None:
            del self._running[host]
            running.set_result(found)

        try:
            # At its end the process does not wait for it.
            threading.Thread(target=look_up, name=f"look up {host}", daemon=True).start()
        except RuntimeError:  # there can be no more threads
            _threads.release()
            raise
        self._running[host] = running
        return running


def _addresses(host: str) -> Sequence[str] | Exception:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except Exception as error:  # also UnicodeError: whoever waits gets it
        return error
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
