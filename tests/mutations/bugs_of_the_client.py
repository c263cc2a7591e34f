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
    Bug(
        "exporter-started-again-measures-nothing",
        "An exporter that was stopped and started again tells the old metrics, and that it is up.",
        "exporter.py",
        "            self._stopped.clear()\n",
        "",
    ),
    Bug(
        "forked-exporter-waits-for-ever",
        "A forked process that stops an exporter waits for a thread that it does not have.",
        "exporter.py",
        "        if not self._own_process.is_this:\n            return\n",
        "",
    ),
    Bug(
        "error-of-a-pull-is-not-read",
        "The error of a StreamingPull is None for whoever reads it as of any other future.",
        "subscriber.py",
        "        return self._end.exception(timeout)\n",
        "        return None\n",
    ),
)
