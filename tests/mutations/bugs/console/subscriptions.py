"""Seeded bugs of ``console/subscriptions.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_columns.py",
    "tests/unit/test_console_pages.py",
    "tests/unit/test_console_lists.py",
    "tests/unit/test_console_flows.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "what-is-on-is-shown-as-off",
        "The page of a subscription tells that ordering is off where it is on.",
        'return "On" if is_on else "Off"',
        'return "Off" if is_on else "On"',
    ),
    Bug(
        "what-never-expires-is-shown-to-expire",
        "The page of a subscription cannot be shown if it never expires.",
        '("Expires", "Never" if ttl is None else f"After',
        '("Expires", "Never" if ttl is not None else f"After',
    ),
    Bug(
        "dead-letters-as-acked",
        "The list of subscriptions shows dead letters in the place of acknowledged messages.",
        'row.of("ack_message_count_success")',
        'row.of("dead_letter_message_count")',
    ),
    Bug(
        "push-is-listed-as-pull",
        "A list tells that messages of a push subscription are pulled.",
        '        return "Push"\n',
        '        return "Pull"\n',
    ),
)
