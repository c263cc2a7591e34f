"""Seeded bugs of ``server/response_queue.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_suspended_processes.py",
    "tests/unit/test_server_response_queue.py",
    "tests/unit/test_server_rims.py",
    "tests/unit/test_server_memory.py",
    "tests/unit/test_server_streams.py",
)

BUGS = (
    Bug(
        "unread-stream-keeps-what-expired",
        "What has expired waits on for a stream that is not read: memory grows without end.",
        "if len(self._messages) > self._consumer.messages or self._bytes > self._consumer.bytes:",
        "if not self._messages:",
    ),
    Bug(
        "unread-stream-bounded-by-count",
        "What waits for a stream is bounded by the number of messages, and not by their bytes.",
        "len(self._messages) > self._consumer.messages or self._bytes > self._consumer.bytes:",
        "len(self._messages) > 10 * self._consumer.messages:",
    ),
    Bug(
        "expired-message-sent",
        "What has expired or was voided by a seek is sent all the same.",
        "held = self._is_held(delivery)",
        "held = True",
    ),
    Bug(
        "confirmations-without-end",
        "A client that reads no confirmations is heard for ever.",
        "while self._unconfirmed > MOST_UNCONFIRMED:",
        "while self._unconfirmed > MOST_UNCONFIRMED * 1_000:",
    ),
    Bug(
        "confirmation-too-large",
        "The confirmations of a large request come in one response, which clients do not take.",
        "count >= MOST_UNCONFIRMED or size > MOST_BYTES",
        "count >= MOST_UNCONFIRMED",
    ),
    Bug(
        "sent-messages-stay-in-memory",
        "What was sent stays in memory until it is acknowledged.",
        "delivery.was_sent()",
        "pass",
    ),
    Bug(
        "unsent-for-ever",
        "A stream that was sent its messages counts their bytes as unsent, and gets no more.",
        "        self._sending.clear()\n        self._consumer.unsent = self._bytes\n",
        "        self._sending.clear()\n",
    ),
    Bug(
        "silent-stream-is-not-kept-alive",
        "A stream without messages sends nothing, and what is between ends it.",
        "        self._keeps_alive = True\n",
        "",
    ),
    Bug(
        "an-error-of-a-stream-is-overwritten",
        "A stream whose subscription was deleted ends with OK, if its client ends it meanwhile.",
        "        if not self._is_over:\n            self._is_over, self._error = True, error\n",
        "        self._is_over, self._error = True, error\n",
    ),
    Bug(
        "unsent-bytes-of-nobody",
        "Messages that a stream lost before they were sent count as unsent for ever.",
        "            self._bytes -= delivery.size\n            if held and",
        "            self._bytes -= delivery.size if held else 0\n            if held and",
    ),
    Bug(
        "streams-keep-what-they-sent",
        "A long stream keeps each message that it has sent, until the server leases no more.",
        "        self._sending.clear()\n",
        "",
    ),
    Bug(
        "unheard-after-confirmations",
        "A stream with many unread confirmations hears no more of its client, who reads them.",
        "        self._read.set()\n",
        "",
    ),
    Bug(
        "a-confirmed-ack-succeeds-again",
        "A stream remembers the acks that it has confirmed, so a repeated one succeeds.",
        '        self._confirmed(ids.get("ack_ids", ()))\n',
        "",
    ),
    Bug(
        "unconfirmed-for-ever",
        "A client with many confirmations is not read any more.",
        "        self._unconfirmed -= count\n        self._read.set()\n",
        "        self._read.set()\n",
    ),
    Bug(
        "returned-messages-sent",
        "A stream sends messages whose lease a seek has ended.",
        "return delivery.consumer is self._consumer",
        "return True",
    ),
    Bug(
        "confirmations-not-told",
        "A stream does not note the success that it has told.",
        "self._confirmed = confirmed",
        "self._confirmed: Callable[[Sequence[str]], object] = lambda _: None",
    ),
    Bug(
        "sent-after-a-suspension",
        "A server that was stopped sends what another has delivered and acknowledged meanwhile.",
        "if held and self._may_send(delivery):",
        "if held:",
    ),
    Bug(
        "what-is-lost-counts-as-unsent",
        "A stream is given less for what its client has lost.",
        "            self._bytes = sum(delivery.size for delivery in self._messages)\n"
        "        self._consumer.unsent",
        "        self._consumer.unsent",
    ),
)
