"""Seeded bugs of ``operations/pull.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug
from tests.mutations.groups import TABLE_WRITES

NEAREST = (
    "tests/unit/test_reading_leases.py",
    "tests/unit/test_consumer_calls.py",
    "tests/unit/test_expiration.py",
    "tests/unit/test_restored.py",
    "tests/unit/test_successors.py",
    "tests/unit/test_server_access_changes.py",
    *TABLE_WRITES,
)

BUGS = (
    Bug(
        "other-messages-of-a-batch-id",
        "A micro-batch that is run again after a RESTORE gets messages that its sink skips.",
        "        if repeated:\n",
        "        if False:\n",
    ),
    Bug(
        "finished-micro-batch-stays",
        "A micro-batch that is processed is not acknowledged before the next one comes.",
        "query_id, batch_id + 1, terms, now)",
        "query_id, batch_id, terms, now)",
    ),
    Bug(
        "query-goes-on-with-a-successor",
        "A query goes on with the subscription that was created anew under the name of its own.",
        "lease, finish, uid=uid, leases=leases)",
        "lease, finish, leases=leases)",
    ),
    Bug(
        "a-finished-micro-batch-is-no-activity",
        "The end of a micro-batch does not count as a use of its subscription.",
        "        following = decide(state, found.terms)\n"
        "        return replay.note_activity(state, following, found.subscription, now)\n",
        "        return decide(state, found.terms)\n",
    ),
    Bug(
        "a-lease-over-before-it-is-given",
        "A pull that has waited for longer than the ack deadline returns messages without a lease.",
        """    check_max_messages(max_messages)

    def lease""",
        """    check_max_messages(max_messages)
    begun = clock()
    clock = lambda: begun

    def lease""",
    ),
    Bug(
        "a-micro-batch-over-before-it-is-given",
        "A query that has waited for longer than the ack deadline processes messages without a "
        "lease: another consumer gets them, too.",
        "streams.begin(state, query_id, batch_id, max_messages, terms, clock(), below)",
        "streams.begin(state, query_id, batch_id, max_messages, terms, begun, below)\n"
        "\n    begun = clock()",
    ),
)
