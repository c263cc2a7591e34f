"""Pushing: who takes the messages of push subscriptions and sends each to its endpoint."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime

from pubsub_delta.errors import FailedPrecondition, NotFound
from pubsub_delta.policy.push_window import PushWindow
from pubsub_delta.resources import PushConfig, Subscription
from pubsub_delta.server.assigner import Consumer, Delivery, Receiver
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.dispatcher import Dispatcher
from pubsub_delta.server.endpoint import UNSIGNED, Endpoint
from pubsub_delta.server.hub import Hub, cannot_pull
from pubsub_delta.server.push_requests import SUCCESSES, push_request
from pubsub_delta.server.push_tokens import PushTokens

logger = logging.getLogger("pubsub_delta.server")

LOOK = 10.0
"""Seconds from one look for what other processes did to push subscriptions to the next."""
GRACE = 2.0
"""Seconds that requests under way have at the end of the server."""

_MOST_BYTES = 50_000_000
_SLACK = 5
"""Seconds: the answer is waited for until the ack deadline; the delivery expires after that."""


class Pusher:
    """Pushes the messages of one subscription, each in a request of its own.

    An answer with a success acknowledges the message. Any other, and none within the ack deadline,
    is a nack. How many requests are sent at a time, and when none, is up to a PushWindow; of an
    ordering key there is one at a time.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        subscription: Subscription,
        counters: Counters,
        now: Callable[[], datetime],
        tokens: PushTokens | None,
    ) -> None:
        self._tokens = tokens
        self.dispatcher = dispatcher
        self.is_over = False
        self._counters = counters
        self._now = now
        self._window = PushWindow()
        self._consumer = Consumer(self._window.requests, _MOST_BYTES, keys_singly=True)
        self.learn(subscription)
        self._endpoint = Endpoint()
        self._requests: dict[asyncio.Task[None], Delivery] = {}
        self._resuming: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None
        logger.info("%s: pushes to %s", subscription.name, self._shown)
        dispatcher.join(Receiver(self._consumer, self._take, self._fail))

    def learn(self, subscription: Subscription) -> None:
        """Go by the fields that the subscription has now."""
        assert subscription.push_config is not None
        self._subscription = subscription
        self._config = subscription.push_config
        self._consumer.ack_deadline_seconds = subscription.ack_deadline_seconds + _SLACK

    @property
    def _shown(self) -> str:
        """The endpoint as logs show it: without its query, which may be a secret."""
        return self._config.push_endpoint.partition("?")[0]

    def end(self) -> None:
        """Send no more; give back what waits. Requests under way are still heard."""
        self._leave()
        self.dispatcher.leaser.give_back_waiting()
        self.dispatcher.look()

    async def stop(self, grace: float) -> None:
        """End; after so many seconds what is still under way is given back, too."""
        self.end()
        if self._requests:
            await asyncio.wait(self._requests, timeout=grace)
        unanswered = [each.received.ack_id for each in self._requests.values()]
        await asyncio.gather(*self._cancelled(), return_exceptions=True)
        self.dispatcher.leaser.give_back(unanswered)
        self.dispatcher.look()
        if self._closing is not None:
            await self._closing

    # What the dispatcher says

    def _take(self, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            task = asyncio.get_running_loop().create_task(self._push(delivery))
            self._requests[task] = delivery
            task.add_done_callback(self._done)

    def _fail(self, error: Exception) -> None:
        """Stop sending; where the subscription is gone nobody waits for answers any more."""
        self._leave()
        if isinstance(error, (NotFound, FailedPrecondition)):
            self._cancelled()

    # Requests

    async def _push(self, delivery: Delivery) -> None:
        sent = self._now()
        try:
            token = await self._token()
        except Exception as error:
            logger.warning("%s: no token can be signed: %s", self._subscription.name, error)
            self._counters.pushes[UNSIGNED] += 1
            self._back_off(sent, UNSIGNED)
            self.dispatcher.leaser.give_back([delivery.received.ack_id])
            self.dispatcher.look()
            return
        request = push_request(self._config, self._subscription.name, delivery.received, token)
        seconds = self._subscription.ack_deadline_seconds
        code = await self._endpoint.post(self._config.push_endpoint, request, seconds)
        self._counters.pushes[code] += 1
        if code in SUCCESSES:
            self._succeeded(delivery)
        else:
            self._failed(delivery, sent, code)

    async def _token(self) -> str | None:
        """Return the token that a request carries, None if it carries none."""
        if self._config.oidc_token is None:
            return None
        assert self._tokens is not None
        known = self._tokens.known(self._config)
        return known or await asyncio.to_thread(self._tokens.token, self._config)

    def _succeeded(self, delivery: Delivery) -> None:
        failures = self._window.failures
        self._set(self._window.succeeded())
        if failures and not self._window.failures:
            logger.info("%s: %s answers again", self._subscription.name, self._shown)
        self.dispatcher.acknowledge([delivery.received.ack_id])

    def _failed(self, delivery: Delivery, sent: datetime, code: str) -> None:
        self._back_off(sent, code)
        self.dispatcher.modify_ack_deadline([delivery.received.ack_id], 0)

    def _back_off(self, sent: datetime, code: str) -> None:
        """Send less after a failure, and nothing for a while."""
        if not self._window.failures:
            logger.warning("%s: %s: %s; backing off", self._subscription.name, self._shown, code)
        now = self._now()
        waits_alone = self._subscription.retry_policy is not None
        self._set(self._window.failed(sent, now, has_retry_policy=waits_alone))
        pause = self._window.pause(now).total_seconds()
        if pause and not self.is_over:
            self._consumer.is_paused = True
            self._forget_resuming()
            self._resuming = asyncio.get_running_loop().call_later(pause, self._resume)

    def _set(self, window: PushWindow) -> None:
        self._window = window
        self._consumer.max_messages = window.requests

    def _resume(self) -> None:
        self._consumer.is_paused = False
        self.dispatcher.look()  # what failed is available again

    def _done(self, task: asyncio.Task[None]) -> None:
        self._requests.pop(task, None)
        if not task.cancelled() and task.exception() is not None:
            logger.error("%s: a push failed", self._subscription.name, exc_info=task.exception())
        self._close_if_done()

    def _leave(self) -> None:
        self.is_over = True
        self._forget_resuming()
        self.dispatcher.leave(self._consumer)
        self._close_if_done()

    def _close_if_done(self) -> None:
        if self.is_over and not self._requests and self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._endpoint.close())

    def _forget_resuming(self) -> None:
        if self._resuming is not None:
            self._resuming.cancel()

    def _cancelled(self) -> list[asyncio.Task[None]]:
        """Cancel all requests that are under way."""
        tasks = list(self._requests)
        for task in tasks:
            task.cancel()
        return tasks


