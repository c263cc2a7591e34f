"""Seeded bugs of ``tables/ack_state/rows.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_state_rows.py",)

BUGS = (
    Bug(
        "failure-not-stored",
        "Which delivery failed is forgotten when the ack state is stored.",
        'failed_lease_id=row["failed_lease_id"],',
        "failed_lease_id=None,",
    ),
    Bug(
        "floor-not-stored",
        "A purge until a later time is forgotten when the ack state is stored.",
        '"floor": state.floor,',
        '"floor": None,',
    ),
    Bug(
        "seek-without-coverage",
        "A noted seek forgets what the topic's retention covered.",
        'covered_from=utc(row["covered_from"]),',
        "covered_from=None,",
    ),
    Bug(
        "seal-not-checked",
        "A bitmap is read although its checksum is wrong.",
        'if checksum[len(_CHECKSUM_MARK) :] != zlib.crc32(body).to_bytes(4, "big"):',
        "if not checksum[len(_CHECKSUM_MARK) :]:",
    ),
    Bug(
        "count-not-checked",
        "A bitmap is read although it holds fewer positions than were written.",
        'if len(positions) != row["message_count"]:',
        'if len(positions) > row["message_count"]:',
    ),
    Bug(
        "outstanding-messages-in-no-column",
        "SQL on the ack states tells no number of outstanding messages.",
        '"num_outstanding_messages": metrics.',
        '"outstanding_messages": metrics.',
    ),
)
