"""Seeded bugs of ``tables/registry/predicates.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_registry_rows.py",
    "tests/unit/test_expired_snapshots.py",
    "tests/unit/test_snapshot_calls.py",
    "tests/unit/test_expiration.py",
)

BUGS = (
    Bug(
        "expired-snapshot-keeps-its-row",
        "Two snapshots have one name, where an expired one is given more time by a clock behind.",
        '        return bool(row["expire_time"] <= now)\n    return is_announced(row) and',
        "        return False\n    return is_announced(row) and",
    ),
    Bug(
        "the-name-of-a-dead-snapshot-is-taken-for-an-hour",
        "After a crash the name of a snapshot is taken for an hour, and not ten minutes.",
        'row["announced"] <= now - NAME_RESERVED_FOR',
        'row["announced"] <= now - ABANDONED_AFTER',
    ),
    Bug(
        "expires-now-stays",
        "maintain leaves a snapshot that expires at this moment.",
        "def may_be_removed(row: Row, now: datetime) -> bool:\n"
        '    """Return whether a snapshot has expired, or its creation has taken too long."""\n'
        '    if row["announced"] is None:\n'
        '        return bool(row["expire_time"] <= now)',
        "def may_be_removed(row: Row, now: datetime) -> bool:\n"
        '    """Return whether a snapshot has expired, or its creation has taken too long."""\n'
        '    if row["announced"] is None:\n'
        '        return bool(row["expire_time"] < now)',
    ),
    Bug(
        "a-deleted-topic-by-its-name",
        "A subscription still names its topic after that was deleted.",
        "return resource if topic is not None else replace(resource, topic=DELETED_TOPIC)",
        "return resource",
    ),
)
