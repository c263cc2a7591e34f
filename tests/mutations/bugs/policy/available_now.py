"""Seeded bugs of ``policy/available_now.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_data_source_consumer.py",)

BUGS = (
    Bug(
        "drain-of-the-same-again",
        "A query that drains never ends while its messages are given back again and again.",
        "new = leased - self._offered",
        "new = leased",
    ),
)
