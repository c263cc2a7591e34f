"""Seeded bugs of ``publisher.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_wrong_arguments.py",
    "tests/unit/test_publisher_flow.py",
    "tests/unit/test_publisher.py",
    "tests/unit/test_publisher_flush.py",
    "tests/unit/test_signal_handlers.py",
    "tests/unit/test_forked_processes.py",
    "tests/lanes/test_exits.py",
)

BUGS = (
    Bug(
        "publisher-is-stopped-by-no-handler",
        "A signal handler that stops a publisher waits for the call that it has interrupted.",
        " is not self._thread and not interrupts:",
        " is not self._thread:",
    ),
    Bug(
        "publisher-is-flushed-by-no-handler",
        "A signal handler that flushes a publisher waits for the lock of what it has interrupted.",
        "lock = threading.RLock()",
        "lock = threading.Lock()",
    ),
    Bug(
        "failed-publish-holds-room",
        "Messages whose publishing failed count against the limits of the publisher for ever.",
        "self._release(batch)\n            self._paused |= keys",
        "self._paused |= keys",
    ),
    Bug(
        "who-waits-is-overtaken",
        "A message that comes later and fits is published before those that wait for room.",
        "return bool(self._blocked) or not self._has_room(size)",
        "return not self._has_room(size)",
    ),
    Bug(
        "publisher-counts-what-failed",
        "The bytes of messages that failed with their key count as queued for ever.",
        "                self._queued_bytes -= sum(queued.size for queued in overtaking)\n",
        "",
    ),
    Bug(
        "forked-publisher-queues",
        "A forked process queues messages that nobody commits.",
        "        size = size_of(message)\n        self._own_process.check()\n",
        "        size = size_of(message)\n",
    ),
    Bug(
        "blocked-until-the-latency",
        "A publish that waits for room waits for max_latency, though a commit would make room.",
        "        self._blocked.append(place)\n        self._work.notify()",
        "        self._blocked.append(place)\n        self._progress.notify()",
    ),
    Bug(
        "second-waiter-sleeps",
        "Of two publishes that wait for room the second sleeps on when both fit.",
        "            self._blocked.remove(place)\n            self._room.notify_all()\n",
        "            self._blocked.remove(place)\n",
    ),
    Bug(
        "a-blocked-publish-goes-on-after-stop",
        "A publish that waits for room while its publisher is stopped never ends.",
        "                self._wait_for_room(size)\n                self._check_open()\n",
        "                self._wait_for_room(size)\n",
    ),
    Bug(
        "flush-of-one-batch",
        "flush of a publisher returns after the first of several batches.",
        "self._settled = self._queue[0].number if self._queue else self._next_number",
        "self._settled = self._next_number",
    ),
    Bug(
        "settled-future-ends-its-publisher",
        "A future that its program settles itself ends the thread of its publisher.",
        "    except RuntimeError:\n        return not future.cancelled()\n",
        "    except LookupError:\n        return not future.cancelled()\n",
    ),
    Bug(
        "due-after-a-flush",
        "The first message after a flush does not wait for a batch.",
        "self._queue[0].number < self._flushed",
        "self._queue[0].number <= self._flushed",
    ),
    Bug(
        "as-large-as-the-limit",
        "A message of exactly the byte limit of flow control is refused.",
        "if size > self._limits.byte_limit:",
        "if size >= self._limits.byte_limit:",
    ),
    Bug(
        "ordering-paused-for-others",
        "After a failed batch messages without a key fail, too.",
        '{queued.message.ordering_key for queued in batch} - {""}',
        "{queued.message.ordering_key for queued in batch}",
    ),
    Bug(
        "cancelled-messages-fill-the-queue",
        "Messages that were cancelled count for flow control for ever.",
        "        self._release(cancelled)\n",
        "",
    ),
    Bug(
        "overtaken-messages-keep-room",
        "Messages that failed with their key count for flow control for ever.",
        "                self._release(overtaking)\n",
        "",
    ),
    Bug(
        "flush-waits-for-latency",
        "flush waits for max_latency.",
        "            given = self._flushed = self._next_number\n",
        "            given = self._next_number\n",
    ),
    Bug(
        "blocked-after-stop",
        "A publish that waits for room hangs after stop.",
        "            self._work.notify()\n            self._room.notify_all()\n\n    # Flow",
        "            self._work.notify()\n\n    # Flow",
    ),
    Bug(
        "flow-control-of-another-kind",
        "A publisher takes the flow control of a subscriber, and each of its publishes fails.",
        '        check_settings(flow_control, PublishFlowControl, "flow_control")\n',
        "",
    ),
    Bug(
        "resumed-key-of-any-type",
        "To resume a list of ordering keys is a TypeError.",
        "        if not isinstance(ordering_key, str):\n",
        "        if ordering_key is None:\n",
    ),
    Bug(
        "flow-control-of-another-class",
        "Flow control of another class fails at the first message.",
        '        check_settings(flow_control, PublishFlowControl, "flow_control")\n',
        "",
    ),
)
