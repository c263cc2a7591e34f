"""Bugs of PubSub itself: what it lists as its methods, and what it hands on."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_THE_CLIENT = (
    Bug(
        "field-left-out",
        "A subscription is created without the retry policy that it was given.",
        "methods/subscriptions.py",
        "        retry_policy=retry_policy,\n",
        "",
    ),
    Bug(
        "created-unchecked",
        "A subscription is created with fields that an update of it refuses.",
        "policy/fields.py",
        "        **check_subscription_update(fields, named, project),\n",
        "",
    ),
    Bug(
        "deleted-is-detached",
        "A deleted subscription is only detached, and its name is not free.",
        "client.py",
        "delete_subscription = subscriptions.delete_subscription",
        "delete_subscription = subscriptions.detach_subscription",
    ),
)