class Pushers:
    """The pushers of a server: one for every push subscription of the store.

    What is done through this server takes effect at once. What other processes do is noticed at
    the next look, within ``LOOK`` seconds.
    """

    def __init__(
        self, hub: Hub, now: Callable[[], datetime], tokens: PushTokens | None = None
    ) -> None:
        self._hub = hub
        self._now = now
        self._tokens = tokens
        self._pushers: dict[str, Pusher] = {}
        self._changing = asyncio.Lock()
        self._learned = 0
        self._stopping = False
        self._looking: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to push, and to look for what is to be pushed."""
        self._looking = asyncio.get_running_loop().create_task(self._look(), name="pushers")

    def check(self, config: PushConfig | None) -> None:
        """Refuse a push configuration whose tokens nobody here could sign."""
        if self._lacks_keys(config):
            raise FailedPrecondition(
                "push_config.oidc_token: this server has no keys to sign tokens with; with "
                "--push-keys-file it has, or leave it out"
            )

    def _lacks_keys(self, config: PushConfig | None) -> bool:
        return config is not None and config.oidc_token is not None and self._tokens is None

    async def learn(self, subscription: Subscription) -> None:
        """Go by the fields that a subscription was given by this server."""
        self._learned += 1
        async with self._changing:
            if subscription.push_config is None or subscription.detached:
                await self._end(subscription.name)
            else:
                await self._go_by(subscription)

    async def look(self) -> None:
        """Go by what the store says of all push subscriptions."""
        learned = self._learned
        backend = self._hub.backend
        found = await backend.administer(backend.push_subscriptions)
        async with self._changing:
            if learned != self._learned:
                return  # it may be older than what was learned meanwhile
            for name in self._pushers.keys() - {each.name for each in found}:
                await self._end(name)
            for subscription in found:
                await self._go_by(subscription)

    async def stop(self) -> None:
        """Send no more requests; hear the answers that come soon, and give back the rest."""
        self._stopping = True
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking
        async with self._changing:
            running = [each for each in self._pushers.values() if not each.dispatcher.is_over]
            await asyncio.gather(*(each.stop(GRACE) for each in running))

    async def _look(self) -> None:
        while True:
            try:
                await self.look()
            except Exception:
                logger.exception("push subscriptions could not be looked for")
            await asyncio.sleep(LOOK)

    async def _go_by(self, subscription: Subscription) -> None:
        """Begin to push the messages of a subscription, or go on by its new fields."""
        name = subscription.name
        if self._lacks_keys(subscription.push_config):
            logger.warning("%s: nothing is pushed: there are no keys to sign its tokens with", name)
            await self._end(name)
            return
        running = self._pushers.get(name)
        if running is not None and not running.is_over:
            if running.dispatcher.leaser.uid == subscription.uid:
                running.learn(subscription)
                return
            running.dispatcher.gone(_replaced(name))  # what waits is not for the other endpoint
        if self._stopping:
            return
        try:
            dispatcher = await self._hub.dispatcher(name)
        except Exception as error:
            logger.warning("%s: nothing is pushed until the next look: %s", name, error)
            return
        dispatcher.end(cannot_pull(subscription))
        counters = self._hub.counters
        self._pushers[name] = Pusher(dispatcher, subscription, counters, self._now, self._tokens)

    async def _end(self, name: str) -> None:
        """Push no more messages of a subscription; they can be pulled from now on."""
        running = self._pushers.pop(name, None)
        if running is None:
            return
        if not running.is_over:
            running.end()
        backend = self._hub.backend
        try:
            found = await backend.blocking(lambda: backend.subscription(name))
            if found.uid == running.dispatcher.leaser.uid:
                running.dispatcher.learn(found)
            else:
                running.dispatcher.gone(_replaced(name))
        except Exception as error:
            logger.info("%s: its dispatcher will find out what it is now: %s", name, error)


def _replaced(name: str) -> NotFound:
    return NotFound(f"subscription {name} was deleted, and created anew")
