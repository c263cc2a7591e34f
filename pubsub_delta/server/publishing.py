"""Publishing: batches the requests of all clients of a topic into one append after the other."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from pubsub_delta.errors import InvalidArgument, counted
from pubsub_delta.resources import Message
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.threads import InThread

logger = logging.getLogger("pubsub_delta.server")

MOST_MESSAGES = 20_000
MOST_BYTES = 50_000_000
"""The most messages in one append; a larger request is appended alone."""

Append = Callable[[Sequence[Message]], Sequence[str]]
"""Publishes messages in one commit, or none of them; returns their ids in order."""


@dataclass(eq=False)
class _Request:
    messages: Sequence[Message]
    size: int
    done: asyncio.Future[Sequence[str]]


class PublishBatcher:
    """The publish requests of one topic.

    Requests gather during an append, and for ``gather`` seconds at most after it: until they fill
    an append, or are as many as the last append had and left waiting. So a client that publishes
    one request after the other is in the next append again. A later request does not wait. Then
    the batcher looks for the topic, which may have been deleted, and created again, while they
    gathered. A response is sent when its append has landed.
    """

    def __init__(
        self,
        publisher: Callable[[], Append],
        blocking: InThread,
        counters: Counters,
        published: Callable[[], object],
        gather: float,
    ) -> None:
        self._publisher = publisher
        self._blocking = blocking
        self._counters = counters
        self._published = published
        self._gather = gather
        self._requests: deque[_Request] = deque()
        self._came = asyncio.Event()
        self._draining = False
        self._task: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no request is pending: then another batcher can replace this one."""
        return self._task is None and not self._requests

    async def publish(self, messages: Sequence[Message], size: int) -> Sequence[str]:
        """Publish the messages of a request of ``size`` bytes, and return their ids.

        They were checked, except against the topic's schema: a request that does not fit fails
        alone.
        """
        loop = asyncio.get_running_loop()
        request = _Request(messages, size, loop.create_future())
        self._requests.append(request)
        self._came.set()
        if self._task is None:
            self._task = loop.create_task(self._run())
        try:
            # A client that disconnects does not cancel a publish that may be in an append.
            return await asyncio.shield(request.done)
        except asyncio.CancelledError:
            request.done.cancel()
            if request in self._requests:  # it waits still, and its client may have sent it again
                self._requests.remove(request)
            raise

    async def drain(self) -> None:
        """Wait until every request is published, or has failed."""
        self._draining = True
        self._came.set()
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        expected = 1
        while self._requests or await self._gathered(1):
            await self._gathered(expected)
            batch = self._take()
            try:
                append = await self._blocking(self._publisher)
                batch = [request for request in batch if not request.done.done()]
                if not batch:  # its clients have gone
                    continue
                messages = [message for request in batch for message in request.messages]
                try:
                    ids = await self._blocking(partial(append, messages))
                except InvalidArgument:
                    if len(batch) == 1:
                        raise
                    await self._publish_apart(append, batch)
                    continue
            except BaseException as error:
                count = sum(len(request.messages) for request in batch)
                logger.warning("%s could not be published: %s", counted(count, "message"), error)
                _fail(batch, error)
                if not isinstance(error, Exception):
                    raise
                continue
            expected = len(batch) + len(self._requests)
            self._answer(batch, ids)
        self._task = None

    def _answer(self, batch: Sequence[_Request], ids: Sequence[str]) -> None:
        self._counters.published += len(ids)
        self._counters.publish_commits += 1
        start = 0
        for request in batch:
            end = start + len(request.messages)
            if not request.done.done():
                request.done.set_result(ids[start:end])
            start = end
        self._published()

    async def _publish_apart(self, append: Append, batch: Sequence[_Request]) -> None:
        """Publish each request alone, so that only a request that does not fit the schema fails."""
        for request in batch:
            try:
                ids = await self._blocking(partial(append, request.messages))
            except BaseException as error:
                _fail([request], error)
                if not isinstance(error, Exception):
                    raise
            else:
                self._answer([request], ids)

    async def _gathered(self, expected: int) -> bool:
        """Wait for ``expected`` requests, or enough messages; return whether there are any."""

        async def enough() -> None:
            while not self._draining and not self._are_enough(expected):
                self._came.clear()
                await self._came.wait()

        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(enough(), self._gather)
        return bool(self._requests)

    def _are_enough(self, expected: int) -> bool:
        messages = sum(len(request.messages) for request in self._requests)
        return len(self._requests) >= expected or messages >= MOST_MESSAGES

    def _take(self) -> list[_Request]:
        """Take the requests of the next append, the oldest first."""
        batch: list[_Request] = []
        count = size = 0
        while self._requests:
            request = self._requests[0]
            count, size = count + len(request.messages), size + request.size
            if batch and (count > MOST_MESSAGES or size > MOST_BYTES):
                break
            batch.append(self._requests.popleft())
        return batch


def _fail(batch: Sequence[_Request], error: BaseException) -> None:
    for request in batch:
        if not request.done.done():
            request.done.set_exception(error)
            request.done.exception()  # the client may be gone, so that nobody reads it
