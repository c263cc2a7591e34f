"""Bugs of the server, and of what its clients and the library remember and are told."""

from __future__ import annotations

from tests.mutations.bug import Bug

_ACK_BUFFER = "policy/ack_buffer.py"
_LEASER = "server/leaser.py"
_OUTSTANDING = "policy/outstanding.py"
_OUTBOX = "server/response_queue.py"
_STATUS = "server/status.py"

BUGS_OF_SERVER = (
    Bug(
        "unread-stream-keeps-what-expired",
        "What has expired waits on for a stream that is not read: memory grows without end.",
        _OUTBOX,
        "if len(self._messages) > self._consumer.messages or self._bytes > self._consumer.bytes:",
        "if not self._messages:",
    ),
    Bug(
        "unread-stream-bounded-by-count",
        "What waits for a stream is bounded by the number of messages, and not by their bytes.",
        _OUTBOX,
        "len(self._messages) > self._consumer.messages or self._bytes > self._consumer.bytes:",
        "len(self._messages) > 10 * self._consumer.messages:",
    ),
    Bug(
        "expired-message-sent",
        "What has expired or was voided by a seek is sent all the same.",
        _OUTBOX,
        "held = self._is_held(delivery)",
        "held = True",
    ),
    Bug(
        "confirmations-without-end",
        "A client that reads no confirmations is heard for ever.",
        _OUTBOX,
        "while self._unconfirmed > MOST_UNCONFIRMED:",
        "while self._unconfirmed > MOST_UNCONFIRMED * 1_000:",
    ),
    Bug(
        "confirmation-too-large",
        "The confirmations of a large request come in one response, which clients do not take.",
        _OUTBOX,
        "count >= MOST_UNCONFIRMED or size > MOST_BYTES",
        "count >= MOST_UNCONFIRMED",
    ),
    Bug(
        "more-names-than-fit",
        "An error names more ack ids than clients take metadata.",
        _STATUS,
        "if room < 0:",
        "if room < -10_000:",
    ),
    Bug(
        "unnamed-tried-for-ever",
        "Where many ack ids failed and few did not, all are tried again.",
        _STATUS,
        "(_fits(again) and not _fits(lost))):",
        "False):",
    ),
    Bug(
        "unnamed-success-is-a-failure",
        "An ack id that succeeded, and is not named, is taken for one that failed.",
        _STATUS,
        "(_fits(again) and not _fits(lost))):",
        "not _fits(lost)):",
    ),
    Bug(
        "message-too-long-to-send",
        "A message of many characters that gRPC escapes does not fit into a reply.",
        _STATUS,
        "while len(quote(text, safe=_AS_THEY_ARE)) > _MESSAGE_BYTES:",
        "while len(text) > _MESSAGE_BYTES:",
    ),
    Bug(
        "id-that-no-reply-could-name",
        "An ack id of megabytes is taken, and no reply can name it.",
        _STATUS,
        "if size > LONGEST_ACK_ID:",
        "if size > LONGEST_ACK_ID * 1_000_000:",
    ),
    Bug(
        "message-of-megabytes",
        "An error repeats a value of megabytes.",
        "errors.py",
        "shortened(as_utf8(each), LONGEST_MESSAGE) if isinstance(each, str) else each",
        "each",
    ),
    Bug(
        "pull-too-large",
        "A pull of many small messages is a response that clients do not take.",
        "server/subscriber_service.py",
        "min(request.max_messages, PULLED_MESSAGES),",
        "request.max_messages,",
    ),
    Bug(
        "given-up-is-a-success",
        "Where acks are confirmed, one that was given up is answered as written.",
        "server/subscriber_service.py",
        "if TRANSIENT in future.failures.values():",
        "if not future.done:",
    ),
    Bug(
        "repeated-ack-believed",
        "A repeated ack is answered from memory, though somebody has sought since.",
        _LEASER,
        "self.acks.acknowledge_again(place, (ack_id, future))",
        "future.settle()",
    ),
    Bug(
        "repeated-ack-of-an-ordered-message",
        "Without exactly-once delivery an ack that succeeded once is not said again.",
        _LEASER,
        "if self.exactly_once and ack_id in self._acknowledged:",
        "if ack_id in self._acknowledged:",
    ),
    Bug(
        "nack-remembered-beyond-a-seek",
        "A nack from before a seek of another process is told as a success.",
        _LEASER,
        "self._nacked.clear()\n        applied",
        "pass\n        applied",
    ),
    Bug(
        "deadlines-without-end",
        "Each deadline that a client moves is kept until it would have passed.",
        "server/sent_deliveries.py",
        "if len(self._deadlines) > 2 * len(self._by_ack_id) + _DEADLINES_THAT_NO_LONGER_COUNT:",
        "if not self._by_ack_id:",
    ),
    Bug(
        "held-beyond-a-seek",
        "What consumers have counts against them though another process has sought.",
        _OUTSTANDING,
        "if each < response.first_lease_id]",
        "if each < 0]",
    ),
    Bug(
        "lost-lease-fails-a-turn",
        "A lease of which nothing is left breaks the request that finds it out.",
        _OUTSTANDING,
        "if lease is not None and not lease.read and not lease.unread:",
        "assert lease is not None\n        if not lease.read and not lease.unread:",
    ),
    Bug(
        "ack-holds-beyond-a-seek",
        "An ack from before a seek holds after it, where its message is acknowledged.",
        "policy/delivery.py",
        "        if lease_id >= state.first_lease_id\n",
        "        if lease_id\n",
    ),
    Bug(
        "ack-holds-beyond-a-restore",
        "An ack holds though its message is unacknowledged again.",
        "policy/delivery.py",
        "lease_id: positions - unacked",
        "lease_id: positions",
    ),
    Bug(
        "followers-given-away",
        "What returned to the store with a nack of its key is read and given to a consumer.",
        _OUTSTANDING,
        " or delivery.key in lease.returned_keys:",
        ":",
    ),
    Bug(
        "deadline-overrides-a-nack",
        "A new deadline that is asked for after a nack lets the message stay leased.",
        _ACK_BUFFER,
        "if deadline and deadlines.get(position) == NACK:",
        "if deadline and deadlines.get(position) == deadline:",
    ),
    Bug(
        "deadline-cut-by-an-extension",
        "A delivery that is given a longer deadline is extended by a lease's length at once.",
        _ACK_BUFFER,
        "in _without(owned, modified).items():",
        "in owned.items():",
    ),
    Bug(
        "deadline-before-an-ack-fails",
        "A new deadline that an ack has replaced is told as invalid.",
        _ACK_BUFFER,
        "outcomes = outcomes if written is None else response.deadlines[written]",
        "outcomes = response.deadlines.get(written or asked, Outcomes())",
    ),
    Bug(
        "ended-subscription-remembered",
        "The state of each subscription that has ended stays in memory.",
        "tables/ack_state/states.py",
        "        self._cache.pop(uid, None)\n        self._contended.discard(uid)\n",
        "        self._cache.get(uid)\n        self._contended.discard(uid)\n",
    ),
    Bug(
        "unsent-stays-with-a-stream-that-ended",
        "What waits for a stream that its client leaves unread is held until its deadline.",
        "server/streams.py",
        "            dispatcher.give_back(queue.unsent())\n",
        "",
    ),
    Bug(
        "publish-of-clients-that-are-gone",
        "What waits to be published is published though its client is gone, and sends it again.",
        "server/publishing.py",
        "if request in self._requests:",
        "if not self._requests:",
    ),
    Bug(
        "append-of-nothing",
        "Nothing is appended to a topic, after all who had something have gone.",
        "server/publishing.py",
        "if not batch:  # its clients have gone",
        "if batch is None:",
    ),
)
