"""Seeded bugs of ``tables/lanes/spark/ticks.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_ticks.py",)

BUGS = (
    Bug(
        "checkpoint-of-an-earlier-life",
        "A query goes on with batch ids that its sink has seen, on a later subscription.",
        'check_checkpoint(self._name, self._uid, offset.get("subscription"))',
        "check_checkpoint(self._name, self._uid, self._uid)",
    ),
    Bug(
        "checkpoint-of-another-kind",
        "A query takes a checkpoint of format('pubsub_delta') for its own.",
        "        if not isinstance(offset, Mapping) or not isinstance(tick, int):\n",
        "        if not isinstance(offset, Mapping):\n",
    ),
)
