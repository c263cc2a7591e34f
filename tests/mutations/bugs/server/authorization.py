"""Seeded bugs of ``server/authorization.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_forwarding.py",
    "tests/unit/test_server_access.py",
    "tests/unit/test_server_access_changes.py",
    "tests/unit/test_server_loops.py",
)

BUGS = (
    Bug(
        "detached-by-the-project",
        "Who detaches is decided by the subscription's project, not by its topic.",
        "return needed.resource if found is None or found.topic == DELETED_TOPIC else found.topic",
        "return needed.resource",
    ),
    Bug(
        "error-names-hidden-subscriptions",
        "Who may delete a topic reads in its error the names of subscriptions hidden from him.",
        "seen = [each for each in error.users if await self.granted(context, each, get)]",
        "seen = [each for each in error.users if get]",
    ),
    Bug(
        "open-stream-never-checked",
        "A stream that is open goes on when its role is taken.",
        "if needed and uptime() >= due:",
        "if needed and due and uptime() >= due:\n                    self._stream_check = 1e9",
    ),
    Bug(
        "stream-ends-with-its-token",
        "A stream ends when the token expires with which it was opened.",
        "self._file.loaded.authenticator.authenticate(authorization, opened)",
        "self.authenticate(authorization)",
    ),
    Bug(
        "stored-policy-in-force-later",
        "A policy that this server stores is in force seconds later.",
        "        if method in _CHANGE_POLICIES:\n            self._stored.forget()\n",
        "        return\n",
    ),
    Bug(
        "forwarded-without-the-subscribers-role",
        "Dead letters are forwarded where the service account may not acknowledge.",
        '("pubsub.subscriptions.consume", subscription.name, "roles',
        '("pubsub.topics.publish", topic, "roles',
    ),
    Bug(
        "forwarder-of-the-topic",
        "The service agent of the dead-letter topic's project needs the permissions to forward.",
        'forwarder = policy.forwarder(subscription.name.split("/")[1])\n'
        "        topic = subscription.dead_letter_policy.dead_letter_topic\n",
        "topic = subscription.dead_letter_policy.dead_letter_topic\n"
        '        forwarder = policy.forwarder(topic.split("/")[1])\n',
    ),
    Bug(
        "a-deleted-topic-needs-a-role",
        "Nobody may detach a subscription whose topic was deleted, whatever his roles.",
        "return needed.resource if found is None or found.topic == DELETED_TOPIC else found.topic",
        "return needed.resource if found is None else found.topic",
    ),
    Bug(
        "stream-checked-once",
        "A stream goes on after its caller has lost the permission.",
        "                    due = uptime() + self._stream_check\n",
        "                    due = uptime() + 3600 * self._stream_check\n",
    ),
    Bug(
        "one-warning-for-ever",
        "A second loss of the permission to forward is not logged.",
        "        self._cannot_forward.discard(subscription.name)\n        return True",
        "        return True",
    ),
    Bug(
        "without-access-control-nothing-is-forwarded",
        "A server without access control forwards no dead letters.",
        "return (lambda _: True) if access is None else access.may_forward",
        "return (lambda _: False) if access is None else access.may_forward",
    ),
    Bug(
        "policy-of-a-deleted-namesake",
        "A topic has the cached policy of an earlier one of its name, which was deleted elsewhere.",
        '*(f"{PUBLISHER}/{verb}Topic" for verb in ("Create", "Delete")),',
        'f"{PUBLISHER}/DeleteTopic",',
    ),
    Bug(
        "policy-of-an-expired-namesake",
        "A snapshot has the cached policy of an expired one of its name.",
        '*(f"{SUBSCRIBER}/{verb}Snapshot" for verb in ("Create", "Delete")),',
        'f"{SUBSCRIBER}/DeleteSnapshot",',
    ),
)
