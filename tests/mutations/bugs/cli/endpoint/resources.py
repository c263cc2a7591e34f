"""Seeded bugs of ``cli/endpoint/resources.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_endpoint.py",
    "tests/unit/test_cli_push.py",
    "tests/unit/test_fine_times.py",
)

BUGS = (
    Bug(
        "a-publish-time-of-a-server-is-rounded-up",
        "A publish time with nanoseconds is shown as a later one.",
        "publish_time=wire.time_of(message.publish_time, until=True),",
        "publish_time=wire.time_of(message.publish_time),",
    ),
)
