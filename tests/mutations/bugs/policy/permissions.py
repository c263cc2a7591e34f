"""Seeded bugs of ``policy/permissions.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_access.py",
    "tests/unit/test_access_methods.py",
)

BUGS = (
    Bug(
        "attached-without-the-topics-permission",
        "Whoever may create subscriptions may attach them to any topic.",
        '        _on("topics.attachSubscription", "topic"),\n',
        "",
    ),
    Bug(
        "seek-to-any-snapshot",
        "A seek to a snapshot needs no permission on the snapshot.",
        '(*_CONSUME, _also("snapshots.seek", "snapshot"))',
        "_CONSUME",
    ),
    Bug(
        "dead-letter-topics-probed",
        "CreateSubscription tells whether a topic exists that the caller may not see.",
        '        _also("topics.get", _DEAD_LETTERS),\n',
        "",
    ),
    Bug(
        "actors-for-any-account",
        "Whoever may change a subscription may have tokens of any service account sent anywhere.",
        '        _as(f"subscription.{_EMAIL}", "push_config"),\n',
        "",
    ),
    Bug(
        "tokens-of-others-sent-elsewhere",
        "Whoever may change a subscription may have its tokens sent to an endpoint of his own.",
        'return any(path.startswith(f"{needed.within_mask}.") for path in paths)',
        "return False",
    ),
    Bug(
        "seek-without-the-snapshot",
        "Whoever may consume a subscription may seek to a snapshot that is not permitted to him.",
        '(*_CONSUME, _also("snapshots.seek", "snapshot"))',
        "_CONSUME",
    ),
    Bug(
        "push-account-of-anybody",
        "ModifyPushConfig sets a service account that its caller may not act as.",
        '        _on("subscriptions.update", "subscription"),\n        _as(_EMAIL),\n',
        '        _on("subscriptions.update", "subscription"),\n',
    ),
    Bug(
        "viewers-delete-topics",
        "Whoever may read a topic may delete it.",
        '_on("topics.delete", "topic")',
        '_on("topics.get", "topic")',
    ),
    Bug(
        "schemas-attached-by-anybody",
        "A topic is created with a schema that its creator may not attach.",
        '        _also("schemas.attach", f"{_SETTINGS}.schema"),\n',
        "",
    ),
    Bug(
        "mask-of-a-like-name",
        "A mask of push_config as a whole needs the permission to send its present token, too.",
        'path.startswith(f"{needed.within_mask}.")',
        "path.startswith(needed.within_mask)",
    ),
)
