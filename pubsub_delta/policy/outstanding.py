"""Outstanding messages: the messages that a consumer has leased and not acked or nacked yet.

The callbacks of ``store.subscribe()`` and every subscription of a server keep one such book. It
decides the content of the next ack request, and from the response which messages are lost. It has
no threads and no clock: its owner sends the requests to the store.

Pub/Sub: "messages that are outstanding" are those that were sent and not acknowledged; the client
extends their leases.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from pubsub_delta.policy.ack_buffer import NACK, AckBuffer, Place, Settled
from pubsub_delta.policy.ack_requests import AckRequest, AckResponse
from pubsub_delta.policy.positions import Positions

_NONE = Positions()
_STEP = timedelta(seconds=10)
"""Deadlines are written in steps: one for each message would be too many for an ack state."""
_SECOND = timedelta(seconds=1)


@dataclass(eq=False, slots=True)
class Delivery:
    """One delivery of a message that was read.

    ``size``: its bytes. ``key``: its ordering key, or "" without ordering. ``deadline``: until when
    a client has it, None before it was sent. ``leased_until``: the end of its lease, unless another
    process has moved that. ``is_outstanding``: whether it is still leased, and not acked or nacked.
    """

    lease_id: int
    position: int
    size: int
    key: str = ""
    deadline: datetime | None = None
    leased_until: datetime | None = field(default=None, init=False)
    is_outstanding: bool = field(default=False, init=False)

    @property
    def place(self) -> Place:
        """Its lease and position."""
        return self.lease_id, self.position

    def may_be_sent(self, now: datetime) -> bool:
        """Return whether neither its deadline nor its lease is over; else another can have it."""
        return all(end is None or now < end for end in (self.deadline, self.leased_until))


D = TypeVar("D", bound=Delivery)
W = TypeVar("W")


@dataclass
class OutstandingLease(Generic[D]):
    """The outstanding messages of a lease, read and unread.

    ``until``: its end, unless a client has a message for longer. ``length``: the length of an
    extension. ``returned_keys``: ordering keys of nacked or returned messages, whose later ones
    have returned, too.
    """

    leased: datetime
    until: datetime
    length: timedelta
    unread: Positions
    read: dict[int, D] = field(default_factory=dict)
    by_key: dict[str, dict[int, D]] = field(default_factory=dict)
    returned_keys: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.unread) + len(self.read)

    @property
    def positions(self) -> Positions:
        """Every message that is outstanding."""
        return self.unread | Positions.of(self.read)

    def deadlines(self, now: datetime, *, is_last: bool = False) -> dict[timedelta, Positions]:
        """Return the messages to extend, by the length of their lease from now.

        A message that a client has stays leased until its deadline at least, even if this process
        ends before; and no longer if this is the last time (``is_last``).
        """
        by_end: dict[datetime | None, list[int]] = {}
        for position, delivery in self.read.items():  # there may be a hundred thousand of them
            by_end.setdefault(delivery.deadline, []).append(position)
        found: dict[timedelta, list[Positions]] = {self.length: [self.unread]}
        for end, positions in by_end.items():
            deadline = self.length
            if end is not None and is_last:
                deadline = max(-((now - end) // _SECOND), 1) * _SECOND
            elif end is not None and end > now + self.length:
                deadline = -((now - end) // _STEP) * _STEP
            found.setdefault(deadline, []).append(Positions.of(positions))
        joined = {deadline: Positions.union(parts) for deadline, parts in found.items()}
        return {deadline: positions for deadline, positions in joined.items() if positions}

    def known_ends(self, asked: Positions) -> dict[datetime, Positions]:
        """Return the messages that clients have, of those asked for, by the end of their lease.

        No other process has moved the others: nobody knows their ack ids yet.
        """
        found: dict[datetime, list[int]] = {}
        for position, delivery in self.read.items():
            if delivery.deadline is not None and position in asked:
                found.setdefault(delivery.leased_until or self.until, []).append(position)
        return {end: Positions.of(positions) for end, positions in found.items()}


@dataclass(frozen=True)
class Applied(Generic[D, W]):
    """The result of a response.

    ``lost``: deliveries that this consumer has lost. ``settled``: waiters. ``moved``: deliveries
    whose lease another process has moved, by its end: a client has them until then at least.
    ``failed``: how many of the expired deliveries were not among them.
    """

    lost: list[D]
    settled: list[Settled[W]]
    moved: dict[D, datetime]
    failed: int


class Outstanding(Generic[D, W]):
    """The leases of one consumer, and the ack requests for their messages.

    Args:
        extended_at: the part of a lease that is left when it is extended; it may be changed.
    """

    def __init__(self, extended_at: float) -> None:
        self.leases: dict[int, OutstandingLease[D]] = {}  # the oldest first
        self.acks: AckBuffer[W] = AckBuffer()
        self.messages = self.bytes = 0
        """Bytes of the messages that were read and are outstanding."""
        self.expired: dict[Place, D] = {}
        """Deliveries whose deadline has passed; they are outstanding until a request is applied."""
        self.extended_at = extended_at
        self._extending: dict[int, timedelta] = {}
        self.is_ending = False
        """Whether requests shorten all leases to the deadlines of clients."""

    def __len__(self) -> int:
        """Return how many messages are outstanding, read or not."""
        return sum(map(len, self.leases.values()))

    # Leases from the store

    def lease(
        self,
        lease_id: int,
        positions: Positions,
        leased: datetime,
        until: datetime,
        length: timedelta,
    ) -> None:
        """Add a lease, whose messages are not read yet."""
        self.leases[lease_id] = OutstandingLease(leased, until, length, positions)

    def read(self, lease_id: int, asked: Positions, deliveries: Iterable[D]) -> list[D]:
        """Add messages that were read, and return those that are outstanding.

        Requested messages that are missing are gone from the topic. Messages that have returned
        with an earlier one of their key no longer belong to this consumer.
        """
        lease = self.leases.get(lease_id)
        if lease is None:
            return []
        added = []
        for delivery in deliveries:
            if delivery.position not in lease.unread or delivery.key in lease.returned_keys:
                continue
            delivery.is_outstanding = True
            delivery.leased_until = lease.until
            lease.read[delivery.position] = delivery
            if delivery.key:
                lease.by_key.setdefault(delivery.key, {})[delivery.position] = delivery
            self.messages += 1
            self.bytes += delivery.size
            added.append(delivery)
        lease.unread -= asked
        self._forget_if_empty(lease_id)
        return added

    # Requests for deliveries

    def acknowledge(self, delivery: D, waiter: W | None = None) -> None:
        """Acknowledge a delivery, also one that is not outstanding: the store decides."""
        self._take_off(delivery)
        self.acks.acknowledge(delivery.place, waiter)

    def nack(self, delivery: D, waiter: W | None = None) -> list[D]:
        """Let a delivery fail, and return the later ones of its key and lease.

        The store returns these with it, so they are no longer outstanding either.
        """
        self.acks.modify_ack_deadline(delivery.place, NACK, waiter)
        return self._return(delivery)

    def expire(self, delivery: D) -> None:
        """Let a delivery fail by the next request, as its client's deadline has passed.

        It does not fail if another process has given it a later one.
        """
        self.expired[delivery.place] = delivery

    def give_back(self, delivery: D) -> list[D]:
        """Give a delivery back as if it had never been leased; it does not fail.

        Returns the later ones of its key and lease, which the store returns with it, too.
        """
        self.acks.give_back(delivery.lease_id, Positions.of([delivery.position]))
        return self._return(delivery)

    def give_back_waiting(self, lease_ids: Iterable[int]) -> int:
        """Give back messages that no client has, read or not; return their number."""
        returned = 0
        for lease_id in lease_ids:
            lease = self.leases[lease_id]
            waiting = [each for each in lease.read.values() if each.deadline is None]
            positions = lease.unread | Positions.of(each.position for each in waiting)
            if positions:
                self.acks.give_back(lease_id, positions)
                returned += len(positions)
            lease.unread = _NONE
            self._all_taken_off(waiting)
            self._forget_if_empty(lease_id)
        return returned

    # Lost leases

    def lose(self, lease_id: int, positions: Positions) -> list[D]:
        """Drop messages whose lease this consumer has lost; return those that were read."""
        lease = self.leases.get(lease_id)
        if lease is None or not positions:
            return []
        lease.unread -= positions
        lost = self._of(lease_id, positions)
        self._all_taken_off(lost)
        self._forget_if_empty(lease_id)
        return lost

    def forget(self, lease_ids: Iterable[int] | None = None) -> list[D]:
        """Drop leases, by default all of them; return their messages that were read."""
        chosen = list(self.leases if lease_ids is None else lease_ids)
        lost = []
        for lease_id in chosen:
            lost += self._all_taken_off(list(self.leases[lease_id].read.values()))
            self.leases.pop(lease_id, None)  # perhaps without read messages
        return lost

    # Requests

    def is_due(self, now: datetime) -> bool:
        """Return whether a lease is to be extended."""
        return any(self._is_due(lease, now) for lease in self.leases.values())

    def request(self, now: datetime) -> AckRequest:
        """Return the request to send to the store now, with the due extensions of leases."""
        self._extending.clear()
        own: dict[timedelta, dict[int, Positions]] = {}
        known_ends: dict[datetime, dict[int, Positions]] = {}
        expired: dict[int, list[int]] = {}
        for lease_id, position in self.expired:
            expired.setdefault(lease_id, []).append(position)
        for lease_id, lease in self.leases.items():
            is_due = self.is_ending or self._is_due(lease, now)
            if not is_due and lease_id not in expired:
                continue
            failing = Positions.of(expired.get(lease_id, ()))
            asked = {NACK: failing} if failing else {}
            if is_due:
                deadlines = lease.deadlines(now, is_last=self.is_ending)
                self._extending[lease_id] = min(deadlines, default=lease.length)
                asked |= {of: positions - failing for of, positions in deadlines.items()}
            for deadline, positions in asked.items():
                own.setdefault(deadline, {})[lease_id] = positions
            for end, positions in lease.known_ends(Positions.union(asked.values())).items():
                known_ends.setdefault(end, {})[lease_id] = positions
        return self.acks.request(own, known_ends)

    def apply(self, request: AckRequest, response: AckResponse, now: datetime) -> Applied[D, W]:
        """Apply the response to the request of ``now``.

        Messages whose extension failed are lost, and so are all that were leased before a seek.
        """
        settled = self.acks.settle(response)
        expired = self._take_expired(request)
        lost = self.forget([each for each in self.leases if each < response.first_lease_id])
        for deadline, named in request.deadlines.items():
            success = response.deadlines[deadline].success
            for lease_id, positions in named.items():
                kept = success.get(lease_id, _NONE)
                lost += self.lose(lease_id, positions - kept)
                for delivery in self._of(lease_id, kept):
                    delivery.leased_until = now + deadline
        for lease_id in self._extending.keys() & self.leases.keys():
            self.leases[lease_id].until = now + self._extending[lease_id]
        self._note_earlier_ends(request, now)
        moved = {
            delivery: end
            for end, named in response.moved_ends.items()
            for lease_id, positions in named.items()
            for delivery in self._of(lease_id, positions)
        }
        failed = [delivery for delivery in expired if delivery not in moved]
        for delivery in failed:
            lost += [delivery, *self._return(delivery)]
        return Applied(lost, settled, moved, len(failed))

    # Inside

    def _of(self, lease_id: int, positions: Positions) -> list[D]:
        """Return those of some messages that were read."""
        lease = self.leases.get(lease_id)
        if lease is None:
            return []
        if len(positions) < len(lease.read):
            return [lease.read[of] for of in positions if of in lease.read]
        return [each for position, each in lease.read.items() if position in positions]

    def _note_earlier_ends(self, request: AckRequest, now: datetime) -> None:
        """Let a lease end with its first message that no client has: so it is extended in time.

        A client is told the deadline that it has asked for, and extends that itself.
        """
        for deadline, named in request.deadlines.items():
            for lease_id, positions in named.items() if deadline else ():
                lease = self.leases.get(lease_id)
                if lease is None or lease.until <= now + deadline:
                    continue
                if any(each.deadline is None for each in self._of(lease_id, positions)):
                    lease.until = now + deadline

    def _take_expired(self, request: AckRequest) -> list[D]:
        """Return the expired deliveries of a request, and forget that they have expired."""
        asked = request.deadlines.get(NACK, {})
        places = [place for place in self.expired if place[1] in asked.get(place[0], _NONE)]
        return [self.expired.pop(place) for place in places]

    def _is_due(self, lease: OutstandingLease[D], now: datetime) -> bool:
        return lease.until - now < lease.length * self.extended_at

    def _return(self, delivery: D) -> list[D]:
        """Remove a delivery with the later ones of its key and lease, and return these."""
        followers: list[D] = []
        if delivery.key and delivery.is_outstanding:
            lease = self.leases[delivery.lease_id]
            lease.returned_keys.add(delivery.key)
            of_key = lease.by_key[delivery.key].values()
            followers = [each for each in of_key if each.position > delivery.position]
        self._take_off(delivery)
        return self._all_taken_off(followers)

    def _take_off(self, delivery: D) -> None:
        if not delivery.is_outstanding:
            return
        delivery.is_outstanding = False
        self.expired.pop(delivery.place, None)
        self.messages -= 1
        self.bytes -= delivery.size
        lease = self.leases[delivery.lease_id]
        del lease.read[delivery.position]
        if delivery.key:
            del lease.by_key[delivery.key][delivery.position]
            if not lease.by_key[delivery.key]:
                del lease.by_key[delivery.key]
        self._forget_if_empty(delivery.lease_id)

    def _all_taken_off(self, deliveries: list[D]) -> list[D]:
        taken_off = [each for each in deliveries if each.is_outstanding]
        for delivery in taken_off:
            self._take_off(delivery)
        return taken_off

    def _forget_if_empty(self, lease_id: int) -> None:
        lease = self.leases.get(lease_id)
        if lease is not None and not lease.read and not lease.unread:
            del self.leases[lease_id]
