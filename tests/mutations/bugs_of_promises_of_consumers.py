"""Bugs of a reading of what is promised to consumers, as the code had them or nearly."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_PROMISES_OF_CONSUMERS = (
    Bug(
        "kept-longer-is-a-minute-from-now",
        "Keeping messages longer in the console cuts a longer lease short.",
        "console/pulling.py",
        "longest = min(is_left + EXTENSION, MAX_ACK_DEADLINE_SECONDS)",
        "longest = EXTENSION",
    ),
)
