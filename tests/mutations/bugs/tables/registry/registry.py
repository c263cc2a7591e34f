"""Seeded bugs of ``tables/registry/registry.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_changed_at_that_moment.py",
    "tests/unit/test_lost_registry.py",
    "tests/unit/test_expired_snapshots.py",
    "tests/unit/test_tables_in_memory.py",
    "tests/unit/test_snapshot_calls.py",
    "tests/unit/test_expiration.py",
    "tests/unit/test_schema_publishing.py",
    "tests/unit/test_order_of_writes.py",
    "tests/unit/test_races.py",
    "tests/unit/test_expiration_beside_others.py",
    "tests/lanes/test_registry.py",
)

BUGS = (
    Bug(
        "announced-holds-nothing",
        "What only a snapshot holds that is being taken is deleted.",
        "return held + [EVERY_MESSAGE for row in rows if is_announced(row)]",
        "return held",
    ),
    Bug(
        "lengthened-snapshot-deleted",
        "A snapshot that is given more time at the end of its time is deleted.",
        "            return is_there and check(row)",
        "            return is_there",
    ),
    Bug(
        "schema-by-name",
        "A topic takes a schema that was created anew for its own.",
        '        return topic_of(row), self.schemas.of_uid(row["schema_uid"])',
        '        return topic_of(row), self.schemas.find(row["schema"])',
    ),
    Bug(
        "snapshot-row-before-its-table",
        "The row of a snapshot goes before its table, which nobody finds after a crash.",
        "        self._snapshot_tables.drop(uid)\n        self._snapshots.remove(uid)\n",
        "        self._snapshots.remove(uid)\n        self._snapshot_tables.drop(uid)\n",
    ),
    Bug(
        "lengthened-snapshot-lapses",
        "A snapshot lapses that somebody has given more time just now.",
        'self._hide(each["uid"], gives_way)',
        'self._hide(each["uid"], lambda _: True)',
    ),
    Bug(
        "unfinished-registry-is-lost",
        "A store whose creation was cut short can never be used.",
        "self._create, names[n + 1 :])",
        "self._create, names[:n])",
    ),
    Bug(
        "removed-snapshot-finished",
        "A snapshot that was removed while it was created becomes visible without its table.",
        "return self._snapshots.change_added(uid, columns, is_announced)",
        "return self._snapshots.change_added(uid, columns, lambda _: True)",
    ),
    Bug(
        "announced-of-any-topic",
        "While a snapshot of a topic is created, nothing of any topic is deleted.",
        "return held + [EVERY_MESSAGE for row in rows if is_announced(row)]",
        "return held + [EVERY_MESSAGE for row in self._snapshots.rows() if is_announced(row)]",
    ),
    Bug(
        "refused-though-it-is-gone",
        "The deletion of a topic that somebody else has deleted is refused, not told as NotFound.",
        "            if not is_living(row):\n                return False\n            check()\n"
        "            return True\n\n        return self._topics.change(uid",
        "            check()\n            return is_living(row)\n\n"
        "        return self._topics.change(uid",
    ),
    Bug(
        "subscription-by-name-without-its-topic",
        "A subscription that is looked up does not show the retention of its topic.",
        "return next(iter(self._with_topics(named)), None)",
        "return next(map(subscription_of, named), None)",
    ),
    Bug(
        "created-by-subscriptions",
        "A store without a subscription was never created.",
        "return self._topics.is_created()",
        "return self._subscriptions.is_created()",
    ),
    Bug(
        "retention-beside-an-expiration",
        "Retention deletes the messages of a subscription that is used while it expires.",
        "[_source_of(row) for row in rows if",
        "[_source_of(row) for row in self._in_use() if",
    ),
    Bug(
        "dead-letter-topic-unprotected-when-put-back",
        "A dead-letter topic can be deleted while a subscription expires that names it.",
        'for row in rows if row["dead_letter_topic"] == topic.name]',
        'for row in self._in_use() if row["dead_letter_topic"] == topic.name]',
    ),
    Bug(
        "topic-is-deleted-twice",
        "Of two that delete a topic at the same time both are told that they have.",
        "            if not is_living(row):",
        "            if row is None:",
    ),
    Bug(
        "a-snapshot-goes-in-spite-of-a-check",
        "A snapshot that was given more time meanwhile is deleted as an expired one.",
        "return is_there and check(row)",
        "return is_there",
    ),
)
