"""Seeded bugs of ``server/dispatcher.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_replies.py",
    "tests/unit/test_idle_subscriptions.py",
    "tests/unit/test_suspended_processes.py",
    "tests/unit/test_server_hub.py",
    "tests/unit/test_server_polls.py",
    "tests/unit/test_server_what_waits.py",
    "tests/unit/test_server_rims.py",
    "tests/unit/test_server_counters.py",
    "tests/unit/test_server_pull.py",
    "tests/unit/test_server_streams.py",
    "tests/unit/test_server_transport.py",
    "tests/unit/test_server_seeks.py",
    "tests/unit/test_server_simulation.py",
    "tests/unit/test_server_loops.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "given-back-is-a-nack",
        "What could not be sent to a client counts as a failed delivery.",
        "self.leaser.give_back(each.received.ack_id for each in deliveries)",
        "self.modify_ack_deadline([each.received.ack_id for each in deliveries], 0)",
    ),
    Bug(
        "storage-that-refuses-voids-acknowledgements",
        "A storage that refuses a request for a moment ends consumers, and voids what they said.",
        "except (NotFound, Detached) as error:",
        "except (NotFound, Detached.__base__) as error:",
    ),
    Bug(
        "closed-acks-temporary",
        "An exactly-once ack of a subscription that was deleted meanwhile is told as "
        "temporary: clients repeat it for ever.",
        "        self.leaser.give_up(INVALID_ACK_ID)\n",
        "        self.leaser.give_up()\n",
    ),
    Bug(
        "kept-for-nobody",
        "Messages that nobody takes wait a minute, and those of a busy consumer five seconds.",
        "_KEPT_FOR_THE_BUSY if self._receivers else _KEPT_FOR_NOBODY",
        "_KEPT_FOR_NOBODY if self._receivers else _KEPT_FOR_THE_BUSY",
    ),
    Bug(
        "failed-look-found-nothing",
        "A look that failed is told to who wants an answer at once as one that found nothing.",
        "            polled_for = polled_for if written else []\n",
        "",
    ),
    Bug(
        "acks-wait-for-ever-after-a-failed-seek",
        "After a seek that was refused no ack of the subscription is written.",
        "                yield\n"
        "        finally:\n"
        "            self.leaser.acks.release()\n"
        "            self._woken.set()\n",
        "                yield\n"
        "        except Exception:\n"
        "            raise\n"
        "        else:\n"
        "            self.leaser.acks.release()\n"
        "            self._woken.set()\n",
    ),
    Bug(
        "one-pull-told-of-nothing",
        "Of several pulls that want an answer at once only one is told that there is none.",
        "                receiver.deliver(())\n",
        "                receiver.deliver(())\n                break\n",
    ),
    Bug(
        "impatient-after-an-error",
        "After consumers were told an error each further failure is told at once.",
        "        if self._failures % _FAILURES == 0:\n",
        "        if self._failures >= _FAILURES:\n",
    ),
    Bug(
        "gone-beyond-one-read",
        "Leased messages that did not fit into one read come only when their lease is over.",
        "            if messages and len(messages) < len(wanted):",
        "            if messages and len(messages) > len(wanted):",
    ),
    Bug(
        "a-request-is-of-another-time",
        "The store counts leases from another time than the server does.",
        "partial(self._channel.exchange, request, wanted, now, self.leaser.length)",
        "lambda: self._channel.exchange(request, wanted, self._now(), self.leaser.length)",
    ),
    Bug(
        "a-poll-during-an-exchange-is-lost",
        "What is published during an exchange waits for the next poll.",
        "self._poll_now = self._poll_now or found >= wanted",
        "self._poll_now = found >= wanted",
    ),
    Bug(
        "failures-of-exchanges-add-up",
        "Consumers get an error after some failed exchanges, though others succeeded in between.",
        "        self.leaser.request_took(self._exchanged - now)\n        self._failures = 0\n",
        "        self.leaser.request_took(self._exchanged - now)\n",
    ),
    Bug(
        "a-seek-overtakes-acks",
        "Acks from before a seek are written after it.",
        "                if self.leaser.has_request:\n"
        "                    await self._exchange(0)\n"
        "                yield\n",
        "                yield\n",
    ),
    Bug(
        "keys-go-to-who-has-left",
        "The messages of an ordering key go to a consumer that has left.",
        "        consumer.is_open = False\n",
        "",
    ),
    Bug(
        "sought-leases-stay",
        "Messages that were leased before a seek are acknowledged after it.",
        "        self.leaser.forget()\n        self._unread.clear()\n        self.poll()\n",
        "        self._unread.clear()\n        self.poll()\n",
    ),
    Bug(
        "polls-ever-slower",
        "A consumer waits ever longer between polls, though messages come.",
        "        if found:\n            self._poll_pause = self._timing.shortest_poll\n",
        "",
    ),
    Bug(
        "empty-poll-unanswered",
        "return_immediately waits for a message.",
        "                receiver.deliver(())\n",
        "                pass\n",
    ),
    Bug(
        "exactly-once-as-at-the-start",
        "A stream that is open when exactly-once delivery is turned on confirms nothing.",
        "        self.leaser.exactly_once = subscription.enable_exactly_once_delivery\n",
        "",
    ),
    Bug(
        "what-was-sent-does-not-count",
        "A server leases no more messages at a time, however many its clients take.",
        "                self._sent += len(deliveries)\n",
        "",
    ),
    Bug(
        "each-ack-is-a-commit",
        "Acknowledgements are written as they come, and not gathered.",
        "if self.leaser.has_request and not self._stopping:",
        "if self.leaser.has_request and self._stopping:",
    ),
    Bug(
        "nothing-wakes-after-a-seek",
        "Requests that came during a seek wait for the next tick.",
        "            self.leaser.acks.release()\n            self._woken.set()",
        "            self.leaser.acks.release()",
    ),
    Bug(
        "a-clock-that-is-set-back-stops-polls",
        "A server whose clock is set back finds nothing of others until it is as late again.",
        "        return self._poll_now or not 0 < left <= self._timing.longest_poll\n",
        "        return self._poll_now or left <= 0\n",
    ),
    Bug(
        "acks-during-a-seek-are-lost-at-the-end",
        "A server that ends during a seek loses the acks that came meanwhile.",
        "        async with self._exchanging:  # what a seek",
        "        async with asyncio.Lock():  # what a seek",
    ),
    Bug(
        "what-was-never-read-stays-leased",
        "Messages that a server cannot read stay leased for ever, without any consumer.",
        "        if not self.leaser.waiting:\n            self._waits_since",
        "        if not self.leaser.assigner.waiting:\n            self._waits_since",
    ),
    Bug(
        "pauses-of-a-failing-storage-begin-anew",
        "A server asks a storage that fails for hours many times a second, and logs each failure.",
        "self._timing.pause(self._failures))",
        "self._timing.pause(self._failures % _FAILURES))",
    ),
    Bug(
        "given-back-after-an-idle-minute",
        "After a minute without messages a busy client's messages are leased again and again.",
        """        if not self.leaser.waiting:
            self._waits_since = now
""",
        "",
    ),
    Bug(
        "kept-though-deleted-elsewhere",
        "A server keeps something of every subscription that another process has deleted.",
        "self.is_over = not self.leaser.has_confirmations",
        "pass",
    ),
    Bug(
        "forgotten-though-not-told",
        "An ack whose success was not told fails when it is repeated after a minute of rest.",
        "self.is_over = not self.leaser.has_confirmations",
        "self.is_over = True",
    ),
    Bug(
        "woken-for-nobody",
        "A publish costs the more, the more subscriptions have been served and left.",
        "        if self._receivers or not self.leaser.is_empty:\n            self._woken.set()",
        "        self._woken.set()",
    ),
    Bug(
        "dispatcher-ends-with-an-unexpected-error",
        "Nothing is delivered any more after one error that nobody expected.",
        "            except Exception:\n"
        '                logger.exception("%s: the dispatcher goes on"',
        "            except OSError:\n"
        '                logger.exception("%s: the dispatcher goes on"',
    ),
    Bug(
        "an-ended-consumer-stays",
        "A consumer that was ended with an error is given messages still.",
        "            self.leave(receiver.consumer)\n            receiver.fail(error)",
        "            receiver.fail(error)",
    ),
)
