"""Seeded bugs of ``policy/fields.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_fields.py",
    "tests/unit/test_push_configs.py",
    "tests/unit/test_updates.py",
    "tests/unit/test_snapshots.py",
    "tests/unit/test_client.py",
    "tests/unit/test_wrong_arguments.py",
    "tests/unit/test_fuzz_fields.py",
)

BUGS = (
    Bug(
        "ttl-equal-to-retention",
        "A ttl that is not longer than the message retention is accepted.",
        "if policy.ttl <= message_retention_duration:",
        "if policy.ttl < message_retention_duration:",
    ),
    Bug(
        "ttl-of-the-old-retention",
        "An update compares the ttl with the message retention from before it.",
        'changes.get("message_retention_duration", subscription.message_retention_duration),',
        "subscription.message_retention_duration,",
    ),
    Bug(
        "snapshot-expires-now",
        "A snapshot may be given an expire_time that is not in the future.",
        "if not now < time <= latest:",
        "if not now <= time <= latest:",
    ),
    Bug(
        "equal-backoffs-refused",
        "A maximum_backoff equal to the minimum is refused.",
        "if smallest > largest:",
        "if smallest >= largest:",
    ),
    Bug(
        "pull-of-none",
        "A pull of 0 messages is accepted.",
        "(not is_whole(max_messages) or max_messages <= 0):",
        "(not is_whole(max_messages) or max_messages < 0):",
    ),
    Bug(
        "own-topic-by-its-id",
        "A subscription's own topic is accepted for its dead letters, if given as a short id.",
        "if target == topic:",
        "if policy.dead_letter_topic == topic:",
    ),
    Bug(
        "created-unchecked",
        "A subscription is created with fields that an update of it refuses.",
        "        **check_subscription_update(fields, named, project),\n",
        "",
    ),
    Bug(
        "expiration-after-a-hundred-years",
        "The longest expiration that an error accepts is refused.",
        "if policy.ttl > MAX_TTL:",
        "if policy.ttl >= MAX_TTL:",
    ),
    Bug(
        "a-snapshot-can-be-extended-for-ever",
        "An update gives a snapshot an expire_time of more than 7 days after its creation.",
        "latest = snapshot.create_time + MAX_SNAPSHOT_LIFETIME",
        "latest = now + MAX_SNAPSHOT_LIFETIME",
    ),
    Bug(
        "detached-by-an-update",
        "An update changes whether a subscription is detached.",
        '    "detached",\n    "topic_message_retention_duration",\n    "retained_from"',
        '    "topic_message_retention_duration",\n    "retained_from"',
    ),
)
