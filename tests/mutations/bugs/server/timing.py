"""Seeded bugs of ``server/timing.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_polls.py",
    "tests/unit/test_server_gathering.py",
    "tests/unit/test_server_replies.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "pauses-of-a-failing-storage-grow-for-ever",
        "A server goes on minutes after its storage, which had failed for hours.",
        "        return min(failures * self.gather, LONGEST_PAUSE)\n",
        "        return failures * self.gather\n",
    ),
)
