"""Seeded bugs of ``server/leaser.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_replies.py",
    "tests/unit/test_acks_of_one_call.py",
    "tests/unit/test_server_leaser.py",
    "tests/unit/test_server_hung_clients.py",
    "tests/unit/test_moved_deadlines.py",
    "tests/unit/test_server_leases.py",
    "tests/unit/test_server_seeks.py",
    "tests/unit/test_server_odd_calls.py",
    "tests/unit/test_server_simulation.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "repeated-ack-believed",
        "A repeated ack is answered from memory, though somebody has sought since.",
        "self.acks.acknowledge_again(place, (ack_id, future))",
        "future.settle()",
    ),
    Bug(
        "repeated-ack-of-an-ordered-message",
        "Without exactly-once delivery an ack that succeeded once is not said again.",
        "if self.exactly_once and ack_id in self._acknowledged:",
        "if ack_id in self._acknowledged:",
    ),
    Bug(
        "nack-remembered-beyond-a-seek",
        "A nack from before a seek of another process is told as a success.",
        "self._nacked.clear()\n        applied",
        "pass\n        applied",
    ),
    Bug(
        "repeated-while-it-is-written",
        "An ack that is repeated while it is written fails for good, though it succeeds.",
        "elif each.again or each.deadline or ack_id not in known:",
        "else:",
    ),
    Bug(
        "deadline-of-a-nacked-delivery",
        "A new deadline of a nacked delivery succeeds with exactly-once delivery.",
        "elif each.again or each.deadline or ack_id not in known:",
        "elif each.again or ack_id not in known:",
    ),
    Bug(
        "told-success-repeated",
        "With exactly-once delivery a repeated ack succeeds for ever.",
        "self._acknowledged.pop(ack_id, None)",
        "pass",
    ),
    Bug(
        "overdue-lease-given-away",
        "A process that was stopped gives away what others have leased since.",
        "if lease.until <= now]",
        "if lease.until < lease.until]",
    ),
    Bug(
        "newest-ack-id-forgotten",
        "Beyond the ack ids that a server remembers it forgets the newest.",
        "        del ids[next(iter(ids))]\n",
        "        ids.popitem()\n",
    ),
    Bug(
        "later-of-a-key-not-given-back",
        "Later messages of a key overtake one that is given back.",
        "self._release_all(self.outstanding.give_back(delivery))",
        "self.outstanding.give_back(delivery)",
    ),
    Bug(
        "moved-deadline-before-ones-own",
        "An earlier deadline at another server counts in place of a later one at this one.",
        "if delivery.deadline is None or delivery.deadline < end:",
        "if delivery.deadline != end:",
    ),
    Bug(
        "unsent-messages-wait-for-the-store",
        "What was not sent to its consumer stays in its way until the store has been asked.",
        "if delivery.is_sent:",
        "if delivery.is_outstanding:",
    ),
    Bug(
        "a-seek-leaves-the-expired",
        "What has expired when a subscription is sought counts against its consumer for ever.",
        "        for delivery in self.outstanding.forget():\n",
        "        for delivery in list(self._sent._by_ack_id.values()):\n",
    ),
    Bug(
        "a-slow-request-is-forgotten",
        "Leases are as long as the last request needs, and not the slowest of late.",
        "self._slowest_request = max(duration, self._slowest_request * 0.95)",
        "self._slowest_request = duration",
    ),
    Bug(
        "acks-are-never-confirmed",
        "--confirm-acks does nothing.",
        "self._confirms = confirms",
        "self._confirms = exactly_once",
    ),
    Bug(
        "given-before-it-is-covered",
        "With exactly-once delivery what has waited is given for longer than its lease.",
        "return all(lease.until >= covered for lease in leases)",
        "return True",
    ),
    Bug(
        "written-beside-what-is-no-ack-id",
        "An ack that succeeded beside what is no ack id is told as failed by another server.",
        "places.append((0, 0))  # it fails",
        "pass",
    ),
    Bug(
        "postponed-beside-a-success",
        "An ack waits to be repeated, as another one of its call had succeeded before.",
        """\
                self.acks.acknowledge_again(place, (ack_id, future))
""",
        """\
                self.acks.acknowledge_again(place, (ack_id, future))
                places.append(place)
""",
    ),
    Bug(
        "failed-at-one-to-the-same",
        "Of many messages that a stream has not answered half are given to it again.",
        "            self.assigner.fail(delivery)\n",
        "",
    ),
    Bug(
        "deadline-after-a-nack-is-a-success",
        "A client extends what it has nacked, and believes that it still has it.",
        "            future.fail(ack_id)\n            future.settle()\n\n    def _place_of",
        "            future.settle()\n\n    def _place_of",
    ),
)
