"""Seeded bugs of ``tables/store.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_races.py",
    "tests/unit/test_publish_calls.py",
    "tests/unit/test_lost_registry.py",
    "tests/lanes/test_absent_stores.py",
)

BUGS = (
    Bug(
        "published-to-the-detached",
        "A publish to a deleted topic succeeds though all its subscriptions are detached.",
        "return any(not each.detached for each, _ in self.registry.holders(topic_uid))",
        "return any(self.registry.holders(topic_uid))",
    ),
    Bug(
        "the-logs-of-a-publish-are-read-in-turn",
        "A process forgets the topics that it has used, so it reads their logs one by one.",
        "        self._topic_uids[str(name)] = uid\n",
        "        self._topic_uids.pop(str(name), None)\n",
    ),
    Bug(
        "absent-store-is-maintained",
        "A schedule whose root is misspelt does nothing, and tells that all is done.",
        "        if not self.registry.is_created():\n",
        "        if self.registry.is_created() is None:\n",
    ),
)
