"""StreamingPull: one stream of a client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from typing import Any

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.fields import (
    MAX_ACK_DEADLINE_SECONDS,
    MIN_ACK_DEADLINE_SECONDS,
    check_new_deadline,
)
from pubsub_delta.server import wire
from pubsub_delta.server.ack_failures import INVALID_ACK_ID
from pubsub_delta.server.ack_futures import AckFuture
from pubsub_delta.server.assigner import Consumer, Receiver
from pubsub_delta.server.dispatcher import Dispatcher
from pubsub_delta.server.grpc_services import message_class
from pubsub_delta.server.hub import Hub
from pubsub_delta.server.memory import MOST_UNSENT
from pubsub_delta.server.response_queue import ResponseQueue
from pubsub_delta.server.status import check_lengths

AHEAD = 4
"""How many times the room of a stream is leased at first, as it empties several times in one
exchange.
"""

KEEP_ALIVE = 1
"""The ``protocol_version`` of clients that send an empty request periodically, and close a stream
without a response within some 15 seconds of it.
"""

_Response = message_class("StreamingPullResponse")


class Stream:
    """A StreamingPull call: requests carry acks, responses carry messages and confirmations.

    The responses that wait for a client are bounded: see ``ResponseQueue``.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def run(self, requests: Any) -> AsyncIterator[Any]:
        """Yield responses until the client sends no more, or an error ends the stream."""
        iterator = aiter(requests)
        first = await anext(iterator, None)
        if first is None:
            return
        name = wire.full_name(first.subscription, "subscription")
        consumer = Consumer(
            first.max_outstanding_messages,
            first.max_outstanding_bytes,
            _stream_ack_deadline(first.stream_ack_deadline_seconds),
            ahead=AHEAD,
            max_unsent=MOST_UNSENT,
        )
        dispatcher = await self._hub.pulled(name)
        confirmed = dispatcher.leaser.forget_confirmed
        queue = ResponseQueue(consumer, dispatcher.sent, confirmed, dispatcher.may_send)
        reader = _RequestReader(dispatcher, consumer, queue)
        reading = asyncio.create_task(reader.read(iterator, first))
        dispatcher.join(Receiver(consumer, queue.put, queue.end))
        try:
            async for fields in queue.responses():
                yield _with_properties(dispatcher, **fields)
        finally:
            dispatcher.leave(consumer)
            dispatcher.give_back(queue.unsent())
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading


class _RequestReader:
    """Reads the requests of one stream, and carries them out."""

    def __init__(self, dispatcher: Dispatcher, consumer: Consumer, queue: ResponseQueue) -> None:
        self._dispatcher = dispatcher
        self._consumer = consumer
        self._queue = queue

    async def read(self, requests: Any, first: Any) -> None:
        """Read requests until the client sends no more; then it gets no more messages."""
        error: Exception | None = None
        try:
            self._apply(first)
            await self._queue.room()
            async for request in requests:
                _check_later(request)
                if request.stream_ack_deadline_seconds:
                    self._consumer.ack_deadline_seconds = _stream_ack_deadline(
                        request.stream_ack_deadline_seconds
                    )
                self._apply(request)
                if first.protocol_version >= KEEP_ALIVE and not request.ByteSize():
                    self._queue.keep_alive()
                await self._queue.room()
        except Exception as failed:
            error = failed
        self._dispatcher.leave(self._consumer)
        self._queue.end(error)

    def _apply(self, request: Any) -> None:
        check_lengths(request.ack_ids)
        check_lengths(request.modify_deadline_ack_ids)
        if request.ack_ids:
            future = self._dispatcher.acknowledge(list(request.ack_ids))
            self._confirm("acknowledge_confirmation", request.ack_ids, future)
        if len(request.modify_deadline_ack_ids) != len(request.modify_deadline_seconds):
            raise InvalidArgument(
                f"modify_deadline_seconds: {len(request.modify_deadline_seconds)} values for "
                f"{len(request.modify_deadline_ack_ids)} modify_deadline_ack_ids; one for each "
                "is accepted"
            )
        by_seconds: dict[int, list[str]] = {}
        pairs = zip(request.modify_deadline_seconds, request.modify_deadline_ack_ids, strict=True)
        for seconds, ack_id in pairs:
            check_new_deadline(seconds)
            by_seconds.setdefault(seconds, []).append(ack_id)
        for seconds, ack_ids in by_seconds.items():
            future = self._dispatcher.modify_ack_deadline(ack_ids, seconds)
            self._confirm("modify_ack_deadline_confirmation", ack_ids, future)

    def _confirm(self, field: str, ack_ids: Iterable[str], future: AckFuture) -> None:
        """Confirm acks and deadlines once they are written, with exactly-once delivery."""
        if not self._dispatcher.leaser.exactly_once:
            future.check(self._dispatcher.name)
            return
        asked = tuple(ack_ids)

        def confirm() -> None:
            invalid = {id_ for id_, why in future.failures.items() if why == INVALID_ACK_ID}
            invalid.update(future.malformed)
            later = future.failures.keys() - invalid
            failed = invalid | later
            named = {
                "ack_ids": [each for each in asked if each not in failed],
                "invalid_ack_ids": [each for each in asked if each in invalid],
                "temporary_failed_ack_ids": [each for each in asked if each in later],
            }
            self._queue.confirm(field, named)

        self._queue.expect(len(asked))
        future.add_done_callback(confirm)


_FIRST_ONLY = (
    "subscription",
    "client_id",
    "max_outstanding_messages",
    "max_outstanding_bytes",
    "protocol_version",
)


def _check_later(request: Any) -> None:
    """Refuse fields that only the first request can set (Pub/Sub: StreamingPullRequest)."""
    wrong = [name for name in _FIRST_ONLY if getattr(request, name)]
    if wrong:
        raise InvalidArgument(
            f"{', '.join(wrong)}: only the first request of a stream can set this; leave it out"
        )


def _stream_ack_deadline(seconds: int) -> int:
    if not MIN_ACK_DEADLINE_SECONDS <= seconds <= MAX_ACK_DEADLINE_SECONDS:
        raise InvalidArgument(
            f"stream_ack_deadline_seconds: {seconds}; whole seconds from "
            f"{MIN_ACK_DEADLINE_SECONDS} to {MAX_ACK_DEADLINE_SECONDS} are accepted"
        )
    return seconds


def _with_properties(dispatcher: Dispatcher, **fields: Any) -> Any:
    subscription = dispatcher.subscription
    return _Response(
        subscription_properties={
            "exactly_once_delivery_enabled": subscription.enable_exactly_once_delivery,
            "message_ordering_enabled": subscription.enable_message_ordering,
        },
        **fields,
    )
