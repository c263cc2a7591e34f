"""The queue of responses of a StreamingPull, bounded though its client may not read."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any

from pubsub_delta.server import wire
from pubsub_delta.server.assigner import Consumer, Delivery

MOST_MESSAGES = 1000
MOST_BYTES = 3_000_000
"""The limits of one response; a larger message comes alone."""
MOST_UNCONFIRMED = 10_000
"""Ack IDs with unread confirmations; above it no further request is read."""

Fields = Mapping[str, Any]
"""The fields of a response."""


class ResponseQueue:
    """Messages, confirmations and the end of a stream, which wait for its client to read.

    The flow control of the ``consumer`` bounds the messages. A message is removed from the queue,
    and not sent, if its deadline has passed, its lease has ended, or it was acknowledged.

    Args:
        consumer: the consumer that the messages were given to.
        sent: called after each response with messages was written.
        confirmed: called with the ack IDs whose success is told now.
        may_send: returns whether a message may still be sent, just before it is.
    """

    def __init__(
        self,
        consumer: Consumer,
        sent: Callable[[], object] = lambda: None,
        confirmed: Callable[[Sequence[str]], object] = lambda _: None,
        may_send: Callable[[Delivery], bool] = lambda _: True,
    ) -> None:
        self._consumer = consumer
        self._sent = sent
        self._confirmed = confirmed
        self._may_send = may_send
        self._sending: list[Delivery] = []
        self._messages: deque[Delivery] = deque()
        self._bytes = 0
        self._confirmations: deque[tuple[str, Mapping[str, list[str]], int]] = deque()
        self._unconfirmed = 0
        self._read = asyncio.Event()
        self._filled = asyncio.Event()
        self._is_over = False
        self._error: Exception | None = None
        self._keeps_alive = False

    def put(self, deliveries: Iterable[Delivery]) -> None:
        """Queue messages that the consumer was given."""
        for delivery in deliveries:
            self._messages.append(delivery)
            self._bytes += delivery.size
        if len(self._messages) > self._consumer.messages or self._bytes > self._consumer.bytes:
            self._messages = deque(filter(self._is_held, self._messages))
            self._bytes = sum(delivery.size for delivery in self._messages)
        self._consumer.unsent = self._bytes
        self._filled.set()

    def expect(self, count: int) -> None:
        """Count ack IDs that will be confirmed."""
        self._unconfirmed += count

    def confirm(self, field: str, named: Mapping[str, Sequence[str]]) -> None:
        """Queue the confirmation of ack IDs, by outcome, in a field of a response."""
        ids: dict[str, list[str]] = {}
        count = size = 0
        for name, ack_ids in named.items():
            for ack_id in ack_ids:
                size += len(ack_id)
                if count and (count >= MOST_UNCONFIRMED or size > MOST_BYTES):
                    self._confirmations.append((field, ids, count))
                    ids, count, size = {}, 0, len(ack_id)
                ids.setdefault(name, []).append(ack_id)
                count += 1
        self._confirmations.append((field, ids, count))
        self._filled.set()

    def keep_alive(self) -> None:
        """Send a response soon, an empty one if the queue is empty."""
        self._keeps_alive = True
        self._filled.set()

    async def room(self) -> None:
        """Wait until the client has read enough confirmations."""
        while self._unconfirmed > MOST_UNCONFIRMED:
            self._read.clear()
            await self._read.wait()

    def end(self, error: Exception | None = None) -> None:
        """End the stream after the queued responses, perhaps with an error."""
        if not self._is_over:
            self._is_over, self._error = True, error
        self._filled.set()

    async def responses(self) -> AsyncIterator[Fields]:
        """Yield responses as the client reads them, until the end of the stream."""
        while True:
            while self._messages or self._confirmations or self._keeps_alive:
                self._keeps_alive = False
                if received := self._next_messages():
                    yield {"received_messages": received}
                    self._forget_sent()
                if self._confirmations:
                    yield self._next_confirmation()
                elif not received:
                    yield {}
            if self._error is not None:
                raise self._error
            if self._is_over:
                return
            self._filled.clear()
            await self._filled.wait()

    def unsent(self) -> list[Delivery]:
        """Return the messages that wait still when the stream ends; they were sent to nobody."""
        return [delivery for delivery in self._messages if self._is_held(delivery)]

    def _forget_sent(self) -> None:
        """Forget the messages of a response that was written."""
        for delivery in self._sending:
            delivery.was_sent()
        self._sending.clear()
        self._consumer.unsent = self._bytes
        self._sent()

    def _is_held(self, delivery: Delivery) -> bool:
        return delivery.consumer is self._consumer

    def _next_messages(self) -> list[Any]:
        received: list[Any] = []
        size = 0
        while self._messages and len(received) < MOST_MESSAGES:
            delivery = self._messages[0]
            held = self._is_held(delivery)
            if received and held and size + delivery.size > MOST_BYTES:
                break
            self._messages.popleft()
            self._bytes -= delivery.size
            if held and self._may_send(delivery):
                received.append(wire.received_message(delivery.received))
                self._sending.append(delivery)
                size += delivery.size
        return received

    def _next_confirmation(self) -> Fields:
        field, ids, count = self._confirmations.popleft()
        self._unconfirmed -= count
        self._read.set()
        self._confirmed(ids.get("ack_ids", ()))
        return {field: ids}
