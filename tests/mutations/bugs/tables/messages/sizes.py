"""Seeded bugs of ``tables/messages/sizes.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_publish_calls.py",
    "tests/unit/test_find.py",
    "tests/unit/test_metrics_of_a_store.py",
)

BUGS = (
    Bug(
        "deleted-publishes-are-sampled",
        "An estimate of bytes counts publishes that retention has deleted as messages of no size.",
        "oldest is not None and each.publish_time >= oldest",
        "oldest is not None",
    ),
    Bug(
        "the-bytes-of-a-small-backlog-are-estimated",
        "The bytes of a small backlog are estimated, and those of a large one are read.",
        "if self._exact or (read_if_quick and self._is_quick):",
        "if self._exact or not (read_if_quick and self._is_quick):",
    ),
    Bug(
        "topic-without-a-sample-has-no-bytes",
        "A topic whose last commits are no publishes is told as empty.",
        "        if mean is None:\n            return Measured(self._messages.byte_count())",
        "        if mean is None:\n            return Measured(0, is_estimate=True)",
    ),
)
