"""Memory: the limits of messages in a server, over all subscriptions, and its allocator."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager

from pubsub_delta.errors import ResourceExhausted

logger = logging.getLogger("pubsub_delta.server")

MOST_BYTES = 64_000_000
"""Bytes of messages that wait to be sent, or are being sent."""
MOST_MESSAGES = 200_000
"""Outstanding messages, sent or waiting; each takes about a kilobyte here."""
MOST_UNSENT = 8_000_000
"""Bytes that wait for one stream; a larger message waits alone."""
MOST_TO_PUBLISH = 64_000_000
"""Bytes of publish requests that wait to be committed."""

ALLOCATOR = "ARROW_DEFAULT_MEMORY_POOL"
"""The variable that names Arrow's allocator; Arrow reads it at its import."""
RELEASE_SECONDS = 30.0
"""The time between two returns of free memory to the operating system."""


def choose_allocator(environment: MutableMapping[str, str]) -> None:
    """Let Arrow use the allocator of the system, unless the environment names one.

    Arrow's default keeps the memory that threads have freed: a server of many small commits grew to
    hundreds of megabytes, with a few in use.
    """
    environment.setdefault(ALLOCATOR, "system")


async def release_unused_always() -> None:
    """Return free memory to the operating system periodically."""
    import pyarrow as pa  # after ``choose_allocator``

    while True:
        await asyncio.sleep(RELEASE_SECONDS)
        try:
            await asyncio.to_thread(pa.default_memory_pool().release_unused)
        except Exception:
            logger.exception("free memory could not be returned")


class Memory:
    """Counts the memory of messages: of a server, or of one of its subscriptions.

    Args:
        whole: the memory of the server, of which this is a part.
    """

    def __init__(
        self,
        whole: Memory | None = None,
        most_bytes: int = MOST_BYTES,
        most_messages: int = MOST_MESSAGES,
    ) -> None:
        self.bytes = 0
        self.messages = 0
        self.publishing = 0
        self._whole = whole or self
        self._most_bytes = most_bytes
        self._most_messages = most_messages

    def part(self) -> Memory:
        """Return the memory of one subscription."""
        return Memory(self)

    def add(self, messages: int, size: int) -> None:
        """Add or subtract messages, and their bytes."""
        self.messages += messages
        self.bytes += size
        if self._whole is not self:
            self._whole.add(messages, size)

    @property
    def room(self) -> int:
        """How many bytes of messages to read at most; at least one message if there is none."""
        whole = self._whole
        free = max(0, whole._most_bytes - whole.bytes)
        return free if free or self.bytes else 1

    @property
    def is_full(self) -> bool:
        """Whether no more messages should be leased."""
        whole = self._whole
        return bool(self.messages) and whole.messages >= whole._most_messages

    @contextmanager
    def to_publish(self, size: int) -> Iterator[None]:
        """Hold a publish request of ``size`` bytes; ResourceExhausted if too many bytes wait."""
        if self.publishing and self.publishing + size > MOST_TO_PUBLISH:
            raise ResourceExhausted(
                f"messages: {self.publishing:,} bytes of other requests wait to be published; "
                "nothing of this request was published: send it again later"
            )
        self.publishing += size
        try:
            yield
        finally:
            self.publishing -= size
