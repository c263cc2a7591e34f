"""Seeded bugs of ``cli/endpoint/resources.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_endpoint.py",
    "tests/unit/test_cli_push.py",
    "tests/unit/test_fine_times.py",
    "tests/unit/test_cli_whole_records.py",
)

BUGS = (
    Bug(
        "a-publish-time-of-a-server-is-rounded-up",
        "A publish time with nanoseconds is shown as a later one.",
        "publish_time=wire.time_of(message.publish_time, until=True),",
        "publish_time=wire.time_of(message.publish_time),",
    ),
    Bug(
        "a-snapshot-outlives-its-end",
        "A snapshot of a server with finer times is told to expire later than it does.",
        "expire_time=wire.time_of(message.expire_time, until=True)",
        "expire_time=wire.time_of(message.expire_time)",
    ),
    Bug(
        "a-policy-that-is-not-told-is-none",
        "A subscription of which a server tells no expiration policy has none.",
        'fields["expiration_policy"] or ExpirationPolicy()',
        'fields["expiration_policy"] or ExpirationPolicy(None)',
    ),
)
