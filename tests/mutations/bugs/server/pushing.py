"""Seeded bugs of ``server/pushing.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_servers_without_keys.py",
    "tests/unit/test_suspended_processes.py",
    "tests/unit/test_server_push_changes.py",
    "tests/unit/test_push_tokens.py",
    "tests/unit/test_server_push.py",
    "tests/unit/test_push_of_successors.py",
)

BUGS = (
    Bug(
        "signed-for-an-earlier-endpoint",
        "What waits for its token is pushed to the endpoint that was there before.",
        "if self.is_over or not is_held:",
        "if not is_held:",
    ),
    Bug(
        "unsigned-push-is-a-failed-delivery",
        "Where no token can be signed, messages fail, and become dead letters.",
        "        self.dispatcher.leaser.give_back([delivery.received.ack_id])\n",
        "        self.dispatcher.modify_ack_deadline([delivery.received.ack_id], 0)\n",
    ),
    Bug(
        "pushed-to-the-endpoint-of-a-successor",
        "What waits of a deleted subscription is pushed to the endpoint of the one that follows.",
        "is_same = running is not None and running.dispatcher.leaser.uid == subscription.uid",
        "is_same = running is not None and running.dispatcher.name == subscription.name",
    ),
    Bug(
        "new-endpoint-waits-for-the-old-one",
        "A new push endpoint gets nothing while requests to the old one are open, or it pauses.",
        "if running.pushes_to(subscription.push_config):",
        "if subscription.push_config is not None:",
    ),
    Bug(
        "pushed-messages-kept-at-the-end",
        "A server that stops gives none of the messages back whose push was not answered.",
        "        unanswered = [each.received.ack_id for each in self._requests.values()]\n"
        "        await asyncio.gather(*self._cancelled(), return_exceptions=True)\n",
        "        await asyncio.gather(*self._cancelled(), return_exceptions=True)\n"
        "        unanswered = [each.received.ack_id for each in self._requests.values()]\n",
    ),
    Bug(
        "unsigned-without-a-pause",
        "Where no token can be signed, it is tried again at once, and without end.",
        "            self._back_off(sent, UNSIGNED)\n",
        "",
    ),
    Bug(
        "one-earlier-endpoint",
        "The end of a server gives back nothing of the endpoints before the last two.",
        "for each in (*self._ended, pusher) if",
        "for each in (pusher,) if",
    ),
    Bug(
        "no-earlier-endpoint",
        "The end of a server gives back nothing of the endpoints before the last one.",
        "pushers = (*self._workers.values(), *self._ended)",
        "pushers = (*self._workers.values(),)",
    ),
    Bug(
        "a-pusher-of-a-predecessor-goes-on",
        "A subscription that was created again is pushed by the worker of the earlier one.",
        "if running is not None and not running.is_over and is_same:",
        "if running is not None and not running.is_over:",
    ),
    Bug(
        "pause-of-another-address",
        "An endpoint with a new token in its URL waits out the pause of the old one.",
        "config.push_endpoint == self._config.push_endpoint",
        'config.push_endpoint.partition("?")[0] == self._endpoint_url',
    ),
    Bug(
        "no-slack-for-late-responses",
        "A push that is answered in its last moment has expired.",
        "subscription.ack_deadline_seconds + _SLACK",
        "subscription.ack_deadline_seconds",
    ),
    Bug(
        "paused-for-ever",
        "After a pause an endpoint gets no message any more.",
        "        self._consumer.is_paused = False\n",
        "",
    ),
    Bug(
        "connections-to-an-old-endpoint-are-kept",
        "A server keeps its connections to an endpoint after the last push to it.",
        "exc_info=task.exception())\n        self._close_if_done()\n",
        "exc_info=task.exception())\n",
    ),
    Bug(
        "pause-of-push-wakes-nobody",
        "After a pause of push delivery the dispatcher is not told that there is room again.",
        "        self._consumer.is_paused = False\n"
        "        self.dispatcher.poll()  # failed messages are available again",
        "        self._consumer.is_paused = False",
    ),
    Bug(
        "ended-pusher-with-requests-is-dropped",
        "Of the pushers that have ended, those with open requests are forgotten.",
        "(*self._ended, pusher) if each.has_requests]",
        "(*self._ended, pusher) if not each.has_requests]",
    ),
    Bug(
        "requests-of-a-detached-subscription",
        "Pushes under way go on when their subscription is detached.",
        """if isinstance(error, (NotFound, FailedPrecondition)):
            self._cancelled()""",
        """if isinstance(error, NotFound):
            self._cancelled()""",
    ),
    Bug(
        "pushed-after-a-seek",
        "What a seek has voided is pushed, if its token was being signed.",
        "is_held = delivery.is_outstanding and",
        "is_held =",
    ),
    Bug(
        "pushed-after-a-suspension",
        "What another can have since its token was asked for is pushed.",
        "is_held = delivery.is_outstanding and self.dispatcher.may_send(delivery)",
        "is_held = delivery.is_outstanding",
    ),
    Bug(
        "streams-beside-pushes",
        "Streams of a server without keys go on when another server is to push with a token.",
        "                streaming.end(cannot_pull(subscription))",
        "                pass",
    ),
)
