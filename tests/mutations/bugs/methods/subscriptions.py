"""Seeded bugs of ``methods/subscriptions.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_client.py",
    "tests/lanes/test_far_clocks.py",
    "tests/unit/test_if_unchanged.py",
)

BUGS = (
    Bug(
        "field-left-out",
        "A subscription is created without the retry policy that it was given.",
        "        retry_policy=retry_policy,\n",
        "",
    ),
    Bug(
        "any-clock-deletes-a-subscription",
        "By a clock of the year 1 a subscription is deleted.",
        "    self._clock.check()\n",
        "",
    ),
)
