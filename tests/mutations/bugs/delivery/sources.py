"""Seeded bugs of ``delivery/sources.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_successors.py",
    "tests/unit/test_restored.py",
    "tests/unit/test_tables_in_memory.py",
    "tests/unit/test_snapshot_calls.py",
    "tests/unit/test_races_with_retention.py",
)

BUGS = (
    Bug(
        "deleted-messages-are-waited-for",
        "A restored ack state gives messages for ever that were deleted since.",
        "if not current.spans or not log.may_lack_messages:",
        "if not current.spans or log.may_lack_messages:",
    ),
    Bug(
        "announcement-is-not-heeded",
        "A seek brings back what retention is about to delete.",
        "new = new.without_discarded()",
        "new = new.up_to(up_to)",
    ),
    Bug(
        "prefetched-log-is-taken",
        "A seek is carried out by a log that was read before its note.",
        "if self._after_version < 0:  # what",
        "if self._after_version < -1:  # what",
    ),
    Bug(
        "announcement-of-a-cut-log",
        "Where the log has forgotten commits, a seek heeds no announcement.",
        "if not new.is_complete:",
        "if new.is_complete:",
    ),
    Bug(
        "announced-messages-come-back",
        "A seek brings back what retention has announced to delete where the log was cut.",
        "earliest = max(earliest, new.discards_before or earliest)",
        "earliest = min(earliest, new.discards_before or earliest)",
    ),
    Bug(
        "successor-leased-from",
        "A stream goes on with a subscription that was created again under its name.",
        "    if uid not in (None, found.uid):\n",
        "    if uid is None and not found.uid:\n",
    ),
)
