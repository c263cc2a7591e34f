"""Seeded bugs of ``server/streams.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_suspended_processes.py",
    "tests/unit/test_server_what_waits.py",
    "tests/unit/test_server_rims.py",
    "tests/unit/test_server_streams.py",
    "tests/unit/test_server_replies.py",
    "tests/unit/test_server_response_queue.py",
)

BUGS = (
    Bug(
        "unsent-stays-with-a-stream-that-ended",
        "What waits for a stream that its client leaves unread is held until its deadline.",
        "            dispatcher.give_back(queue.unsent())\n",
        "",
    ),
    Bug(
        "stream-deadline-of-10-seconds",
        "A stream whose ack deadline is the shortest is refused.",
        "if not MIN_ACK_DEADLINE_SECONDS <= seconds <= MAX_ACK_DEADLINE_SECONDS:",
        "if not MIN_ACK_DEADLINE_SECONDS < seconds <= MAX_ACK_DEADLINE_SECONDS:",
    ),
    Bug(
        "stream-deadline-of-600-seconds",
        "A stream whose ack deadline is the longest is refused.",
        "if not MIN_ACK_DEADLINE_SECONDS <= seconds <= MAX_ACK_DEADLINE_SECONDS:",
        "if not MIN_ACK_DEADLINE_SECONDS <= seconds < MAX_ACK_DEADLINE_SECONDS:",
    ),
    Bug(
        "stream-deadline-stays",
        "A stream keeps the ack deadline of its first request, whatever a later one says.",
        "                    self._consumer.ack_deadline_seconds = _stream_ack_deadline(\n",
        "                    _ = _stream_ack_deadline(\n",
    ),
    Bug(
        "more-seconds-than-ids",
        "A stream with more deadlines than ack ids fails with INTERNAL.",
        "if len(request.modify_deadline_ack_ids) != len(request.modify_deadline_seconds):",
        "if len(request.modify_deadline_ack_ids) > len(request.modify_deadline_seconds):",
    ),
    Bug(
        "bytes-of-a-later-request-are-ignored",
        "A later request of a stream with max_outstanding_bytes is taken without effect.",
        '    "max_outstanding_bytes",\n    "protocol_version",',
        '    "protocol_version",',
    ),
    Bug(
        "unwritten-acks-confirmed",
        "A stream confirms acks that could not be written, beside their failure.",
        "[each for each in asked if each not in failed]",
        "[each for each in asked if each not in invalid]",
    ),
    Bug(
        "empty-requests-get-no-response",
        "A stream of protocol version 1 gets no responses to its empty requests.",
        "if first.protocol_version >= KEEP_ALIVE and not request.ByteSize():",
        "if first.protocol_version > KEEP_ALIVE and not request.ByteSize():",
    ),
    Bug(
        "a-client-that-is-gone-gets-messages",
        "A client that disconnects is given messages all the same.",
        "            dispatcher.leave(consumer)\n            dispatcher.give_back(",
        "            dispatcher.give_back(",
    ),
    Bug(
        "a-client-that-has-ended-is-given-more",
        "A client that has said its last request, and reads no more, is given messages.",
        "        self._dispatcher.leave(self._consumer)\n        self._queue.end(error)\n",
        "        self._queue.end(error)\n",
    ),
    Bug(
        "an-unsent-confirmation-counts-as-told",
        "An ack fails when it is repeated, though its stream ended before it was confirmed.",
        "            self._queue.confirm(field, named)\n",
        '            self._dispatcher.leaser.forget_confirmed(named["ack_ids"])\n'
        "            self._queue.confirm(field, named)\n",
    ),
    Bug(
        "given-to-who-leaves",
        "A stream that ends is given what waits, as it gives back what it had.",
        "dispatcher.leave(consumer)\n            dispatcher.give_back(queue.unsent())\n",
        "dispatcher.give_back(queue.unsent())\n            dispatcher.leave(consumer)\n",
    ),
    Bug(
        "keep-alives-for-old-clients",
        "The server answers an empty request of a client that knows no keep-alive.",
        "first.protocol_version >= KEEP_ALIVE and not",
        "not",
    ),
    Bug(
        "deadlines-for-all",
        "Every new deadline of a request is one for all its messages.",
        "self._dispatcher.modify_ack_deadline(ack_ids, seconds)",
        "self._dispatcher.modify_ack_deadline(request.modify_deadline_ack_ids, seconds)",
    ),
    Bug(
        "stream-that-says-nothing-is-an-error",
        "A stream that ends before its first request is an AttributeError.",
        "        if first is None:\n            return",
        "        if first is None and requests is None:\n            return",
    ),
)
