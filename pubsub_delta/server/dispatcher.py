"""Dispatcher: the loop that makes one commit of the requests of all consumers of a subscription."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from pubsub_delta.delivery.leases import LeasedMessages
from pubsub_delta.delivery.table_writes import cannot_pull
from pubsub_delta.errors import Aborted, NotFound, PubSubError
from pubsub_delta.operations.exchange import Channel
from pubsub_delta.policy.messages import size_of
from pubsub_delta.resources import Subscription
from pubsub_delta.server.ack_failures import INVALID_ACK_ID
from pubsub_delta.server.ack_futures import AckFuture
from pubsub_delta.server.assigner import Consumer, Delivery, Receiver, prefetch
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.lease_journals import Journal
from pubsub_delta.server.leaser import Leaser
from pubsub_delta.server.memory import Memory
from pubsub_delta.server.threads import InThread
from pubsub_delta.server.timing import Timing
from pubsub_delta.server.tracing import Tracing
from pubsub_delta.tables.store import Detached

T = TypeVar("T")

logger = logging.getLogger("pubsub_delta.server")

MOST_PREFETCHED = 20_000
READ_BYTES = 32_000_000
"""Bytes to read from a lease at a time; a subscription has about twice as many in memory."""
_PROBE = 8
"""Messages to read first, while their sizes are unknown."""
_KEPT_FOR_NOBODY = 5.0
_KEPT_FOR_THE_BUSY = 60.0
"""Seconds that prefetched messages are kept without a consumer."""
_KEPT_IDLE = 60.0
"""Seconds that a dispatcher is kept with nothing to do: its subscription may be gone by then."""
_FAILURES = 5
"""Failed exchanges in a row after which consumers get the error."""
_TICK = 0.5


class Dispatcher:
    """Connects all consumers of one subscription to the store.

    Everything except the exchange itself runs in the event loop, so there are no locks. An exchange
    is one commit. It writes the acks and deadlines since the last one, extends leases, and leases
    messages that consumers have room for. Without anything to write and without consumers there are
    no exchanges.
    """

    def __init__(
        self,
        name: str,
        channel: Channel,
        subscription: Subscription,
        in_thread: InThread,
        counters: Counters,
        timing: Timing,
        now: Callable[[], datetime],
        journal: Journal | None = None,
        memory: Memory | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        self._tracing = tracing or Tracing()
        self._journal = journal or Journal(None, name)
        self.name = name
        self.subscription = subscription
        self.is_over = False
        self._channel = channel
        self._in_thread = in_thread
        self._counters = counters
        self._timing = timing
        self._now = now
        self.leaser = Leaser(
            subscription.uid,
            ordered=subscription.enable_message_ordering,
            exactly_once=subscription.enable_exactly_once_delivery,
            confirms=timing.confirm_acks,
            memory=memory,
        )
        self._receivers: dict[Consumer, Receiver] = {}
        self._woken = asyncio.Event()
        self._exchanging = asyncio.Lock()
        self._exchanged = self._waits_since = self._now()
        self._poll_now = True
        self._poll_pause = timing.shortest_poll
        self._next_poll: datetime | None = None
        self._sent = self._sent_before = self._largest = self._failures = 0
        self._unread: list[LeasedMessages] = []
        self._stopping = False
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"lease {name}")

    # Calls of consumers

    def join(self, receiver: Receiver) -> None:
        """Begin to give messages to a consumer."""
        self._receivers[receiver.consumer] = receiver
        self.leaser.cover(self._receivers)
        self._assign()
        self.poll()

    def leave(self, consumer: Consumer) -> None:
        """Give a consumer no more messages; it keeps those that it has until their deadlines."""
        consumer.is_open = False
        self._receivers.pop(consumer, None)
        self._woken.set()

    def acknowledge(self, ack_ids: Sequence[str], *, together: bool = False) -> AckFuture:
        """Acknowledge deliveries, in the next exchange."""
        self.leaser.check_room()
        future = self.leaser.acknowledge(ack_ids, together=together)
        self._counters.acknowledged += len(ack_ids)
        future.add_done_callback(self._tracing.acknowledging(self.name, ack_ids, None, self._now()))
        self._wake()
        return future

    def modify_ack_deadline(self, ack_ids: Iterable[str], seconds: int) -> AckFuture:
        """Move the deadlines of deliveries; 0 is a nack."""
        self.leaser.check_room()
        now, ack_ids = self._now(), list(ack_ids)
        future = self.leaser.modify_ack_deadline(ack_ids, seconds, now)
        future.add_done_callback(self._tracing.acknowledging(self.name, ack_ids, seconds, now))
        self._wake()
        return future

    def give_back(self, deliveries: Iterable[Delivery]) -> None:
        """Give back messages that could not be sent to a consumer; their deliveries do not fail."""
        self.leaser.give_back(each.received.ack_id for each in deliveries)
        self._wake()

    def may_send(self, delivery: Delivery) -> bool:
        """Return whether to send a message; if another can have it by now, give it back."""
        may_be_sent = delivery.may_be_sent(self._now())
        if not may_be_sent:  # this process was suspended
            self.give_back([delivery])
        return may_be_sent

    def sent(self) -> None:
        """Give more messages to consumers that had too much waiting to be sent."""
        if self.leaser.assigner.waiting or self._unread:
            self._wake()

    # Calls of other parts of the server

    def poll(self) -> None:
        """Poll for messages without waiting: some were published, or made available."""
        self._poll_now = True
        self._poll_pause = self._timing.shortest_poll
        if self._receivers or not self.leaser.is_empty:
            self._woken.set()

    @asynccontextmanager
    async def between_exchanges(self) -> AsyncIterator[None]:
        """Stop exchanges while a seek or another operation runs; earlier acks are written first."""
        self.leaser.acks.hold()
        try:
            async with self._exchanging:
                if self.leaser.has_request:
                    await self._exchange(0)
                yield
        finally:
            self.leaser.acks.release()
            self._woken.set()

    def drop_leases(self) -> None:
        """Forget all messages that are leased, as a seek has voided the leases."""
        self.leaser.forget()
        self._unread.clear()
        self.poll()

    def update(self, subscription: Subscription) -> None:
        """Use the present fields of the subscription."""
        self.leaser.exactly_once = subscription.enable_exactly_once_delivery
        self.subscription = subscription

    def end(self, error: Exception) -> None:
        """End every consumer with an error."""
        for receiver in list(self._receivers.values()):
            self.leave(receiver.consumer)
            receiver.fail(error)

    def close(self, error: PubSubError) -> None:
        """End, as the subscription is gone; its acknowledgements are void."""
        self.is_over = True
        self._woken.set()
        self.leaser.forget()
        self.leaser.give_up(INVALID_ACK_ID)
        self._unread.clear()
        self.end(error)

    async def stop(self, error: Exception) -> None:
        """Write the remaining acks, give back messages that no consumer has, and end."""
        self._stopping = self.is_over = True
        self.end(error)
        self._woken.set()
        await self._task

    # The loop

    async def _run(self) -> None:
        while not self.is_over:
            self._woken.clear()
            seconds = self._idle_seconds()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._woken.wait(), seconds)
            if seconds == _KEPT_IDLE and not self._woken.is_set():
                self.is_over = not self.leaser.has_confirmations
            try:
                await self._run_once()
            except Exception:
                logger.exception("%s: the dispatcher goes on", self.name)
        await self._last_exchanges()

    def _idle_seconds(self) -> float:
        """Return the time until the next exchange, or the end, if nothing happens."""
        if self.leaser.is_empty and not self._receivers:
            return _KEPT_IDLE
        now = self._now()
        if self._wanted(now) or self.leaser.extension_due(now):
            return 0
        if self._next_poll is None:
            return _TICK
        return min(_TICK, max(0.01, (self._next_poll - now).total_seconds()))

    async def _run_once(self) -> None:
        now = self._now()
        self._counters.expired += self.leaser.expire(now)
        self._tracing.expired(now)
        self._give_back_unclaimed(now)
        if self.leaser.has_request and not self._stopping:
            passed = max(0.0, (now - self._exchanged).total_seconds())
            await asyncio.sleep(max(0.0, self._timing.gather - passed))
        now = self._now()
        wanted = self._wanted(now)
        polled_for = list(self._receivers.values()) if wanted else []
        if wanted or self.leaser.has_request or self.leaser.extension_due(now):
            async with self._exchanging:
                written = await self._exchange(wanted)
            polled_for = polled_for if written else []
        await self._read()
        self._assign()
        if not self.leaser.outstanding.leases:
            self._journal.end()
        for receiver in polled_for:
            if receiver.consumer in self._receivers and not receiver.consumer.messages:
                receiver.deliver(())

    def _wanted(self, now: datetime) -> int:
        """Return how many messages to lease now.

        Waiting messages do not count while consumers have room, as their keys keep them waiting.
        """
        if not self._receivers or self._stopping or self.leaser.memory.is_full:
            return 0
        free = sum(each.free * each.ahead for each in self._receivers)
        goal = prefetch(free, max(self._sent, self._sent_before), MOST_PREFETCHED)
        waiting = self.leaser.waiting
        held_up = len(self.leaser.assigner.waiting) if free else 0
        missing = min(goal - waiting + held_up, MOST_PREFETCHED - waiting)
        # An exchange that takes place anyway polls as well.
        return max(missing, 0) if self._is_poll_due(now) or self.leaser.has_request else 0

    def _is_poll_due(self, now: datetime) -> bool:
        """Return whether the pause after a poll is over, or the clock was set back in it."""
        left = (self._next_poll - now).total_seconds() if self._next_poll is not None else 0
        return self._poll_now or not 0 < left <= self._timing.longest_poll

    async def _exchange(self, wanted: int) -> bool:
        """Write acks and deadlines, and lease up to ``wanted`` messages; False after an error."""
        now = self._now()
        request = self.leaser.request(now)
        self._sent_before, self._sent = self._sent, 0
        self._poll_now = self._poll_now and not wanted
        try:
            exchange = partial(self._channel.exchange, request, wanted, now, self.leaser.length)
            with self._tracing.committing(self.name):
                done = await self._in_thread(exchange)
        except (NotFound, Detached) as error:
            self.close(error)
            return False
        except Exception as error:
            await self._failed(error)
            return False
        self._exchanged = self._now()
        self.leaser.request_took(self._exchanged - now)
        self._failures = 0
        self._counters.exchanges += 1
        self._counters.expired += self.leaser.apply(request, done.response, now)
        self.update(done.subscription)
        found = 0
        if done.leased is not None:
            lease_id, positions = done.leased.lease_id, done.leased.positions
            found = len(positions)
            self.leaser.lease(lease_id, positions, now, done.leased.until)
            self._journal.leased(lease_id, positions)
            self._unread.append(done.leased)
        if wanted and done.subscription.table_config is not None:
            self.end(cannot_pull(done.subscription))
        elif wanted:
            self._schedule_poll(found, wanted)
        return True

    def _schedule_poll(self, found: int, wanted: int) -> None:
        """Decide when to poll again: at once where there may be more, later and later if not."""
        self._poll_now = self._poll_now or found >= wanted
        if found:
            self._poll_pause = self._timing.shortest_poll
        self._next_poll = self._now() + timedelta(seconds=self._poll_pause)
        if not found:
            self._poll_pause = min(self._poll_pause * 1.25, self._timing.longest_poll)

    async def _read(self) -> None:
        """Read leased messages, until enough of them wait in memory."""
        while self._unread and self._readable():
            leased = self._unread[0]
            lease = self.leaser.outstanding.leases.get(leased.lease_id)
            if lease is None or not lease.unread:
                self._unread.pop(0)
                continue
            room = self._readable()
            wanted = lease.unread.first(max(1, room // self._largest) if self._largest else _PROBE)
            try:
                messages = await self._in_thread(partial(leased.receive, wanted, room))
            except Exception as error:
                await self._failed(error)
                return
            reached = wanted
            if messages and len(messages) < len(wanted):
                reached = wanted.within(0, int(messages[-1].message_id))
            is_probe = not self._largest
            sizes = [size_of(each) for each in messages]
            self._largest = max([*sizes, self._largest // 2])
            self.leaser.received(leased.lease_id, reached, messages)
            if not is_probe:  # a pull returns the first messages that it gets
                self._assign()

    def _readable(self) -> int:
        """Return how many bytes to read now."""
        waiting = sum(delivery.size for delivery in self.leaser.assigner.waiting)
        return min(READ_BYTES, self.leaser.memory.room) if waiting < READ_BYTES else 0

    def _assign(self) -> None:
        assigner, now = self.leaser.assigner, self._now()
        self.leaser.give_back_overdue(now)
        while assigner.waiting and self._receivers and self.leaser.may_give(self._receivers, now):
            given = assigner.assign(self._receivers)
            if not given:
                break
            now = self._waits_since = self._now()
            self._journal.given(each for deliveries in given.values() for each in deliveries)
            for consumer, deliveries in given.items():
                self.leaser.sent(deliveries, consumer.ack_deadline_seconds, now)
                self._sent += len(deliveries)
                self._counters.delivered += len(deliveries)
                self._tracing.leased(self.name, deliveries, now)
                self._receivers[consumer].deliver(deliveries)

    # Failures, and the end

    async def _failed(self, error: Exception) -> None:
        """Try again in the next exchange; after some failures end consumers with the error."""
        self._failures += 1
        self._counters.failed_exchanges += 1
        logger.warning("%s: an exchange failed; it is tried again: %s", self.name, error)
        if self._failures % _FAILURES == 0:
            if self.leaser.confirms:
                self.leaser.give_up()
            self.end(error)
        await asyncio.sleep(0 if isinstance(error, Aborted) else self._timing.pause(self._failures))
        self._woken.set()

    def _give_back_unclaimed(self, now: datetime) -> None:
        """Give back messages that wait too long, so that other servers can lease them."""
        if not self.leaser.waiting:
            self._waits_since = now
        kept_for = _KEPT_FOR_THE_BUSY if self._receivers else _KEPT_FOR_NOBODY
        if (now - self._waits_since).total_seconds() >= kept_for:
            self.leaser.give_back_waiting()

    async def _last_exchanges(self) -> None:
        async with self._exchanging:  # what a seek or another operation holds back is released
            self._unread.clear()
            self._journal.end()
            self.leaser.end_leases()
            for _ in range(_FAILURES):
                if not self.leaser.has_request:
                    return
                await self._exchange(0)

    def _wake(self) -> None:
        self._assign()
        self._woken.set()
