"""StreamingPull: one stream of a client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.fields import (
    MAX_ACK_DEADLINE_SECONDS,
    MIN_ACK_DEADLINE_SECONDS,
    check_new_deadline,
)
from pubsub_delta.server import wire
from pubsub_delta.server.answers import INVALID_ACK_ID, Asked
from pubsub_delta.server.desk import Desk
from pubsub_delta.server.leasing import Dispatcher, Taker
from pubsub_delta.server.protocol import message_class
from pubsub_delta.server.sharing import Consumer, Delivery

MOST_MESSAGES = 1000
MOST_BYTES = 3_000_000
"""In one response; a larger message comes alone."""
AHEAD = 4
"""Times the room of a stream that is leased at first: it takes many rooms full in one turn."""

Out = list[Delivery] | dict[str, Any] | Exception | None
"""Messages, another field of a response, the error that ends the stream, or its end."""

_Response = message_class("StreamingPullResponse")


class Stream:
    """A StreamingPull call: requests say words, and responses carry messages and confirmations."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._outbox: asyncio.Queue[Out] = asyncio.Queue()

    async def run(self, requests: Any) -> AsyncIterator[Any]:
        """Yield responses until the client says no more, or an error ends the stream."""
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
        )
        dispatcher = await self._desk.pulled(name)
        listening = asyncio.create_task(self._listen(iterator, first, dispatcher, consumer))
        dispatcher.join(Taker(consumer, self._take, self._outbox.put_nowait))
        try:
            async for response in self._responses(dispatcher):
                yield response
        finally:
            dispatcher.leave(consumer)
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening

    def _take(self, deliveries: Sequence[Delivery]) -> None:
        if deliveries:
            self._outbox.put_nowait(list(deliveries))

    async def _responses(self, dispatcher: Dispatcher) -> AsyncIterator[Any]:
        while True:
            deliveries: list[Delivery] = []
            out = await self._outbox.get()
            while isinstance(out, list):
                deliveries += out
                if self._outbox.empty():
                    break
                out = self._outbox.get_nowait()
            for chunk in _chunks(deliveries):
                messages = [wire.received_message(each.received) for each in chunk]
                yield _with_properties(dispatcher, received_messages=messages)
            if isinstance(out, Exception):
                raise out
            if out is None:
                return
            if isinstance(out, dict):
                yield _with_properties(dispatcher, **out)

    async def _listen(
        self, requests: Any, first: Any, dispatcher: Dispatcher, consumer: Consumer
    ) -> None:
        """Hear what the client says, until it says no more."""
        try:
            self._hear(first, dispatcher)
            async for request in requests:
                if request.subscription or request.client_id:
                    raise InvalidArgument(
                        "subscription and client_id: they stand in the first request of a stream "
                        "only"
                    )
                if request.stream_ack_deadline_seconds:
                    consumer.ack_deadline_seconds = _stream_ack_deadline(
                        request.stream_ack_deadline_seconds
                    )
                self._hear(request, dispatcher)
            self._outbox.put_nowait(None)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._outbox.put_nowait(error)

    def _hear(self, request: Any, dispatcher: Dispatcher) -> None:
        if request.ack_ids:
            asked = dispatcher.acknowledge(list(request.ack_ids))
            self._confirm("acknowledge_confirmation", request.ack_ids, asked, dispatcher)
        if len(request.modify_deadline_ack_ids) != len(request.modify_deadline_seconds):
            raise InvalidArgument(
                f"modify_deadline_seconds: {len(request.modify_deadline_seconds)} of them for "
                f"{len(request.modify_deadline_ack_ids)} modify_deadline_ack_ids; one for each is "
                "accepted"
            )
        by_seconds: dict[int, list[str]] = {}
        pairs = zip(request.modify_deadline_seconds, request.modify_deadline_ack_ids, strict=True)
        for seconds, ack_id in pairs:
            check_new_deadline(seconds)
            by_seconds.setdefault(seconds, []).append(ack_id)
        for seconds, ack_ids in by_seconds.items():
            asked = dispatcher.modify_ack_deadline(ack_ids, seconds)
            self._confirm("modify_ack_deadline_confirmation", ack_ids, asked, dispatcher)

    def _confirm(
        self, field: str, ack_ids: Iterable[str], asked: Asked, dispatcher: Dispatcher
    ) -> None:
        """Confirm what was said, once it is written, with exactly-once delivery."""
        if not dispatcher.ledger.exactly_once:
            if asked.malformed:
                raise InvalidArgument(f"ack_ids: {asked.malformed[0]!r} is no ack id")
            return
        said = tuple(ack_ids)

        def confirm() -> None:
            invalid = {id_ for id_, why in asked.failures.items() if why == INVALID_ACK_ID}
            invalid.update(asked.malformed)
            later = asked.failures.keys() - invalid
            told = {
                "ack_ids": [each for each in said if each not in invalid | later],
                "invalid_ack_ids": [each for each in said if each in invalid],
                "temporary_failed_ack_ids": [each for each in said if each in later],
            }
            self._outbox.put_nowait({field: told})

        asked.when_settled(confirm)


def _stream_ack_deadline(seconds: int) -> int:
    if not MIN_ACK_DEADLINE_SECONDS <= seconds <= MAX_ACK_DEADLINE_SECONDS:
        raise InvalidArgument(
            f"stream_ack_deadline_seconds: {seconds}; whole seconds from "
            f"{MIN_ACK_DEADLINE_SECONDS} to {MAX_ACK_DEADLINE_SECONDS} are accepted"
        )
    return seconds


def _chunks(deliveries: Sequence[Delivery]) -> Iterator[list[Delivery]]:
    chunk: list[Delivery] = []
    size = 0
    for delivery in deliveries:
        if chunk and (len(chunk) >= MOST_MESSAGES or size + delivery.size > MOST_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(delivery)
        size += delivery.size
    if chunk:
        yield chunk


def _with_properties(dispatcher: Dispatcher, **fields: Any) -> Any:
    subscription = dispatcher.subscription
    return _Response(
        subscription_properties={
            "exactly_once_delivery_enabled": subscription.enable_exactly_once_delivery,
            "message_ordering_enabled": subscription.enable_message_ordering,
        },
        **fields,
    )
