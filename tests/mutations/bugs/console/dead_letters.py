"""Seeded bugs of ``console/dead_letters.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_dead_letters.py",
    "tests/unit/test_console_flows.py",
    "tests/unit/test_console_dead_letter_subscriptions.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "letter-goes-to-a-later-source",
        "A dead letter is published again to a later subscription of its source's name.",
        "return topic if uid == source.uid else None",
        "return topic",
    ),
    Bug(
        "letter-of-the-same-moment",
        "A dead letter forwarded when its source was created is taken for one of it.",
        "source.create_time >= message.publish_time",
        "source.create_time > message.publish_time",
    ),
    Bug(
        "suggested-id-is-too-long",
        "The suggested ID of a subscription to a topic with a long name is not accepted.",
        "[:240]}-kept",
        "[:255]}-kept",
    ),
    Bug(
        "error-of-letters-nowhere",
        "What the subscription for dead letters lacks is not told at its field.",
        'form.add_error(error, {"subscription": field, "": field})',
        'form.add_error(error, {"subscription": field})',
    ),
    Bug(
        "kept-for-another-topic",
        "A page of a former dead-letter topic creates a subscription to the present one.",
        'if policy is None or policy.dead_letter_topic != form["dead_letter_topic"]:',
        "if policy is None:",
    ),
)
