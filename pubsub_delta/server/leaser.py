"""The leaser of a subscription: its leases, the deadlines of consumers, and their acks.

The server leases messages for a short time, and extends its leases while they are outstanding:
those of messages that consumers have until their deadlines. So the deadlines of consumers are kept
here, in memory, and moving one takes no commit. If the server dies, its leases end by themselves:
soon for waiting messages, and at the deadlines of consumers for others.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TypeAlias

from pubsub_delta.errors import ResourceExhausted
from pubsub_delta.policy.ack_buffer import AckBuffer, Place, Settled
from pubsub_delta.policy.ack_ids import parse_ack_id
from pubsub_delta.policy.ack_requests import AckRequest, AckResponse
from pubsub_delta.policy.messages import size_of
from pubsub_delta.policy.outstanding import Outstanding
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import ReceivedMessage
from pubsub_delta.server.ack_failures import OF_OTHERS, TRANSIENT
from pubsub_delta.server.ack_futures import AckFuture
from pubsub_delta.server.assigner import Assigner, Consumer, Delivery
from pubsub_delta.server.lease_lengths import LEASE, extended_at, length_of_leases
from pubsub_delta.server.memory import Memory
from pubsub_delta.server.sent_deliveries import SentDeliveries

MOST_PENDING = 500_000
"""The most ids of acknowledgements and new deadlines that wait to be written."""
REMEMBERED_IDS = 100_000
"""The most acknowledged or nacked ack ids that are cached with exactly-once delivery, until clients
have their outcome: they repeat ids without a response. A seek, a detach or a deletion clears it.
"""

_NO_TIME = timedelta(0)

_Waiter: TypeAlias = tuple[str, AckFuture]


class Leaser:
    """The leases of a server on a subscription, and the content of the next request.

    ``uid``: the subscription's. ``ordered``: a failed message takes the later ones of its key in
    its lease with it, as the store returns them together. ``exactly_once``: clients get the outcome
    of an acknowledgement, so its response waits for the commit. ``confirms``: it waits without
    exactly-once delivery, too.
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
        self.assigner = Assigner(ordered=ordered)
        self.outstanding: Outstanding[Delivery, _Waiter] = Outstanding(extended_at(LEASE, _NO_TIME))
        self._confirms = confirms
        self._sent = SentDeliveries()
        self._acknowledged: dict[str, None] = {}
        self._nacked: dict[str, None] = {}
        self._first_lease_id = 0
        self._slowest_request = self._longest_deadline = _NO_TIME

    @property
    def acks(self) -> AckBuffer[_Waiter]:
        """The acks and deadlines of the next request."""
        return self.outstanding.acks

    # How long leases are

    @property
    def length(self) -> timedelta:
        """The present length of leases."""
        return length_of_leases(
            self._slowest_request,
            exactly_once=self.exactly_once,
            longest_deadline=self._longest_deadline,
        )

    def cover(self, consumers: Iterable[Consumer]) -> None:
        """Let leases outlast the deadlines of these consumers, with exactly-once delivery."""
        seconds = max((each.ack_deadline_seconds for each in consumers), default=0)
        self._longest_deadline = timedelta(seconds=seconds) if self.exactly_once else _NO_TIME

    def request_took(self, duration: timedelta) -> None:
        """Note how long a request took: a lease must outlast several slow ones."""
        self._slowest_request = max(duration, self._slowest_request * 0.95)

    # Messages from the store

    def lease(self, lease_id: int, positions: Positions, now: datetime, until: datetime) -> None:
        """Add a lease that was taken at ``now``; none of its messages is read yet."""
        self.outstanding.lease(lease_id, positions, now, until, self.length)

    def received(
        self, lease_id: int, asked: Positions, messages: Iterable[ReceivedMessage]
    ) -> None:
        """Add messages that were read; requested messages that are missing are gone."""
        deliveries = [
            Delivery(
                lease_id,
                int(message.message_id),
                size_of(message),
                message.ordering_key if self.assigner.ordered else "",
                received=message,
                memory=self.memory,
            )
            for message in messages
        ]
        self.assigner.waiting.extend(self.outstanding.read(lease_id, asked, deliveries))

    # Messages to consumers

    def sent(self, deliveries: Iterable[Delivery], seconds: int, now: datetime) -> None:
        """Note that a consumer has messages from now on, and its ack deadline."""
        deadline = now + timedelta(seconds=seconds)
        for delivery in deliveries:
            self._sent.set_deadline(delivery, deadline)

    @property
    def confirms(self) -> bool:
        """Whether the response to an ack or a new deadline waits for its commit."""
        return self.exactly_once or self._confirms

    @property
    def is_empty(self) -> bool:
        """Whether nothing is outstanding, and nothing waits for a request."""
        return not self.outstanding.leases and not self.acks

    @property
    def has_confirmations(self) -> bool:
        """Whether a client may repeat an ack or a nack, whose success it was not told."""
        return bool(self._acknowledged or self._nacked)

    @property
    def has_request(self) -> bool:
        """Whether something waits for a request that is not an extension of a lease."""
        is_ending = self.outstanding.is_ending and not self.is_empty
        return bool(self.acks or self.outstanding.expired or is_ending)

    @property
    def waiting(self) -> int:
        """How many messages wait for a consumer, read or not."""
        unread = (len(lease.unread) for lease in self.outstanding.leases.values())
        return len(self.assigner.waiting) + sum(unread)

    def may_give(self, consumers: Iterable[Consumer], now: datetime) -> bool:
        """Return whether messages may be given to these consumers now.

        With exactly-once delivery a client's deadline holds if this server dies at that moment. So
        nothing is given while a lease that ends before it is not extended yet.
        """
        self.cover(consumers)
        covered = now + self._longest_deadline
        leases = self.outstanding.leases.values() if self.exactly_once else ()
        return all(lease.until >= covered for lease in leases)

    # Acks and deadlines of consumers

    def check_room(self) -> None:
        """Raise ResourceExhausted if too many acks wait, as when the store cannot be written."""
        if len(self.acks) > MOST_PENDING:
            raise ResourceExhausted(
                f"ack_ids: more than {MOST_PENDING:,} of earlier requests wait to be written; "
                "nothing of this request was written: send it again later"
            )

    def acknowledge(self, ack_ids: Iterable[str], *, together: bool = False) -> AckFuture:
        """Acknowledge deliveries; ``together``: none where one fails, as all have one answer.

        Of one that has succeeded the next request asks whether it holds: another may have sought.
        """
        future, places = AckFuture(), list[Place]()
        for ack_id in ack_ids:
            delivery = self._sent.get(ack_id)
            if delivery is not None:
                self._release(delivery)
                self.outstanding.acknowledge(delivery, self._waiter(ack_id, future))
                places.append(delivery.place)
            elif (place := self._place_of(ack_id, future)) is None:
                places.append((0, 0))  # it fails
            elif self.exactly_once and ack_id in self._acknowledged:
                future.expect()
                self.acks.acknowledge_again(place, (ack_id, future))
            else:
                self.acks.acknowledge(place, self._waiter(ack_id, future))
                places.append(place)
        if together and self.exactly_once and len(places) > 1:
            self.acks.together(places)
        return future

    def forget_confirmed(self, ack_ids: Iterable[str]) -> None:
        """Note that clients have the outcome of successful acks: a repetition of these fails.

        Spec: "A repeated ack of an already successful id is reported invalid".
        """
        for ack_id in ack_ids:
            self._acknowledged.pop(ack_id, None)
            self._nacked.pop(ack_id, None)

    def modify_ack_deadline(self, ack_ids: Iterable[str], seconds: int, now: datetime) -> AckFuture:
        """Move deadlines to ``seconds`` from now; 0 is a nack.

        If the lease is long enough, the deadline is moved in memory, without a write. A nack that
        has succeeded is not written again.
        """
        future = AckFuture()
        deadline = timedelta(seconds=seconds)
        for ack_id in ack_ids:
            if self.exactly_once and not seconds and ack_id in self._nacked:
                continue
            delivery = self._sent.get(ack_id)
            if delivery is None:
                place = self._place_of(ack_id, future)
                if place is not None:
                    self._modify(place, deadline, ack_id, future)
            elif not seconds:
                self._nack(delivery, self._waiter(ack_id, future))
            else:
                self._sent.set_deadline(delivery, now + deadline)
                until = self.outstanding.leases[delivery.lease_id].until
                if self.confirms and until < now + deadline:
                    self._modify(delivery.place, max(deadline, self.length), ack_id, future)
        return future

    # Expiry and extension

    def expire(self, now: datetime) -> int:
        """Let the deliveries fail whose deadline has passed; return how many have failed now.

        A client that was sent a message may have given it a later deadline by another server. So
        the store decides about these, by the next request.
        """
        failed = 0
        for delivery in self._sent.take_expired(now):
            self.assigner.fail(delivery)
            if delivery.is_sent:
                self.outstanding.expire(delivery)
            else:
                self._nack(delivery, None)
                failed += 1
        return failed

    def extension_due(self, now: datetime) -> bool:
        """Return whether a lease must be extended now."""
        self._set_lengths()
        return self.outstanding.is_due(now)

    def give_back_overdue(self, now: datetime) -> int:
        """Drop waiting messages whose lease is over; return their number.

        This process was suspended, or could not write, so others may have leased them since.
        """
        leases = self.outstanding.leases.items()
        return self._give_back_waiting([of for of, lease in leases if lease.until <= now])

    def give_back(self, ack_ids: Iterable[str]) -> None:
        """Give back the messages of a consumer, as if never leased: no delivery fails."""
        for ack_id in ack_ids:
            delivery = self._sent.get(ack_id)
            if delivery is not None:
                self._release(delivery)
                self._release_all(self.outstanding.give_back(delivery))

    def give_back_waiting(self) -> int:
        """Give back waiting messages, as if they had never been leased."""
        return self._give_back_waiting(list(self.outstanding.leases))

    def _give_back_waiting(self, lease_ids: list[int]) -> int:
        returned = self.outstanding.give_back_waiting(lease_ids)
        if returned:
            self.assigner.drop_answered()
        return returned

    def end_leases(self) -> int:
        """Give up all leases at the end of the server; return how many messages were given back.

        Waiting messages go back. Consumers keep theirs until their deadlines, to which the next
        request shortens the leases.
        """
        self.outstanding.is_ending = True
        return self.give_back_waiting()

    def forget(self) -> None:
        """Drop everything: a seek has voided it, or the subscription is gone."""
        for delivery in self.outstanding.forget():
            self.assigner.release(delivery)
        self._clear()

    def _clear(self) -> None:
        self.outstanding.forget()
        self.assigner.forget()
        self._sent.clear()
        self._acknowledged.clear()
        self._nacked.clear()

    # Requests

    def request(self, now: datetime) -> AckRequest:
        """Return the request to send to the store now, with the due extensions of leases."""
        self._set_lengths()
        return self.outstanding.request(now)

    def apply(self, request: AckRequest, response: AckResponse, now: datetime) -> int:
        """Apply the response to the request of ``now``; return how many deliveries have failed."""
        if response.first_lease_id != self._first_lease_id:  # a client has sought since
            self._first_lease_id = response.first_lease_id
            self._acknowledged.clear()
            self._nacked.clear()
        applied = self.outstanding.apply(request, response, now)
        self._release_all(applied.lost)
        self._settle(applied.settled)
        for delivery, end in applied.moved.items():
            if delivery.deadline is None or delivery.deadline < end:
                self._sent.set_deadline(delivery, end)
        if self.outstanding.is_ending:
            self._clear()  # consumers keep their messages, which are still sent if they were not
        return applied.failed

    def give_up(self, reason: str = TRANSIENT) -> None:
        """Fail the waiters of everything that is not written."""
        for ack_id, future in self.acks.give_up():
            future.fail(ack_id, reason)
            future.settle()

    # Inside

    def _set_lengths(self) -> None:
        length = self.length
        self.outstanding.extended_at = extended_at(length, self._longest_deadline)
        for lease in self.outstanding.leases.values():
            lease.length = length

    def _settle(self, settled: list[Settled[_Waiter]]) -> None:
        for each in settled:
            ack_id, future = each.waiter
            # Of what was repeated while it was written, the first success counts for all.
            known = self._acknowledged if each.deadline is None else self._nacked
            if each.outcome == "success":
                if self.exactly_once and not each.deadline and not each.again:
                    _remember(known, ack_id)
            elif each.outcome == "postponed":
                future.fail(ack_id, OF_OTHERS)
            elif each.again or each.deadline or ack_id not in known:
                future.fail(ack_id)
            future.settle()

    def _waiter(self, ack_id: str, future: AckFuture) -> _Waiter | None:
        if not self.confirms:
            return None
        future.expect()
        return ack_id, future

    def _modify(self, place: Place, deadline: timedelta, ack_id: str, future: AckFuture) -> None:
        waiter = self._waiter(ack_id, future)
        if not self.acks.modify_ack_deadline(place, deadline, waiter) and waiter is not None:
            future.fail(ack_id)
            future.settle()

    def _place_of(self, ack_id: str, future: AckFuture) -> Place | None:
        """Return the lease and position of an ack id that is not outstanding here, or None."""
        parsed = parse_ack_id(ack_id)
        if parsed is None:
            future.malformed.append(ack_id)
        elif parsed.subscription_uid != self.uid:
            future.foreign.append(ack_id)
            future.fail(ack_id)
        else:
            return parsed.lease_id, parsed.position
        return None

    def _nack(self, delivery: Delivery, waiter: _Waiter | None) -> None:
        self._release(delivery)
        self._release_all(self.outstanding.nack(delivery, waiter))

    def _release(self, delivery: Delivery) -> None:
        """Remove a delivery from its consumer."""
        self._sent.remove(delivery)
        self.assigner.release(delivery)

    def _release_all(self, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            self._release(delivery)
        if deliveries:
            self.assigner.drop_answered()


def _remember(ids: dict[str, None], new: str) -> None:
    """Cache an ack id, and drop the oldest beyond the limit."""
    ids[new] = None
    while len(ids) > REMEMBERED_IDS:
        del ids[next(iter(ids))]
