"""The leaser of a subscription: what is leased, who has it until when, and what is to be said.

The server leases messages for a short time, and extends its leases while they are held: those of
messages that consumers have until their deadlines. So the deadlines of consumers are kept here, in
memory, and moving one takes no commit. If the server dies, its leases end by themselves: soon where
nobody has the messages yet, and at the deadlines of those who have them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from datetime import datetime, timedelta

from pubsub_delta.policy.ack_ids import parse_ack_id
from pubsub_delta.policy.ack_requests import AckRequest, AckResponse
from pubsub_delta.policy.messages import size_of
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.server.answers import Asked, Unsaid
from pubsub_delta.server.assigner import Assigner, Delivery
from pubsub_delta.server.held import Held, length_of_leases
from pubsub_delta.server.memory import Memory

REMEMBERED_IDS = 100_000
"""Ack ids that are remembered as acknowledged or nacked, with exactly-once delivery, until that was
told: the success of one cannot be told beside the failure of another, so clients say both again,
and so they do without an answer. All are forgotten with a seek, a detach or a deletion."""

_DEADLINES_THAT_NO_LONGER_COUNT = 1_000
"""So many are kept at least, and as many as messages are held; a client may move one for ever."""

_NONE = Positions()
_NACK = timedelta(0)
_SECOND = timedelta(seconds=1)


class Leaser:
    """What a server holds of a subscription, and what it has to say in its next turn.

    ``uid``: the subscription's. ``ordered``: a failed message takes the later ones of its key in
    its lease with it, as the store returns them together. ``exactly_once``: who acknowledges is
    told what came of it, so words wait for their turn. ``confirms``: they do without it, too.
    """

    def __init__(
        self,
        uid: str,
        *,
        ordered: bool,
        exactly_once: bool,
        confirms: bool = False,
        memory: Memory | None = None,
    ) -> None:
        self.memory = memory or Memory()
        self.uid = uid
        self.exactly_once = exactly_once
        self._confirms = confirms
        self.assigner = Assigner(ordered=ordered)
        self.leases: dict[int, Held] = {}
        self.unsaid = Unsaid()
        self._by_ack_id: dict[str, Delivery] = {}
        self._deadlines: list[tuple[datetime, str]] = []  # also some that no longer count
        self._acknowledged: dict[str, None] = {}
        self._nacked: dict[str, None] = {}
        self._first_lease_id = 0
        self._extending: dict[int, timedelta] = {}
        self._slowest_turn = timedelta(0)

    # How long leases are

    @property
    def length(self) -> timedelta:
        """How long leases are now."""
        return length_of_leases(self._slowest_turn, exactly_once=self.exactly_once)

    def took(self, turn: timedelta) -> None:
        """Take note how long a turn took: a lease must outlast several slow ones."""
        self._slowest_turn = max(turn, self._slowest_turn * 0.95)

    # What comes from the store

    def lease(self, lease_id: int, positions: Positions, until: datetime) -> None:
        """Note a new lease down, of which nothing is read yet."""
        self.leases[lease_id] = Held(until, positions)

    def received(
        self, lease_id: int, asked: Positions, messages: Iterable[ReceivedMessage]
    ) -> None:
        """Take messages in that were read; what was asked for and is not among them is gone."""
        held = self.leases.get(lease_id)
        if held is None:
            return
        for message in messages:
            position = int(message.message_id)
            if position in held.unread:
                key = message.ordering_key if self.assigner.ordered else ""
                delivery = Delivery(
                    message, lease_id, position, size_of(message), key, memory=self.memory
                )
                held.read[position] = delivery
                self.assigner.waiting.append(delivery)
        held.unread -= asked
        self._forget_if_empty(lease_id)

    # What goes to consumers

    def sent(self, deliveries: Iterable[Delivery], seconds: int, now: datetime) -> None:
        """Note down that a consumer has messages now, and how long it has for them."""
        deadline = now + timedelta(seconds=seconds)
        for delivery in deliveries:
            self._by_ack_id[delivery.received.ack_id] = delivery
            self._set_deadline(delivery, deadline)

    @property
    def waits(self) -> bool:
        """Whether who says something is answered when it is written."""
        return self.exactly_once or self._confirms

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held and nothing is left to be said."""
        return not self.leases and not self.unsaid

    @property
    def waiting(self) -> int:
        """How many messages wait to be given away, read or not."""
        return len(self.assigner.waiting) + sum(len(held.unread) for held in self.leases.values())

    # What consumers say

    def acknowledge(self, ack_ids: Iterable[str]) -> Asked:
        """Acknowledge deliveries; what is asked for can be awaited.

        An acknowledgement that has succeeded is not written again: whether it holds still is asked
        in the next turn, as another process may have sought since.
        """
        asked = Asked()
        for ack_id in ack_ids:
            delivery = self._by_ack_id.get(ack_id)
            if delivery is not None:
                self._take_off(delivery)
                place = delivery.lease_id, delivery.position
            else:
                found = self._place_of(ack_id, asked)
                if found is None:
                    continue
                place = found
                if self.exactly_once and ack_id in self._acknowledged:
                    self.unsaid.repeat(place, ack_id, asked)
                    continue
            self.unsaid.acknowledge(place, ack_id, asked if self.waits else None)
        return asked

    def told(self, ack_ids: Iterable[str]) -> None:
        """Take note that clients were told of successes: who repeats one of these has failed.

        Spec: "A repeated ack of an already successful id is reported invalid".
        """
        for ack_id in ack_ids:
            self._acknowledged.pop(ack_id, None)
            self._nacked.pop(ack_id, None)

    def modify_ack_deadline(self, ack_ids: Iterable[str], seconds: int, now: datetime) -> Asked:
        """Move deadlines to so many seconds from now; 0 is a nack.

        Where the lease is long enough the deadline is moved here, and nothing is to be said. Nor is
        a nack that has succeeded said again.
        """
        asked = Asked()
        waits = asked if self.waits else None
        deadline = timedelta(seconds=seconds)
        for ack_id in ack_ids:
            if self.exactly_once and not seconds and ack_id in self._nacked:
                continue
            delivery = self._by_ack_id.get(ack_id)
            if delivery is None:
                place = self._place_of(ack_id, asked)
                if place is not None:
                    self.unsaid.modify(deadline, place, ack_id, waits)
                continue
            place = delivery.lease_id, delivery.position
            if not seconds:
                self._fail(delivery)
                self.unsaid.modify(_NACK, place, ack_id, waits)
                continue
            self._set_deadline(delivery, now + deadline)
            if self.waits and self.leases[delivery.lease_id].until < now + deadline:
                self.unsaid.modify(max(deadline, self.length), place, ack_id, waits)
        return asked

    # What time brings

    def expire(self, now: datetime) -> int:
        """Let deliveries fail whose deadline has passed; return how many."""
        failed = 0
        while self._deadlines and self._deadlines[0][0] <= now:
            at, ack_id = heapq.heappop(self._deadlines)
            delivery = self._by_ack_id.get(ack_id)
            if delivery is not None and delivery.deadline == at:
                self._fail(delivery)
                self.unsaid.modify(_NACK, (delivery.lease_id, delivery.position), ack_id, None)
                failed += 1
        return failed

    def extension_due(self, now: datetime) -> bool:
        """Tell whether a lease is to be extended."""
        return any(held.is_due(now, self.length) for held in self.leases.values())

    def let_go_of_overdue(self, now: datetime) -> int:
        """Let go of what nobody was given and whose lease is over; return how much it was.

        This process was stopped, or could not write: others may have leased it since.
        """
        over = {lease_id for lease_id, held in self.leases.items() if held.until <= now}
        return self._give_back_waiting(over) if over else 0

    def give_back(self, ack_ids: Iterable[str]) -> None:
        """Give back what a consumer has, as if it had never been leased: no delivery failed."""
        for ack_id in ack_ids:
            delivery = self._by_ack_id.get(ack_id)
            if delivery is not None:
                self._take_off(delivery)
                position = Positions.of([delivery.position])
                self.unsaid.give_back(delivery.lease_id, position)

    def give_back_waiting(self) -> int:
        """Give back what no consumer was given, as if it had never been leased."""
        return self._give_back_waiting(set(self.leases))

    def _give_back_waiting(self, of: set[int]) -> int:
        returned = 0
        for lease_id, held in [(each, self.leases[each]) for each in of]:
            waiting = [n for n, each in held.read.items() if each.consumer is None]
            waiting = [n for n in waiting if held.read[n].deadline is None]
            positions = held.unread | Positions.of(waiting)
            if not positions:
                continue
            self.unsaid.give_back(lease_id, positions)
            returned += len(positions)
            held.unread = _NONE
            for position in waiting:
                del held.read[position]
            self._forget_if_empty(lease_id)
        kept = [each for each in self.assigner.waiting if each.lease_id not in of]
        self.assigner.waiting.clear()
        self.assigner.waiting.extend(kept)
        return returned

    def hand_over(self, now: datetime) -> int:
        """Let go of everything at the end of the server; return how much was given back.

        What nobody was given goes back. What consumers have stays theirs until their deadlines:
        the leases are cut down to these.
        """
        returned = self.give_back_waiting()
        for ack_id, delivery in self._by_ack_id.items():
            assert delivery.deadline is not None
            left = max(-((now - delivery.deadline) // _SECOND), 1)
            place = delivery.lease_id, delivery.position
            self.unsaid.modify(left * _SECOND, place, ack_id, None)
        self._clear()  # consumers keep what they have: it is sent still, if it was not yet
        return returned

    def forget(self) -> None:
        """Forget what is held and remembered: a seek has voided it, or the subscription is gone."""
        for delivery in self._by_ack_id.values():
            self.assigner.let_go(delivery)
        self._clear()

    def _clear(self) -> None:
        self.leases.clear()
        self.assigner.forget()
        self._by_ack_id.clear()
        self._deadlines.clear()
        self._acknowledged.clear()
        self._nacked.clear()

    # The turn

    def turn(self, now: datetime) -> AckRequest:
        """Return what is to be said now, with the extensions of leases that need one."""
        due = {each: held for each, held in self.leases.items() if held.is_due(now, self.length)}
        self._extending.clear()
        found: dict[timedelta, dict[int, Positions]] = {}
        for lease_id, held in due.items():
            deadlines = held.deadlines(now, self.length)
            self._extending[lease_id] = min(deadlines, default=self.length)
            for deadline, positions in deadlines.items():
                found.setdefault(deadline, {})[lease_id] = positions
        return self.unsaid.turn(found)

    def heard(self, turn: AckRequest, answer: AckResponse, now: datetime) -> None:
        """Take in what came of a turn that was begun at ``now``."""
        self._void_below(answer.first_lease_id)
        done = self.unsaid.settle(answer)
        if self.exactly_once:
            _remember(self._acknowledged, done.acknowledged)
            _remember(self._nacked, done.nacked)
        for deadline, named in turn.deadlines.items():
            if not deadline:
                continue
            kept = answer.deadlines[deadline].success
            for lease_id, positions in named.items():
                self._lose(lease_id, positions - kept.get(lease_id, _NONE))
        for lease_id in self._extending.keys() & self.leases.keys():
            self.leases[lease_id].until = now + self._extending[lease_id]

    # Inside

    def _void_below(self, first_lease_id: int) -> None:
        """Forget what is from before a seek that somebody has asked for since the last turn."""
        if first_lease_id == self._first_lease_id:
            return
        self._first_lease_id = first_lease_id
        self._acknowledged.clear()
        self._nacked.clear()
        for lease_id, held in list(self.leases.items()):
            if lease_id < first_lease_id:
                self._lose(lease_id, held.positions)

    def _place_of(self, ack_id: str, asked: Asked) -> tuple[int, int] | None:
        """Return lease and position of a delivery that is not held here; None if it names none."""
        parsed = parse_ack_id(ack_id)
        if parsed is None:
            asked.malformed.append(ack_id)
        elif parsed.subscription_uid != self.uid:
            asked.foreign.append(ack_id)
            asked.fail(ack_id)
        else:
            return parsed.lease_id, parsed.position
        return None

    def _set_deadline(self, delivery: Delivery, deadline: datetime) -> None:
        delivery.deadline = deadline
        heapq.heappush(self._deadlines, (deadline, delivery.received.ack_id))
        if len(self._deadlines) > 2 * len(self._by_ack_id) + _DEADLINES_THAT_NO_LONGER_COUNT:
            held = self._by_ack_id.items()
            self._deadlines = [(d.deadline, ack_id) for ack_id, d in held if d.deadline is not None]
            heapq.heapify(self._deadlines)

    def _take_off(self, delivery: Delivery) -> None:
        self._by_ack_id.pop(delivery.received.ack_id, None)
        self.assigner.let_go(delivery)
        held = self.leases.get(delivery.lease_id)
        if held is not None:
            held.read.pop(delivery.position, None)
            self._forget_if_empty(delivery.lease_id)

    def _fail(self, delivery: Delivery) -> None:
        """Take a failed delivery off, and with ordering what returns with it."""
        held = self.leases.get(delivery.lease_id)
        self._take_off(delivery)
        if held is None or not delivery.key:
            return
        later = [
            each
            for position, each in held.read.items()
            if each.key == delivery.key and position > delivery.position
        ]
        self._drop(later)

    def _lose(self, lease_id: int, positions: Positions) -> None:
        """Let go of messages that the store does not hold for this server any more."""
        held = self.leases.get(lease_id)
        if held is None or not positions:
            return
        held.unread -= positions
        self._drop([each for position, each in held.read.items() if position in positions])
        self._forget_if_empty(lease_id)

    def _drop(self, deliveries: Iterable[Delivery]) -> None:
        dropped = set(map(id, deliveries := list(deliveries)))
        for delivery in deliveries:
            self._take_off(delivery)
        if dropped:
            kept = [each for each in self.assigner.waiting if id(each) not in dropped]
            self.assigner.waiting.clear()
            self.assigner.waiting.extend(kept)

    def _forget_if_empty(self, lease_id: int) -> None:
        held = self.leases.get(lease_id)
        if held is not None and not held.read and not held.unread:
            del self.leases[lease_id]


def _remember(ids: dict[str, None], new: Iterable[str]) -> None:
    """Remember ack ids, of all no more than the last ones."""
    ids.update(dict.fromkeys(new))
    while len(ids) > REMEMBERED_IDS:
        del ids[next(iter(ids))]
