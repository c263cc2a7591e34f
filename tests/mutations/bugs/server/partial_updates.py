"""Seeded bugs of ``server/partial_updates.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_partial_updates.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "last-try-of-an-update-overwrites",
        "The last try of an update writes over what somebody else has changed.",
        "    return await write(stored, stored)",
        "    return await write(stored, None)",
    ),
    Bug(
        "rest-of-a-field-as-it-was-read",
        "An update of a part of a field takes back what others have changed of the rest.",
        "return await write(stored, stored if depends else None)",
        "return await write(stored, None)",
    ),
)
