"""Bugs of what ``docs/guarantees.md`` promises, found by trying to break each sentence of it."""

from __future__ import annotations

from tests.mutations.bug import Bug

_REGISTRY = "tables/registry/registry.py"

BUGS_OF_PROMISES = (
    Bug(
        "expired-snapshot-holds-nothing",
        "Retention deletes what a snapshot holds that is given more time, by a clock behind.",
        "delivery/discard.py",
        "now if dry_run and after_expiration else None)",
        "now)",
    ),
    Bug(
        "dry-run-keeps-expired-snapshots",
        "A dry run reports fewer messages than are deleted, where a snapshot has expired.",
        "delivery/discard.py",
        "now if dry_run and after_expiration else None)",
        "None)",
    ),
    Bug(
        "expired-snapshot-keeps-its-row",
        "Two snapshots have one name, where an expired one is given more time by a clock behind.",
        "tables/registry/predicates.py",
        '        return bool(row["expire_time"] <= now)\n    return is_announced(row) and',
        "        return False\n    return is_announced(row) and",
    ),
    Bug(
        "lengthened-snapshot-lapses",
        "A snapshot lapses that somebody has given more time just now.",
        _REGISTRY,
        'self._hide(each["uid"], gives_way)',
        'self._hide(each["uid"], lambda _: True)',
    ),
    Bug(
        "missing-table-is-no-damage",
        "A table of the store that is gone is an error that no user knows.",
        "tables/lanes/protocol.py",
        "class TableMissing(DataLoss):",
        "class TableMissing(Exception):",
    ),
    Bug(
        "restored-row-behind-maintenance",
        "Positions are given out twice after a restore, where maintenance has committed since.",
        "tables/messages/commits.py",
        "        for count in (_FIRST_READ, None):\n            commits",
        "        for count in (_FIRST_READ,):\n            commits",
    ),
    Bug(
        "restored-row-with-a-cut-log",
        "Positions are given out twice after a restore, where the log tells of no publish.",
        "tables/messages/commits.py",
        "        return highest + 1\n",
        "        return 0\n",
    ),
    Bug(
        "forked-process-waits",
        "A forked process waits for ever for what no thread of it will do.",
        "tables/lanes/direct/forks.py",
        "self.is_forked = self.uses_deltalake",
        "self.is_forked = False",
    ),
    Bug(
        "panic-after-a-fork",
        "A process that was forked from one that uses deltalake dies of a panic.",
        "tables/lanes/direct/forks.py",
        "return _refusal() if _PANIC in str(error) else None",
        "return None",
    ),
    Bug(
        "forked-publisher-queues",
        "A forked process queues messages that nobody commits.",
        "publisher.py",
        "        size = size_of(message)\n        self._own_process.check()\n",
        "        size = size_of(message)\n",
    ),
    Bug(
        "ack-in-a-forked-process",
        "An ack in a forked process is told as done, and never written.",
        "callbacks.py",
        'has one already."""\n        self._own_process.check()\n',
        'has one already."""\n',
    ),
    Bug(
        "cancel-in-a-forked-process",
        "A pull that is cancelled in a forked process waits for ever.",
        "subscriber.py",
        "        if not self._own_process.is_this:\n            return 0\n",
        "",
    ),
    Bug(
        "dead-letters-under-a-publishers-id",
        "A publisher can keep dead letters of a subscription from landing.",
        "policy/transactions.py",
        'return f"{OWN}{subscription_uid}"',
        "return subscription_uid",
    ),
    Bug(
        "publisher-under-an-own-id",
        "A publisher is given the application id by which the library appends.",
        "operations/publish.py",
        "        valid = valid and not application.startswith(OWN)\n",
        "",
    ),
    Bug(
        "acks-beside-a-new-table",
        "Acknowledgements are lost that came when another process gave the subscription a table.",
        "delivery/consuming.py",
        "            lease = _lease_nothing\n",
        "            lease, apply = _lease_nothing, no_request\n",
    ),
    Bug(
        "refused-pull-forgets-its-request",
        "What a consumer acknowledged is written to the table that its subscription was given.",
        "delivery/consuming.py",
        "            if apply is no_request:\n",
        "            if leases:\n",
    ),
    Bug(
        "put-back-without-its-policy",
        "A subscription that was used while it expired has lost its IAM policy.",
        "tables/registry/expirations.py",
        "self._subscriptions.change(uid, columns_of_fields(if_shown), _is_expiring)",
        'self._subscriptions.change(uid, {**columns_of_fields(if_shown), "iam_policy": None})',
    ),
)
