"""Bugs of the other verbs."""

from __future__ import annotations

from tests.mutations.bug import Bug

_ACKNOWLEDGE = "operations/acknowledge.py"
_METRICS = "operations/metrics.py"
_PULL = "operations/pull.py"
_SEEK = "operations/seek.py"
_SNAPSHOT = "operations/snapshot.py"
_CONSUMING = "delivery/consuming.py"
_PUBLISH = "operations/publish.py"

BUGS_OF_OPERATIONS = (
    Bug(
        "foreign-ack-id",
        "An ack id of another subscription acknowledges here.",
        _ACKNOWLEDGE,
        "if ack_id is not None and ack_id.subscription_uid == subscription.uid:",
        "if ack_id is not None:",
    ),
    Bug(
        "call-of-malformed-ids",
        "A call with no well-formed id at all is accepted.",
        _ACKNOWLEDGE,
        "if not any(parsed.values()):",
        "if not parsed:",
    ),
    Bug(
        "malformed-ids-not-passed",
        "The number of malformed ids is not passed on to the counters.",
        _ACKNOWLEDGE,
        "malformed=malformed",
        "malformed=0",
    ),
    Bug(
        "ack-is-no-activity",
        "Acknowledging does not keep a subscription from expiring.",
        _ACKNOWLEDGE,
        "return replay.note_activity(state, following, found.subscription, now), outcomes",
        "return following, outcomes",
    ),
    Bug(
        "foreign-lease",
        "The whole batch of a deleted subscription is acknowledged on its successor.",
        _ACKNOWLEDGE,
        "if targets.subscription_uid != found.uid:",
        "if False:",
    ),
    Bug(
        "outstanding-counts-all",
        "num_outstanding_messages counts what is not leased, too.",
        _METRICS,
        "Measured(state.count(State.LEASED))",
        "Measured(state.count())",
    ),
    Bug(
        "retained-counts-too-old",
        "num_retained_acked_messages counts messages that no seek can bring back any more.",
        _METRICS,
        "        state = source.clip_retained(state, measurement.now)\n",
        "",
    ),
    Bug(
        "snapshot-metrics-ignore-a-purge",
        "The metrics of a snapshot count what its pending purge has acknowledged.",
        _METRICS,
        "messages.absorb(new, earliest=captured.floor)",
        "messages.absorb(new)",
    ),
    Bug(
        "application-with-a-colon",
        "The idempotency id of an application with a colon in its name is told wrongly.",
        "operations/history.py",
        'publish_id.rpartition(":")',
        'publish_id.partition(":")',
    ),
    Bug(
        "backlog-of-stored-states",
        "A look at the backlog does not show what happened since the last commit.",
        "operations/read.py",
        "state = found.catch_up(tables.ack_states.read(found.uid), now)",
        "state = tables.ack_states.read(found.uid)",
        needs_spark=(
            "tests/delta/test_retries.py::test_a_failed_message_waits_and_others_keep_flowing",
        ),
    ),
    Bug(
        "empty-pull-commits",
        "A pull that finds nothing and has nothing to remember is a commit all the same.",
        _CONSUMING,
        "following = following if keep else state",
        "following = replay.note_activity(state, following, source.subscription, now) if keep else "
        "replay.replace(state, active_time=now)",
    ),
    Bug(
        "pull-is-no-activity",
        "Pulling does not keep a subscription from expiring.",
        _CONSUMING,
        "        following = replay.note_activity(state, following, source.subscription, now)\n"
        "        return following, _Decision",
        "        return following, _Decision",
    ),
    Bug(
        "empty-pull-forwards-nothing",
        "A pull that leases nothing does not forward what it decided to.",
        _CONSUMING,
        "    if decision.forwarding:",
        "    if decision.forwarding and decision.leased:",
    ),
    Bug(
        "finished-micro-batch-stays",
        "A micro-batch that is processed is not acknowledged before the next one comes.",
        _PULL,
        "query_id, batch_id + 1, terms, now)",
        "query_id, batch_id, terms, now)",
    ),
    Bug(
        "exchange-without-deadline",
        "The deadline that a consumer asks for is not passed to the lease.",
        "operations/exchange.py",
        "return delivery.lease(state, max_messages, terms, begins, deadline)",
        "return delivery.lease(state, max_messages, terms, begins)",
    ),
    Bug(
        "two-targets-of-a-seek",
        "A seek to a time and a snapshot at once is accepted.",
        _SEEK,
        "if (time is None) == (snapshot is None):",
        "if time is None and snapshot is None:",
    ),
    Bug(
        "seek-to-a-dying-snapshot",
        "A seek to a snapshot with less than an hour to live is accepted.",
        _SEEK,
        "    replay.check_lifetime(snapshot.name, snapshot.expire_time, now)\n",
        "",
    ),
    Bug(
        "seek-compares-topic-names",
        "A seek takes a snapshot of another topic, if that has the name of a deleted one.",
        _SEEK,
        "if topic_uid != source.topic_uid:",
        "if snapshot.topic != source.subscription.topic:",
    ),
    Bug(
        "seek-to-what-was-deleted",
        "A seek brings back messages that were deleted with its snapshot while it was noted.",
        _SEEK,
        "if target.snapshot is not None and not _still_exists(",
        "if target.snapshot is None and not _still_exists(",
    ),
    Bug(
        "seek-to-what-is-about-to-expire",
        "A seek does not notice that its snapshot was given less than an hour while it was noted.",
        _SEEK,
        "return found is not None and replay.has_time_left(found.expire_time, now)",
        "return found is not None",
    ),
    Bug(
        "seek-never-taken-back",
        "A seek whose snapshot is gone stays noted, and is not found all the same.",
        _SEEK,
        "return replay.withdraw(state, noted), None",
        "return state, None",
    ),
    Bug(
        "snapshot-of-a-stored-state",
        "A snapshot knows nothing of what happened since the last commit.",
        _SNAPSHOT,
        "return source.catch_up(state, now)",
        "return state",
    ),
    Bug(
        "snapshot-of-a-noted-seek",
        "The table of a snapshot holds the stored ack state, with a seek that is noted in it.",
        _SNAPSHOT,
        "capture_snapshot(announced.uid, state)",
        "capture_snapshot(announced.uid, tables.ack_states.read(source.uid))",
    ),
    Bug(
        "slow-snapshot-takes-the-name",
        "A snapshot that was too slow to be taken is told as taken, after it lapsed.",
        _SNAPSHOT,
        "if not tables.registry.finish_snapshot(announced.uid, expire_time):",
        "if tables.registry.finish_snapshot(announced.uid, expire_time) is None:",
    ),
    Bug(
        "snapshot-of-dead-letters",
        "A snapshot holds messages that are on their way to the dead-letter topic.",
        _SNAPSHOT,
        "if state.in_state(State.FORWARDING):",
        "if state.in_state(State.ACKED):",
    ),
    Bug(
        "snapshot-as-old-as-its-span",
        "A snapshot's oldest message is taken for as old as those it was published with.",
        _SNAPSHOT,
        "return source.messages.earliest(reaching) or first.publish_time_min",
        "return first.publish_time_min",
    ),
    Bug(
        "idempotency-id-not-passed",
        "A publish of the same idempotency id is written twice.",
        _PUBLISH,
        'lambda: messages.append(rows, now, publish_id, idempotency_id), "publish"',
        'lambda: messages.append(rows, now, publish_id), "publish"',
    ),
    Bug(
        "publish-time-of-the-second-attempt",
        "The second publish of an idempotency id tells its own time.",
        _PUBLISH,
        "    if not landed and idempotency_id is not None:\n        return earlier(messages",
        "    if not landed and idempotency_id is not None:\n        earlier(messages",
    ),
    Bug(
        "published-to-nobody",
        "A publish to a topic that was deleted meanwhile is told as a success.",
        _PUBLISH,
        "    check_received(tables, topic.name, topic.uid)\n    return PublishResult",
        "    return PublishResult",
    ),
    Bug(
        "deleted-publishes-are-sampled",
        "An estimate of bytes counts publishes that retention has deleted as messages of no size.",
        "tables/messages/sizes.py",
        "oldest is not None and each.publish_time >= oldest",
        "oldest is not None",
    ),
    Bug(
        "estimates-are-not-exported",
        "Metrics that are sent by OTLP lack which values are estimates.",
        "exporter.py",
        "{**found, **dict.fromkeys(estimates, False), **_OWN}",
        "{**found, **_OWN}",
    ),
)
