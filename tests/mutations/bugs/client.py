"""Seeded bugs of ``client.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_client.py",
    "tests/lanes/test_pickling.py",
)

BUGS = (
    Bug(
        "store-is-pickled-without-a-word",
        "A store that is sent to another process ends in an error about a lock.",
        "    __reduce__ = refuse_to_pickle\n\n",
        "",
    ),
    Bug(
        "deleted-is-detached",
        "A deleted subscription is only detached, and its name is not free.",
        "delete_subscription = subscriptions.delete_subscription",
        "delete_subscription = subscriptions.detach_subscription",
    ),
)
