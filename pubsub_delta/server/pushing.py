"""Push delivery: sends each message of a push subscription to its endpoint."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from pubsub_delta.errors import FailedPrecondition, NotFound
from pubsub_delta.policy.push_window import PushWindow
from pubsub_delta.resources import PushConfig, Subscription
from pubsub_delta.server.assigner import Consumer, Delivery, Receiver
from pubsub_delta.server.counters import Counters
from pubsub_delta.server.dispatcher import Dispatcher
from pubsub_delta.server.hub import Hub, cannot_pull, replaced
from pubsub_delta.server.push_endpoint import UNSIGNED, PushEndpoint
from pubsub_delta.server.push_requests import SUCCESSES, push_request
from pubsub_delta.server.push_tokens import PushTokens
from pubsub_delta.server.subscription_workers import SubscriptionWorkers

logger = logging.getLogger("pubsub_delta.server")

GRACE = 2.0
"""Seconds that the server waits at its end for responses to push requests."""

_MOST_BYTES = 50_000_000
_SLACK = 5
"""Seconds after the ack deadline at which a delivery expires; the response is due before."""


class Pusher:
    """Pushes the messages of one subscription, each in a request of its own.

    Pub/Sub: a response with a success code acknowledges the message. Any other response, or none
    within the ack deadline, is a nack. A ``PushWindow`` decides how many requests are open at a
    time, and when to pause. Requests for one ordering key are sent one after the other.
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
        self.update(subscription)
        self._endpoint = PushEndpoint()
        self._requests: dict[asyncio.Task[None], Delivery] = {}
        self._resume_timer: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None
        logger.info("%s: pushes to %s", subscription.name, self._endpoint_url)
        dispatcher.join(Receiver(self._consumer, self._take, self._fail))

    def update(self, subscription: Subscription) -> None:
        """Use new fields of the subscription."""
        assert subscription.push_config is not None
        self._subscription = subscription
        self._config = subscription.push_config
        self._consumer.ack_deadline_seconds = subscription.ack_deadline_seconds + _SLACK

    @property
    def _endpoint_url(self) -> str:
        """The endpoint for logs, without its query, which may be a secret."""
        return self._config.push_endpoint.partition("?")[0]

    def pushes_to(self, config: PushConfig | None) -> bool:
        """Return whether it pushes to the endpoint of a push config."""
        return config is not None and config.push_endpoint == self._config.push_endpoint

    @property
    def has_requests(self) -> bool:
        """Whether requests are open."""
        return bool(self._requests)

    def end(self) -> None:
        """Send no more requests, and give back waiting messages. Open requests go on."""
        self._leave()
        self.dispatcher.leaser.give_back_waiting()

    async def stop(self, grace: float) -> None:
        """End; after ``grace`` seconds give back the messages of open requests, too."""
        self.end()
        if self._requests:
            await asyncio.wait(self._requests, timeout=grace)
        unanswered = [each.received.ack_id for each in self._requests.values()]
        await asyncio.gather(*self._cancelled(), return_exceptions=True)
        self.dispatcher.leaser.give_back(unanswered)
        self.dispatcher.poll()
        if self._closing is not None:
            await self._closing

    # Calls by the dispatcher

    def _take(self, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            task = asyncio.get_running_loop().create_task(self._push(delivery))
            self._requests[task] = delivery
            task.add_done_callback(self._done)

    def _fail(self, error: Exception) -> None:
        """Stop sending; if the subscription is gone, cancel the open requests."""
        self._leave()
        if isinstance(error, (NotFound, FailedPrecondition)):
            self._cancelled()

    # Requests

    async def _push(self, delivery: Delivery) -> None:
        sent, config = self._now(), self._config
        try:
            token = await self._token(config)
        except Exception as error:
            logger.warning("%s: no token can be signed: %s", self._subscription.name, error)
            self._counters.pushes[UNSIGNED] += 1
            self._back_off(sent, UNSIGNED)
            self._give_back(delivery)
            return
        # Meanwhile the endpoint was changed, a seek has voided it, or another process can have it.
        is_held = delivery.is_outstanding and self.dispatcher.may_send(delivery)
        if self.is_over or not is_held:
            self._give_back(delivery)
            return
        request = push_request(config, self._subscription.name, delivery.received, token)
        seconds = self._subscription.ack_deadline_seconds
        code = await self._endpoint.post(config.push_endpoint, request, seconds)
        self._counters.pushes[code] += 1
        if code in SUCCESSES:
            self._succeeded(delivery)
        else:
            self._failed(delivery, sent, code)

    def _give_back(self, delivery: Delivery) -> None:
        self.dispatcher.leaser.give_back([delivery.received.ack_id])
        self.dispatcher.poll()

    async def _token(self, config: PushConfig) -> str | None:
        """Return the token of a request, None without one."""
        if config.oidc_token is None:
            return None
        assert self._tokens is not None
        known = self._tokens.cached(config)
        return known or await asyncio.to_thread(self._tokens.token, config)

    def _succeeded(self, delivery: Delivery) -> None:
        failures = self._window.failures
        self._set(self._window.succeeded())
        if failures and not self._window.failures:
            logger.info("%s: %s answers again", self._subscription.name, self._endpoint_url)
        self.dispatcher.acknowledge([delivery.received.ack_id])

    def _failed(self, delivery: Delivery, sent: datetime, code: str) -> None:
        self._back_off(sent, code)
        self.dispatcher.modify_ack_deadline([delivery.received.ack_id], 0)

    def _back_off(self, sent: datetime, code: str) -> None:
        """Shrink the window after a failure, and pause."""
        if not self._window.failures:
            logger.warning(
                "%s: %s: %s; backing off", self._subscription.name, self._endpoint_url, code
            )
        now = self._now()
        waits_alone = self._subscription.retry_policy is not None
        self._set(self._window.failed(sent, now, has_retry_policy=waits_alone))
        pause = self._window.pause(now).total_seconds()
        if pause and not self.is_over:
            self._consumer.is_paused = True
            self._cancel_resume()
            self._resume_timer = asyncio.get_running_loop().call_later(pause, self._resume)

    def _set(self, window: PushWindow) -> None:
        self._window = window
        self._consumer.max_messages = window.requests

    def _resume(self) -> None:
        self._consumer.is_paused = False
        self.dispatcher.poll()  # failed messages are available again

    def _done(self, task: asyncio.Task[None]) -> None:
        self._requests.pop(task, None)
        if not task.cancelled() and task.exception() is not None:
            logger.error("%s: a push failed", self._subscription.name, exc_info=task.exception())
        self._close_if_done()

    def _leave(self) -> None:
        self.is_over = True
        self._cancel_resume()
        self.dispatcher.leave(self._consumer)
        self._close_if_done()

    def _close_if_done(self) -> None:
        if self.is_over and not self._requests and self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._endpoint.close())

    def _cancel_resume(self) -> None:
        if self._resume_timer is not None:
            self._resume_timer.cancel()

    def _cancelled(self) -> list[asyncio.Task[None]]:
        """Cancel all open requests."""
        tasks = list(self._requests)
        for task in tasks:
            task.cancel()
        return tasks


