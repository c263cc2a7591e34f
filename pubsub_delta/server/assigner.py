"""Assigner: gives messages to consumers, within the flow control of each.

Pub/Sub: messages are spread over the streams of a subscription, none is sent more than its flow
control allows, and the messages of an ordering key go to one stream at a time.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from pubsub_delta.policy import outstanding
from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.server.memory import Memory

UNLIMITED_MESSAGES = 10_000
"""The limits of a stream that asks for none."""
UNLIMITED_BYTES = 100_000_000
_REMEMBERED_FAILURES = 10_000
"""Messages, of which it is known at which consumer they failed; about 100 bytes each."""


@dataclass(eq=False)
class Consumer:
    """A consumer of messages: a stream, one pull, or a pusher.

    ``max_messages``, ``max_bytes``: its most outstanding messages; 0 or less for no limit of its
    own. ``ack_deadline_seconds``: the deadline of its messages. ``keys_singly``: whether it gets
    one message of an ordering key at a time. ``ahead``: how many times its free room is leased at
    once. ``max_unsent``: the most bytes that wait to be sent to it, 0 for no limit; ``unsent``: how
    many do. While it ``is_paused`` it gets none.
    """

    max_messages: int = 0
    max_bytes: int = 0
    ack_deadline_seconds: int = 10
    keys_singly: bool = False
    ahead: int = 1
    max_unsent: int = 0
    unsent: int = field(default=0, init=False)
    turn: int = field(default=0, init=False)
    messages: int = field(default=0, init=False)
    bytes: int = field(default=0, init=False)
    is_open: bool = field(default=True, init=False)
    is_paused: bool = field(default=False, init=False)

    @property
    def free(self) -> int:
        """How many more small messages it has room for."""
        limit = self.max_messages if self.max_messages > 0 else UNLIMITED_MESSAGES
        if not self.is_open or self.is_paused:
            return 0
        if self.messages and self.bytes >= self._byte_limit:
            return 0
        if self.max_unsent and self.unsent >= self.max_unsent:
            return 0
        return max(0, limit - self.messages)

    def has_room(self, size: int) -> bool:
        """Return whether it has room for a message; a single larger one always fits."""
        if self.max_unsent and self.unsent and self.unsent + size > self.max_unsent:
            return False
        return self.free > 0 and (not self.messages or self.bytes + size <= self._byte_limit)

    @property
    def _byte_limit(self) -> int:
        return self.max_bytes if self.max_bytes > 0 else UNLIMITED_BYTES


@dataclass(eq=False, slots=True)
class Delivery(outstanding.Delivery):
    """A leased message, which waits for a consumer, or which one has until ``deadline``.

    Its data and attributes are in ``memory`` until they are sent.
    """

    received: ReceivedMessage = field(kw_only=True)
    consumer: Consumer | None = field(default=None, kw_only=True)
    memory: Memory | None = field(default=None, kw_only=True)
    is_sent: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.memory is not None:
            self.memory.add(1, self.size)

    def __del__(self) -> None:
        if self.memory is not None:
            self.memory.add(-1, 0 if self.is_sent else -self.size)

    def was_sent(self) -> None:
        """Drop the data and the attributes, which were sent."""
        if self.is_sent:
            return
        self.is_sent = True
        if self.memory is not None:
            was = self.received
            self.received = ReceivedMessage(
                was.ack_id,
                was.message_id,
                was.publish_time,
                b"",
                _NO_ATTRIBUTES,
                was.ordering_key,
                was.delivery_attempt,
            )
            self.memory.add(0, -self.size)


_NO_ATTRIBUTES: Mapping[str, str] = {}


@dataclass(eq=False)
class Receiver:
    """A consumer of a dispatcher, and its callbacks.

    ``deliver``: receives messages; none after an exchange that was begun for it and had none for
    it. ``fail``: receives the error after which no messages come.
    """

    consumer: Consumer
    deliver: Callable[[Sequence[Delivery]], object]
    fail: Callable[[Exception], object]


class Assigner:
    """Assigns messages to consumers.

    ``ordered``: whether the subscription has ordering. A key then belongs to the consumer that has
    messages of it, even one that has left, until all of them are acked, nacked or expired.
    """

    def __init__(self, *, ordered: bool = False) -> None:
        self.ordered = ordered
        self.waiting: deque[Delivery] = deque()
        self._key_owners: dict[str, tuple[Consumer, int]] = {}
        self._turns = count(1)
        self._failed_at: dict[int, Consumer] = {}

    def assign(self, consumers: Iterable[Consumer]) -> dict[Consumer, list[Delivery]]:
        """Assign waiting messages, the oldest first, each to the consumer with the fewest.

        Of several with the fewest it is the one that neither got nor answered one for longest. A
        message whose deadline has passed at one goes to another that has room. One that no consumer
        has room for keeps its place, and so do later ones of its key.
        """
        number = count()
        free = [(each.messages, each.turn, next(number), each) for each in consumers if each.free]
        heapq.heapify(free)
        given: dict[Consumer, list[Delivery]] = {}
        kept: list[Delivery] = []
        held_up: set[str] = set()
        while free and self.waiting:
            delivery = self.waiting.popleft()
            key = delivery.key if self.ordered else ""
            consumer = None if key in held_up else self._consumer_for(delivery, key, free)
            if consumer is None:
                kept.append(delivery)
                if key:
                    held_up.add(key)
                continue
            self._assign(delivery, consumer, key)
            given.setdefault(consumer, []).append(delivery)
            heapq.heappush(free, (consumer.messages, consumer.turn, next(number), consumer))
        self.waiting.extendleft(reversed(kept))
        return given

    def fail(self, delivery: Delivery) -> None:
        """Note that the deadline of a message has passed at its consumer, which may hang."""
        if delivery.consumer is not None:
            self._failed_at[delivery.position] = delivery.consumer
            if len(self._failed_at) > _REMEMBERED_FAILURES:
                del self._failed_at[next(iter(self._failed_at))]

    def release(self, delivery: Delivery) -> None:
        """Remove a message from its consumer: it was acked or nacked, or has expired."""
        consumer = delivery.consumer
        if consumer is None:
            return
        delivery.consumer = None
        consumer.turn = next(self._turns)
        consumer.messages -= 1
        consumer.bytes -= delivery.size
        if self.ordered and delivery.key in self._key_owners:
            owner, held = self._key_owners[delivery.key]
            if held > 1:
                self._key_owners[delivery.key] = owner, held - 1
            else:
                del self._key_owners[delivery.key]

    def drop_answered(self) -> None:
        """Drop messages that are no longer outstanding."""
        self.waiting = deque(each for each in self.waiting if each.is_outstanding)

    def forget(self) -> None:
        """Drop every message, waiting or assigned."""
        self.waiting.clear()
        self._key_owners.clear()
        self._failed_at.clear()

    def _consumer_for(
        self, delivery: Delivery, key: str, free: list[tuple[int, int, int, Consumer]]
    ) -> Consumer | None:
        if key in self._key_owners:
            owner, _ = self._key_owners[key]
            takes = not owner.keys_singly and owner.has_room(delivery.size)
            return owner if takes else None
        last_choice: tuple[int, int, int, Consumer] | None = None
        while free:
            messages, *_, consumer = place = heapq.heappop(free)
            # The count differs: it got messages since, and is in the heap once more.
            if messages != consumer.messages or not consumer.has_room(delivery.size):
                continue
            if consumer is self._failed_at.get(delivery.position) and last_choice is None:
                last_choice = place
                continue
            if last_choice is not None:
                heapq.heappush(free, last_choice)
            return consumer
        return last_choice[-1] if last_choice is not None else None

    def _assign(self, delivery: Delivery, consumer: Consumer, key: str) -> None:
        delivery.consumer = consumer
        self._failed_at.pop(delivery.position, None)
        consumer.turn = next(self._turns)
        consumer.messages += 1
        consumer.bytes += delivery.size
        consumer.unsent += delivery.size if consumer.max_unsent else 0
        if key:
            _, held = self._key_owners.get(key, (consumer, 0))
            self._key_owners[key] = consumer, held + 1


def prefetch(free: int, sent_meanwhile: int, most: int) -> int:
    """Return how many messages to prefetch.

    It is as many as consumers have room for (``free``), for some of them several times. Or twice as
    many as were sent during the last exchange, if that is more, as consumers make room meanwhile.
    Nothing is prefetched for consumers that do not progress.

    >>> prefetch(1000, 0, 20_000), prefetch(1000, 3000, 20_000), prefetch(0, 0, 20_000)
    (1000, 6000, 0)
    """
    return min(most, max(free, 2 * sent_meanwhile))
