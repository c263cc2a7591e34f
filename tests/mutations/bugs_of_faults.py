"""Bugs that lose or leak messages: of what was restored, created anew or is too much at once."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_FAULTS = (
    Bug(
        "brought-back-and-acknowledged",
        "What a nack brings back is acknowledged with its micro-batch, if an ack id did so before.",
        "policy/delivery.py",
        "_released_from_streams({}, before, _with_counters(state, outcomes, malformed))",
        "_with_counters(state, outcomes, malformed)",
    ),
    Bug(
        "micro-batch-for-nobody",
        "A micro-batch is reported as published that nobody can get any more.",
        "operations/publish.py",
        "order_by, validator)\n    check_received(tables, topic.name, topic.uid)",
        "order_by, validator)",
    ),
    Bug(
        "another-snapshot-finished",
        "A snapshot that another thread has announced is finished in place of this one.",
        "tables/registry/resource_table.py",
        'if added is not None and added[1]["uid"] == uid:',
        "if added is not None:",
    ),
    Bug(
        "channel-outlives-its-subscription",
        "What clients ask of a deleted subscription reaches the one that has its name.",
        "operations/exchange.py",
        "uid=self.uid,",
        "uid=self.tables.attached(self.name)[0].uid,",
    ),
    Bug(
        "query-goes-on-with-a-successor",
        "A query goes on with the subscription that was created anew under the name of its own.",
        "operations/pull.py",
        "lease, finish, uid=uid, leases=leases)",
        "lease, finish, leases=leases)",
    ),
    Bug(
        "deleted-messages-are-waited-for",
        "A restored ack state gives messages for ever that were deleted since.",
        "delivery/sources.py",
        "if not current.spans or not log.may_lack_messages:",
        "if not current.spans or log.may_lack_messages:",
    ),
    Bug(
        "what-a-cut-log-deleted-is-waited-for",
        "Of what was deleted the log tells no more, and so it counts as stored.",
        "tables/messages/commits.py",
        "return not self.is_complete or self.removes_messages",
        "return self.removes_messages",
    ),
    Bug(
        "deleted-messages-looked-for-again",
        "Every pull of nothing looks again whether the held messages are stored.",
        "delivery/consuming.py",
        "if has_moved and before.spans and source.has_lost_messages(before.after_version):",
        "if False:",
    ),
    Bug(
        "batch-of-a-lower-version-is-lost",
        "A batch that Delta skips, as its version is lower than the last, is told as published.",
        "datasource/writing.py",
        "if not commit(tables, reserved, files, transaction) and transaction is not None:",
        "if not commit(tables, reserved, files, transaction) and transaction is None:",
        needs_spark=(
            "tests/lanes/test_data_source_files.py::test_a_batch_below_the_last_version_is_refused",
        ),
    ),
    Bug(
        "publish-of-a-lower-version-is-lost",
        "A publish that Delta skips, as its version is lower than the last, is told as published.",
        "operations/publish.py",
        "if commit is None and not messages.was_last_of(idempotency_id):",
        "if commit is None and messages is None:",
    ),
    Bug(
        "arrow-key-twice",
        "Of an attribute that appears twice in a row of an Arrow table the first value is lost.",
        "delivery/message_rows.py",
        "if pairs is not None and len(attributes) < len(pairs):",
        "if pairs is not None and len(attributes) < 0:",
    ),
    Bug(
        "dead-letters-all-at-once",
        "All dead letters of a subscription are in memory at once, whatever they take.",
        "delivery/dead_letters.py",
        "parts = _parts(source, exhausted)",
        "parts = [union(exhausted)]",
    ),
    Bug(
        "dead-letters-counted-only",
        "A part of the dead letters is as large as so many messages may be.",
        "delivery/dead_letters.py",
        "size + measured > MOST_BYTES or together > MOST_MESSAGES",
        "together > MOST_MESSAGES",
    ),
    Bug(
        "parts-under-one-number",
        "The parts of the dead letters have one number, and so are one again.",
        "policy/redelivery.py",
        "lease_id=place, forward_to=topic_uid)",
        "lease_id=number, forward_to=topic_uid)",
    ),
    Bug(
        "left-of-an-earlier-subscription",
        "What a killed server had leased of a deleted subscription is given back of its successor.",
        "server/hub.py",
        "if found.uid == left.uid:",
        "if found.name == left.subscription:",
    ),
    Bug(
        "detached-forwards",
        "The dead letters of a detached subscription are forwarded.",
        "operations/maintain.py",
        "tables.registry.sources():\n        if subscription.detached:\n            continue\n",
        "tables.registry.sources():\n",
    ),
    Bug(
        "deleted-topic-forgotten-at-once",
        "A deleted topic is forgotten before VACUUM may remove its files.",
        "delivery/discard.py",
        "elif not found and bound > now and kept.is_vacuumed(now) and not dry_run:",
        "elif not found and bound > now and not dry_run:",
    ),
    Bug(
        "dead-letters-out-of-order",
        "What was decided last is forwarded first.",
        "delivery/dead_letters.py",
        "number = min(waiting)",
        "number = max(waiting)",
    ),
    Bug(
        "pushed-to-the-endpoint-of-a-successor",
        "What waits of a deleted subscription is pushed to the endpoint of the one that follows.",
        "server/pushing.py",
        "is_same = running is not None and running.dispatcher.leaser.uid == subscription.uid",
        "is_same = running is not None and running.dispatcher.name == subscription.name",
    ),
)
