"""Seeded bugs of ``cli/rest.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_watch.py",
    "tests/unit/test_cli_formats.py",
    "tests/unit/test_cli_durations.py",
    "tests/unit/test_gcloud_listings.py",
    "tests/unit/test_cli_schemas.py",
    "tests/unit/test_cli_endpoint.py",
    "tests/unit/test_command_transcripts.py",
    "tests/unit/test_cli_whole_records.py",
)

BUGS = (
    Bug(
        "commit-without-a-zero",
        "The history of a topic shows no version 0, and no publish of no messages.",
        "return {key: value for key, value in record.items() if value is not None}",
        "return {key: value for key, value in record.items() if value}",
    ),
    Bug(
        "a-fraction-loses-its-zeros",
        "A backoff of 0.05 s is printed as 0.5s.",
        'f"{rest // timedelta(microseconds=1):06}"',
        'f"{rest // timedelta(microseconds=1)}"',
    ),
    Bug(
        "retention-of-the-topic-is-its-own",
        "The record of a subscription has its own retention as that of the topic.",
        '            "topicMessageRetentionDuration": duration_text(\n'
        "                subscription.topic_message_retention_duration\n"
        "            ),",
        '            "topicMessageRetentionDuration": duration_text(\n'
        "                subscription.message_retention_duration\n"
        "            ),",
    ),
    Bug(
        "labels-in-any-order",
        "Labels and attributes are printed as they were given, or by chance, with a server.",
        "return dict(sorted(pairs.items()))",
        "return dict(pairs)",
    ),
    Bug(
        "updated-when-it-was-created",
        "Of a subscription the time of its creation is shown as that of its last update.",
        '"updateTime": _time_or_none(subscription.update_time)',
        '"updateTime": _time_or_none(subscription.create_time)',
    ),
    Bug(
        "nothing-is-not-known",
        "A commit of no message tells no number of them.",
        '"messageCount": commit.message_count,',
        '"messageCount": commit.message_count or None,',
    ),
    Bug(
        "an-empty-text-is-printed",
        "Fields that are empty texts are printed.",
        'value not in (None, "", {}, False)',
        "value not in (None, {}, False)",
    ),
    Bug(
        "labels-in-the-order-of-storage",
        "Labels are printed in no order.",
        "return dict(sorted(pairs.items()))",
        "return dict(pairs)",
    ),
    Bug(
        "zero-messages-are-left-out",
        "A commit of no messages is shown without their number.",
        "for key, value in record.items() if value is not None}",
        "for key, value in record.items() if value}",
    ),
)
