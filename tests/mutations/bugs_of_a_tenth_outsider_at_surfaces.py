"""Bugs of a tenth outsider at the wire, pushes and commands, which the tests near them passed."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_A_TENTH_OUTSIDER_AT_SURFACES = (
    Bug(
        "a-snapshot-a-microsecond-shorter",
        "A snapshot expires before the time that a client asked for in nanoseconds.",
        "server/wire.py",
        '"expire_time": lambda resource: time_of(resource.expire_time)',
        '"expire_time": lambda resource: time_of(resource.expire_time, until=True)',
    ),
    Bug(
        "a-detached-subscription-looks-attached",
        "A server tells no client that a subscription is detached.",
        "server/wire.py",
        """        detached=subscription.detached,
""",
        "",
    ),
    Bug(
        "topic-retention-is-not-told",
        "A server tells no client what the topic of a subscription retains.",
        "server/wire.py",
        "_duration(subscription.topic_message_retention_duration)",
        "None",
    ),
    Bug(
        "a-refused-table-looks-active",
        "A server tells that a subscription is active whose table cannot be written.",
        "server/wire.py",
        "state=_RESOURCE_ERROR if table is not None and table.is_refused else _ACTIVE",
        "state=_ACTIVE",
    ),
    Bug(
        "a-first-attempt-without-a-policy",
        "A delivery without a dead-letter policy has an attempt on the wire.",
        "server/wire.py",
        "delivery_attempt=received.delivery_attempt or 0",
        "delivery_attempt=received.delivery_attempt or 1",
    ),
    Bug(
        "refused-storage-is-a-precondition",
        "A storage that refuses the server is told as a fault of its client.",
        "server/status.py",
        """    if isinstance(error, StorageRefused):
        return Unavailable.code
""",
        "",
    ),
    Bug(
        "fields-beside-the-mask-are-refused",
        "An update is refused for a field that its mask does not name.",
        "server/update_masks.py",
        "wire.refuse_unknown(chosen, {",
        "wire.refuse_unknown(resource, {",
    ),
    Bug(
        "requests-of-a-detached-subscription",
        "Pushes under way go on when their subscription is detached.",
        "server/pushing.py",
        """if isinstance(error, (NotFound, FailedPrecondition)):
            self._cancelled()""",
        """if isinstance(error, NotFound):
            self._cancelled()""",
    ),
    Bug(
        "an-ordering-key-of-its-own-loses",
        "--ordering-key takes the place of the keys that objects have.",
        "cli/message_lines.py",
        "ordering_key or self.ordering_key",
        "self.ordering_key or ordering_key",
    ),
    Bug(
        "elements-in-ascii",
        "An element of a JSON array loses its letters beyond ASCII.",
        "cli/records.py",
        'yield _object(f"element {element}", text[at:end].encode())',
        "yield _object(f\"element {element}\", text[at:end].encode('ascii', 'replace'))",
    ),
)
