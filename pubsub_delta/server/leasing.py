"""Leasing: the loop that turns the requests of all consumers of a subscription into one commit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from pubsub_delta.errors import Aborted, FailedPrecondition, NotFound, PubSubError
from pubsub_delta.policy.messages import size_of
from pubsub_delta.resources import Subscription
from pubsub_delta.server.answers import INVALID_ACK_ID, Asked
from pubsub_delta.server.channel import Blocking, Channel
from pubsub_delta.server.figures import Figures
from pubsub_delta.server.ledger import Ledger
from pubsub_delta.server.memory import Memory
from pubsub_delta.server.pace import Pace
from pubsub_delta.server.presence import Journal
from pubsub_delta.server.sharing import Consumer, Delivery, prefetch
from pubsub_delta.server.tracing import Tracing, Untraced
from pubsub_delta.subscriber import Holding

T = TypeVar("T")

logger = logging.getLogger("pubsub_delta.server")

MOST_PREFETCHED = 20_000
READ_BYTES = 32_000_000
"""Read from a lease at a time: what waits in memory of a subscription is about twice that."""
_PROBE = 8
"""Messages that are read first, of which nobody knows yet how large they are."""
_KEPT_FOR_NOBODY = 5.0
_KEPT_FOR_THE_BUSY = 60.0
"""Seconds that prefetched messages are kept when nobody takes them."""
_FAILURES = 5
"""Turns in a row that may fail before consumers are told."""
_TICK = 0.5


@dataclass(eq=False)
class Taker:
    """A consumer of a dispatcher, and what it is told.

    ``take``: it is given messages; none after a look at the store that was begun for it and left
    nothing for it. ``fail``: there will be no more messages.
    """

    consumer: Consumer
    take: Callable[[Sequence[Delivery]], object]
    fail: Callable[[Exception], object]


class Dispatcher:
    """The way of all consumers of one subscription to the store.

    Everything but the exchange itself happens in the event loop, so nothing is locked. A turn is
    one commit that says all that was said since the last one, extends leases, and leases what
    there is room for. There is none while there is nothing to say and nobody to give messages to.
    """

    def __init__(
        self,
        name: str,
        channel: Channel,
        subscription: Subscription,
        blocking: Blocking,
        figures: Figures,
        pace: Pace,
        now: Callable[[], datetime],
        journal: Journal | None = None,
        memory: Memory | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        self._tracing = tracing or Untraced()
        self._journal = journal or Journal(None, name)
        self.name = name
        self.subscription = subscription
        self.is_over = False
        self._channel = channel
        self._blocking = blocking
        self._figures = figures
        self._pace = pace
        self._now = now
        self.ledger = _ledger_of(subscription, pace, memory)
        self._takers: dict[Consumer, Taker] = {}
        self._woken = asyncio.Event()
        self._turns = asyncio.Lock()
        self._turned = self._now()
        self._look_now = True
        self._look_pause = pace.shortest_look
        self._next_look: datetime | None = None
        self._sent = self._sent_before = 0
        self._unread: list[Holding] = []
        self._largest = 0
        self._failures = 0
        self._waits_since = self._now()
        self._stopping = False
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"lease {name}")

    # What consumers do

    def join(self, taker: Taker) -> None:
        """Begin to give messages to a consumer."""
        self._takers[taker.consumer] = taker
        self._hand_out()
        self.look()

    def leave(self, consumer: Consumer) -> None:
        """Give a consumer no more messages; those that it has stay its own until its deadlines."""
        consumer.is_open = False
        self._takers.pop(consumer, None)
        self._woken.set()

    def acknowledge(self, ack_ids: Sequence[str]) -> Asked:
        """Acknowledge deliveries, in the next turn."""
        self.ledger.unsaid.check_room()
        asked = self.ledger.acknowledge(ack_ids)
        self._figures.acknowledged += len(ack_ids)
        asked.when_settled(self._tracing.answered(self.name, ack_ids, None, self._now()))
        self._said()
        return asked

    def modify_ack_deadline(self, ack_ids: Iterable[str], seconds: int) -> Asked:
        """Move the deadlines of deliveries; 0 is a nack."""
        self.ledger.unsaid.check_room()
        now, ack_ids = self._now(), list(ack_ids)
        asked = self.ledger.modify_ack_deadline(ack_ids, seconds, now)
        asked.when_settled(self._tracing.answered(self.name, ack_ids, seconds, now))
        self._said()
        return asked

    def give_back(self, deliveries: Iterable[Delivery]) -> None:
        """Give back what could not be sent to a consumer: no delivery has failed."""
        self.ledger.give_back(each.received.ack_id for each in deliveries)
        self._said()

    def sent(self) -> None:
        """Give more to consumers that had no room for what waited to be sent."""
        if self.ledger.sharing.waiting or self._unread:
            self._said()

    # What others do

    def look(self) -> None:
        """Look for messages without waiting: some were published, or made available."""
        self._look_now = True
        self._look_pause = self._pace.shortest_look
        self._woken.set()

    @asynccontextmanager
    async def settled(self) -> AsyncIterator[None]:
        """Keep turns away while something else is done to the subscription.

        What was said before is written first, and what is said meanwhile afterwards: after a seek
        that means nothing any more.
        """
        self.ledger.unsaid.hold()
        try:
            async with self._turns:
                if self.ledger.unsaid:
                    await self._exchange(0)
                yield
        finally:
            self.ledger.unsaid.release()
            self._woken.set()

    def void(self) -> None:
        """Forget what is held, as a seek has voided the leases."""
        self.ledger.forget()
        self._unread.clear()
        self.look()

    def learn(self, subscription: Subscription) -> None:
        """Go by the fields that the subscription has now."""
        self.ledger.exactly_once = subscription.enable_exactly_once_delivery
        self.subscription = subscription

    def end(self, error: Exception) -> None:
        """Tell every consumer that there will be no more messages, and why."""
        for taker in list(self._takers.values()):
            self.leave(taker.consumer)
            taker.fail(error)

    def gone(self, error: PubSubError) -> None:
        """End, as the subscription is no more: nothing that is said of it means anything."""
        self.is_over = True
        self._woken.set()
        self.ledger.forget()
        self.ledger.unsaid.give_up(INVALID_ACK_ID)
        self._unread.clear()
        self.end(error)

    async def stop(self, error: Exception) -> None:
        """Say what is left to be said, give back what nobody was given, and end."""
        self._stopping = self.is_over = True
        self.end(error)
        self._woken.set()
        await self._task

    # The loop

    async def _run(self) -> None:
        while not self.is_over:
            self._woken.clear()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._woken.wait(), self._patience())
            try:
                await self._attend()
            except Exception:
                logger.exception("%s: the dispatcher goes on", self.name)
        await self._last_turns()

    def _patience(self) -> float | None:
        """Return how long nothing is to be done if nothing happens; None: for ever."""
        if self.ledger.is_empty and not self._takers:
            return None
        now = self._now()
        if self._wanted(now):
            return 0
        if self._next_look is None:
            return _TICK
        return min(_TICK, max(0.01, (self._next_look - now).total_seconds()))

    async def _attend(self) -> None:
        now = self._now()
        self._figures.expired += self.ledger.expire(now)
        self._tracing.lapsed(now)
        self._let_go_of_what_nobody_wants(now)
        if self.ledger.unsaid and not self._stopping:
            passed = max(0.0, (now - self._turned).total_seconds())
            await asyncio.sleep(max(0.0, self._pace.gather - passed))
        now = self._now()
        wanted = self._wanted(now)
        looked_for = list(self._takers.values()) if wanted else []
        if wanted or self.ledger.unsaid or self.ledger.extension_due(now):
            async with self._turns:
                written = await self._exchange(wanted)
            looked_for = looked_for if written else []
        await self._read()
        self._hand_out()
        if not self.ledger.leases:
            self._journal.end()
        for taker in looked_for:
            if taker.consumer in self._takers and not taker.consumer.messages:
                taker.take(())

    def _wanted(self, now: datetime) -> int:
        """Return how many messages are to be leased now.

        Of what waits while consumers have room, nobody may have any yet: it does not count.
        """
        if not self._takers or self._stopping or self.ledger.memory.is_full:
            return 0
        free = sum(taker.consumer.free * taker.consumer.ahead for taker in self._takers.values())
        goal = prefetch(free, max(self._sent, self._sent_before), MOST_PREFETCHED)
        waiting = self.ledger.waiting
        held_up = len(self.ledger.sharing.waiting) if free else 0
        missing = min(goal - waiting + held_up, MOST_PREFETCHED - waiting)
        due = self._look_now or self._next_look is None or now >= self._next_look
        # A turn that is to be taken anyway looks as well.
        return max(missing, 0) if due or self.ledger.unsaid else 0

    async def _exchange(self, wanted: int) -> bool:
        """Take a turn, which also leases so many messages; tell whether it succeeded."""
        now = self._now()
        turn = self.ledger.turn(now)
        self._sent_before, self._sent = self._sent, 0
        self._look_now = self._look_now and not wanted
        try:
            length = self.ledger.length
            with self._tracing.committing(self.name):
                done = await self._blocking(lambda: self._channel.exchange(turn, wanted, length))
        except (NotFound, FailedPrecondition) as error:
            self.gone(error)
            return False
        except Exception as error:
            await self._failed(error)
            return False
        self._turned = self._now()
        self.ledger.took(self._turned - now)
        self._failures = 0
        self._figures.turns += 1
        self.ledger.heard(turn, done.answer, now)
        self.learn(done.subscription)
        found = 0
        if done.holding is not None:
            found = len(done.holding.positions)
            self.ledger.lease(done.holding.lease_id, done.holding.positions, done.holding.until)
            self._journal.leased(done.holding.lease_id, done.holding.positions)
            self._unread.append(done.holding)
        if wanted:
            self._looked(found, wanted)
        return True

    def _looked(self, found: int, wanted: int) -> None:
        """Decide when to look again: at once where there may be more, later and later if not."""
        self._look_now = self._look_now or found >= wanted
        if found:
            self._look_pause = self._pace.shortest_look
        self._next_look = self._now() + timedelta(seconds=self._look_pause)
        if not found:
            self._look_pause = min(self._look_pause * 1.25, self._pace.longest_look)

    async def _read(self) -> None:
        """Read what is leased, while not too much waits."""
        while self._unread and self._readable():
            holding = self._unread[0]
            held = self.ledger.leases.get(holding.lease_id)
            if held is None or not held.unread:
                self._unread.pop(0)
                continue
            room = self._readable()
            wanted = held.unread.first(max(1, room // self._largest) if self._largest else _PROBE)
            try:
                messages = await self._blocking(partial(holding.receive, wanted, room))
            except Exception as error:
                await self._failed(error)
                return
            reached = wanted
            if messages and len(messages) < len(wanted):
                reached = wanted.within(0, int(messages[-1].message_id))
            is_probe = not self._largest
            sizes = [size_of(each) for each in messages]
            self._largest = max([*sizes, self._largest // 2])
            self.ledger.received(holding.lease_id, reached, messages)
            if not is_probe:  # a pull is answered with the first that it is given
                self._hand_out()

    def _readable(self) -> int:
        """Return how many bytes may be read now."""
        waiting = sum(delivery.size for delivery in self.ledger.sharing.waiting)
        return min(READ_BYTES, self.ledger.memory.room) if waiting < READ_BYTES else 0

    def _hand_out(self) -> None:
        sharing = self.ledger.sharing
        self.ledger.let_go_of_overdue(self._now())
        while sharing.waiting and self._takers:
            given = sharing.hand_out(self._takers)
            if not given:
                break
            now = self._waits_since = self._now()
            self._journal.given(each for deliveries in given.values() for each in deliveries)
            for consumer, deliveries in given.items():
                self.ledger.sent(deliveries, consumer.ack_deadline_seconds, now)
                self._sent += len(deliveries)
                self._figures.delivered += len(deliveries)
                self._tracing.leased(self.name, deliveries, now)
                self._takers[consumer].take(deliveries)

    # What goes wrong, and the end

    async def _failed(self, error: Exception) -> None:
        """Try again in the next turn; after a few times consumers are told, and who waits."""
        self._failures += 1
        self._figures.failed_turns += 1
        logger.warning("%s: a turn failed; it is said again: %s", self.name, error)
        if self._failures >= _FAILURES:
            self._failures = 0
            if self.ledger.waits:
                self.ledger.unsaid.give_up()
            self.end(error)
        await asyncio.sleep(0 if isinstance(error, Aborted) else self._failures * self._pace.gather)
        self._woken.set()

    def _let_go_of_what_nobody_wants(self, now: datetime) -> None:
        """Give back what waits too long: others may have a use for it."""
        if not self.ledger.sharing.waiting:
            self._waits_since = now
        kept_for = _KEPT_FOR_THE_BUSY if self._takers else _KEPT_FOR_NOBODY
        if (now - self._waits_since).total_seconds() >= kept_for:
            self.ledger.give_back_waiting()

    async def _last_turns(self) -> None:
        self._unread.clear()
        self._journal.end()
        self.ledger.hand_over(self._now())
        for _ in range(_FAILURES):
            if not self.ledger.unsaid:
                return
            await self._exchange(0)

    def _said(self) -> None:
        self._hand_out()
        self._woken.set()


def _ledger_of(subscription: Subscription, pace: Pace, memory: Memory | None) -> Ledger:
    return Ledger(
        subscription.uid,
        ordered=subscription.enable_message_ordering,
        exactly_once=subscription.enable_exactly_once_delivery,
        confirms=pace.confirm_acks,
        memory=memory,
    )
