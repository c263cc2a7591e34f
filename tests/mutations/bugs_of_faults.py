"""Bugs that lose or leak messages: of what was restored, created anew or is too much at once."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_FAULTS = (
    Bug(
        "callbacks-outlive-their-subscription",
        "What callbacks say of a deleted subscription means the one that has its name now.",
        "long_running.py",
        "max_messages, now, uid=self._uid)",
        "max_messages, now, uid=self._tables.attached(self._name)[0].uid)",
    ),
    Bug(
        "server-asks-for-the-name-twice",
        "A server speaks to a subscription that was created anew between two looks at its name.",
        "server/backend.py",
        "uid=self._uid,",
        "uid=self._tables.attached(self._name)[0].uid,",
    ),
    Bug(
        "query-goes-on-with-a-successor",
        "A query goes on with the subscription that was created anew under the name of its own.",
        "operations/pull.py",
        "return _commit(tables, name, now, take, say, uid=uid)[0]",
        "return _commit(tables, name, now, take, say)[0]",
    ),
    Bug(
        "pushed-to-the-endpoint-of-a-successor",
        "What waits of a deleted subscription is pushed to the endpoint of the one that follows.",
        "server/pushing.py",
        "if running.dispatcher.ledger.uid == subscription.uid:",
        "if running.dispatcher.name == subscription.name:",
    ),
)