class Pushers(SubscriptionWorkers[Pusher]):
    """The pushers of a server: one for every push subscription of the store."""

    def __init__(
        self, hub: Hub, now: Callable[[], datetime], tokens: PushTokens | None = None
    ) -> None:
        super().__init__("pushers")
        self._hub = hub
        self._now = now
        self._tokens = tokens
        self._ended: list[Pusher] = []

    def needs_worker(self, subscription: Subscription) -> bool:
        return subscription.push_config is not None

    async def subscriptions(self) -> Sequence[Subscription]:
        if self._tokens is not None:
            await asyncio.to_thread(self._tokens.refresh)
        backend = self._hub.backend
        return await backend.administer(backend.push_subscriptions)

    def check(self, config: PushConfig | None) -> None:
        """Raise FailedPrecondition for a push config whose tokens this server cannot sign."""
        if self._lacks_keys(config):
            raise FailedPrecondition(
                "push_config.oidc_token: this server has no keys to sign tokens with; start it "
                "with --push-keys-file, or leave the token out"
            )

    def _lacks_keys(self, config: PushConfig | None) -> bool:
        return config is not None and config.oidc_token is not None and self._tokens is None

    async def end_workers(self) -> None:
        """Wait ``GRACE`` seconds for responses, and give back the other messages."""
        pushers = (*self._workers.values(), *self._ended)
        running = [each for each in pushers if not each.dispatcher.is_over]
        await asyncio.gather(*(each.stop(GRACE) for each in running))

    async def run_worker(self, subscription: Subscription) -> None:
        """Start pushing the messages of a subscription, or use its new fields.

        A new endpoint gets messages at once: open requests and pauses of the old one do not count.
        """
        name = subscription.name
        if self._lacks_keys(subscription.push_config):
            logger.warning("%s: nothing is pushed: there are no keys to sign its tokens with", name)
            await self.end_worker(name)
            streaming = self._hub.running(name)
            if streaming is not None and streaming.leaser.uid == subscription.uid:
                streaming.end(cannot_pull(subscription))
            return
        running = self._workers.get(name)
        is_same = running is not None and running.dispatcher.leaser.uid == subscription.uid
        if running is not None and not running.is_over and is_same:
            if running.pushes_to(subscription.push_config):
                running.update(subscription)
                return
            self._end(running)
        if self._is_stopping:
            return
        try:
            dispatcher = await self._hub.dispatcher_of(subscription)
        except Exception as error:
            logger.warning("%s: nothing is pushed until the next refresh: %s", name, error)
            return
        dispatcher.end(cannot_pull(subscription))
        counters = self._hub.counters
        self._workers[name] = Pusher(dispatcher, subscription, counters, self._now, self._tokens)

    async def end_worker(self, name: str) -> None:
        """Stop pushing the messages of a subscription, which can be pulled from now on."""
        running = self._workers.pop(name, None)
        if running is None:
            return
        if not running.is_over:
            self._end(running)
        backend = self._hub.backend
        try:
            found = await backend.blocking(lambda: backend.subscription(name))
            if found.uid == running.dispatcher.leaser.uid:
                running.dispatcher.update(found)
            else:
                running.dispatcher.close(replaced(name))
        except Exception as error:
            logger.info(
                "%s: its new configuration cannot be read; its next exchange reads it again: %s",
                name,
                error,
            )

    def _end(self, pusher: Pusher) -> None:
        """End a pusher, which is kept while its requests are open."""
        pusher.end()
        self._ended = [each for each in (*self._ended, pusher) if each.has_requests]
