"""Seeded bugs of ``operations/read.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_as_of.py",)

BUGS = (
    Bug(
        "as-of-a-later-time",
        "A topic is read as of the microsecond after a time that is finer.",
        'time = read_time(as_of, "as_of", until=True)',
        'time = read_time(as_of, "as_of")',
    ),
    Bug(
        "backlog-of-stored-states",
        "A look at the backlog does not show what happened since the last commit.",
        "state = found.catch_up(tables.ack_states.read(found.uid), now)",
        "state = tables.ack_states.read(found.uid)",
        needs_spark=(
            "tests/delta/test_retries.py::test_a_failed_message_waits_and_others_keep_flowing",
        ),
    ),
    Bug(
        "newest-version-refused",
        "The newest version of a topic cannot be read.",
        "is_whole(given) and 0 <= given <= newest",
        "is_whole(given) and 0 <= given < newest",
    ),
    Bug(
        "backlog-counts-without-a-policy",
        "A backlog shows delivery attempts where there is no dead-letter policy.",
        "counted = found.subscription.dead_letter_policy is not None",
        "counted = True",
        needs_spark=("tests/delta/test_batches.py::test_a_backlog_has_the_rows_that_a_pull_gives",),
    ),
)
