"""Seeded bugs of ``operations/seek.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_seek_calls.py",
    "tests/unit/test_server_access.py",
    "tests/unit/test_snapshot_calls.py",
    "tests/unit/test_survey.py",
    "tests/unit/test_races.py",
    "tests/unit/test_console_successors.py",
    "tests/lanes/test_races_found.py",
)

BUGS = (
    Bug(
        "seek-of-whatever-it-is",
        "A seek with if_unchanged seeks a subscription that was created again.",
        "        check_unchanged(source.subscription, wanted)\n",
        "",
    ),
    Bug(
        "two-targets-of-a-seek",
        "A seek to a time and a snapshot at once is accepted.",
        "if (time is None) == (snapshot is None):",
        "if time is None and snapshot is None:",
    ),
    Bug(
        "seek-to-a-dying-snapshot",
        "A seek to a snapshot with less than an hour to live is accepted.",
        "    replay.check_lifetime(snapshot.name, snapshot.expire_time, now)\n",
        "",
    ),
    Bug(
        "seek-compares-topic-names",
        "A seek takes a snapshot of another topic, if that has the name of a deleted one.",
        "if topic_uid != source.topic_uid:",
        "if snapshot.topic != source.subscription.topic:",
    ),
    Bug(
        "seek-to-what-was-deleted",
        "A seek brings back messages that were deleted with its snapshot while it was noted.",
        "if target.snapshot is not None and not _still_exists(",
        "if target.snapshot is None and not _still_exists(",
    ),
    Bug(
        "seek-to-what-is-about-to-expire",
        "A seek does not notice that its snapshot was given less than an hour while it was noted.",
        "return found is not None and replay.has_time_left(found.expire_time, now)",
        "return found is not None",
    ),
    Bug(
        "seek-never-taken-back",
        "A seek whose snapshot is gone stays noted, and is not found all the same.",
        "return replay.withdraw(state, noted), None",
        "return state, None",
    ),
    Bug(
        "every-lease-counts-as-ended",
        "A preview counts the leases of messages that the seek acknowledges twice.",
        "leases_ended=len(before.positions(State.LEASED) & becoming),",
        "leases_ended=len(before.positions(State.LEASED)),",
    ),
    Bug(
        "forwardings-in-a-preview",
        "The preview of a seek counts messages that are being forwarded.",
        "return union(span for span in state.unacked() if span.state is not State.FORWARDING)",
        "return union(state.unacked())",
    ),
    Bug(
        "one-noted-seek-too-many",
        "An ack state has one noted seek more than is permitted.",
        ">= replay.MAX_NOTED_SEEKS",
        "> replay.MAX_NOTED_SEEKS",
    ),
    Bug(
        "topic-of-a-foreign-snapshot-named",
        "Who may seek to a snapshot is told of which topic it is, though that may not be seen.",
        'f"snapshot {name} is of another topic than subscription {source.subscription.name}; "',
        'f"snapshot {name} is of another topic than subscription {source.subscription.name}, "\n'
        '            f"{snapshot.topic}; "',
    ),
)
