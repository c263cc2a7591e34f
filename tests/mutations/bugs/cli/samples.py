"""Seeded bugs of ``cli/samples.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_cli_watch.py",)

BUGS = (
    Bug(
        "acknowledged-backwards",
        "A watch shows rates below zero where its subscription was created again.",
        "max(0, n - known.get(name, 0))",
        "(n - known.get(name, 0))",
    ),
    Bug(
        "rates-of-short-intervals",
        "A watch that looks several times a second shows a part of the rate.",
        "/ (seconds or 1) for name",
        "/ max(seconds, 1) for name",
    ),
    Bug(
        "rates-of-a-clock-set-back",
        "A sample after the clock was set back has rates below zero.",
        "before is not None and seconds > 0 else acks",
        "before is not None and seconds else acks",
    ),
)
