"""Bugs of the verbs."""

from __future__ import annotations

from tests.mutations.bug import Bug

_ACKNOWLEDGE = "operations/acknowledge.py"
_ADMINISTER = "operations/administer.py"
_MAINTAIN = "operations/maintain.py"
_METRICS = "operations/metrics.py"
_PULL = "operations/pull.py"
_SEEK = "operations/seek.py"
_SNAPSHOT = "operations/snapshot.py"
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
        "malformed=len(named.malformed)",
        "malformed=0",
    ),
    Bug(
        "ack-is-no-activity",
        "Acknowledging does not keep a subscription from expiring.",
        _ACKNOWLEDGE,
        "return replay.used(state, following, source.subscription, now), outcomes",
        "return following, outcomes",
    ),
    Bug(
        "update-on-new-terms",
        "What happened before an update is judged on the new terms.",
        _ADMINISTER,
        "            state = source.catch_up(state, now)\n",
        "",
    ),
    Bug(
        "new-backoff-for-old-failures",
        "A lease that was over before an update of the retry policy gets the new backoff.",
        _ADMINISTER,
        '    "retry_policy",\n',
        "",
    ),
    Bug(
        "longer-retention-brings-back",
        "Lengthening a subscription's retention brings back retained messages that were too old.",
        _ADMINISTER,
        "                state = source.clip_retained(state, now)",
        "                pass",
    ),
    Bug(
        "new-retention-covers-from-now",
        "Changing a topic's retention gives up what it covered.",
        _ADMINISTER,
        'changes["retained_from"] = retention.retained_from(topic, duration, now)',
        'changes["retained_from"] = None if duration is None else now',
    ),
    Bug(
        "update-is-no-activity",
        "An update does not keep a subscription from expiring.",
        _ADMINISTER,
        '    changes["update_time"] = now\n',
        "",
    ),
    Bug(
        "refused-update-settles",
        "An update of what is not as it was read any more settles the ack state all the same.",
        _ADMINISTER,
        "        check_unchanged(before, wanted)\n",
        "        pass\n",
    ),
    Bug(
        "crossed-update-overwrites",
        "An update of a subscription as it was read overwrites who wrote after it looked.",
        _ADMINISTER,
        "seen = None if wanted is None else Seen(before, tables.new_id())",
        "seen = None",
    ),
    Bug(
        "dead-letter-topic-deleted",
        "The dead-letter topic of a single subscription can be deleted.",
        _ADMINISTER,
        "    if users:",
        "    if len(users) > 1:",
    ),
    Bug(
        "subscription-begins-too-early",
        "A new subscription gets what was published before it existed.",
        _ADMINISTER,
        "AckState(after_version=tail)",
        "AckState(after_version=0)",
    ),
    Bug(
        "update-to-an-absent-topic",
        "An update sets a dead-letter topic that does not exist.",
        _ADMINISTER,
        '    _check_dead_letter_topic(tables, changes.get("dead_letter_policy"))\n',
        "",
    ),
    Bug(
        "detached-is-listed",
        "A detached subscription is listed as attached to its topic.",
        _ADMINISTER,
        "page([each for each in attached if not each.detached], page_size, page_token)",
        "page([*attached], page_size, page_token)",
    ),
    Bug(
        "expires-in-use",
        "A subscription that somebody used while it expired stays deleted.",
        _MAINTAIN,
        "if not _is_idle(tables, subscription, now):  # somebody",
        "if report.dry_run:  # somebody",
    ),
    Bug(
        "deleted-topic-loses-backlog",
        "The backlog of a deleted topic's subscriptions is deleted.",
        _MAINTAIN,
        "abandoned = kept.deleted is not None and not holders",
        "abandoned = kept.deleted is not None",
    ),
    Bug(
        "deleted-topic-retains",
        "A deleted topic's own retention still keeps its messages.",
        _MAINTAIN,
        "times = [] if kept.deleted else [retention.covered_from(topic, now)]",
        "times = [retention.covered_from(topic, now)]",
    ),
    Bug(
        "detached-holds-messages",
        "A detached subscription still keeps messages from being deleted.",
        _MAINTAIN,
        "        if not subscription.detached\n    ]",
        "    ]",
    ),
    Bug(
        "history-of-snapshots-forgotten",
        "A truncation forgets what came after a snapshot.",
        "policy/truncation.py",
        "    if needed_after is not None:",
        "    if False:",
    ),
    Bug(
        "snapshots-hold-nothing",
        "Retention deletes what only a snapshot holds.",
        _MAINTAIN,
        "captured = tables.registry.captured_of(topic.uid, now)",
        "captured = []",
    ),
    Bug(
        "retention-on-stored-states",
        "Retention deletes what came to a subscription since its last commit.",
        _MAINTAIN,
        "            state = source.catch_up(tables.ack_states.read(source.uid), now)\n"
        "            times",
        "            state = tables.ack_states.read(source.uid)\n            times",
    ),
    Bug(
        "dry-run-deletes-snapshots",
        "A dry run deletes expired snapshots.",
        _MAINTAIN,
        "            if not report.dry_run:\n                repeat_on_conflict(partial(registry"
        ".remove_snapshot, snapshot.uid), snapshot.name)",
        "            repeat_on_conflict(partial(registry"
        ".remove_snapshot, snapshot.uid), snapshot.name)",
    ),
    Bug(
        "dry-run-deletes-messages",
        "A dry run deletes messages.",
        _MAINTAIN,
        "if found and not report.dry_run and not messages.discard_before(",
        "if found and not messages.discard_before(",
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
        "        state = source.clip_retained(state, look.now)\n",
        "",
    ),
    Bug(
        "snapshot-metrics-ignore-a-purge",
        "The metrics of a snapshot count what its pending purge has acknowledged.",
        _METRICS,
        "messages.absorb(after, commits, known, earliest=floor)",
        "messages.absorb(after, commits, known)",
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
        "operations/measure.py",
        "    state = source.catch_up(tables.ack_states.read(source.uid), now)\n    spans",
        "    state = tables.ack_states.read(source.uid)\n    spans",
        needs_spark=(
            "tests/delta/test_retries.py::test_a_failed_message_waits_and_others_keep_flowing",
        ),
    ),
    Bug(
        "empty-pull-commits",
        "A pull that finds nothing and has nothing to remember is a commit all the same.",
        _PULL,
        "following = following if keep else state",
        "following = replay.used(state, following, source.subscription, now) if keep else "
        "replay.replace(state, active_time=now)",
    ),
    Bug(
        "pull-is-no-activity",
        "Pulling does not keep a subscription from expiring.",
        _PULL,
        "        following = replay.used(state, following, source.subscription, now)\n"
        "        return following, _Taken",
        "        return following, _Taken",
    ),
    Bug(
        "empty-pull-forwards-nothing",
        "A pull that leases nothing does not forward what it decided to.",
        _PULL,
        "    if taken.forwarding:",
        "    if taken.forwarding and taken.leased:",
    ),
    Bug(
        "finished-micro-batch-stays",
        "A micro-batch that is processed is not acknowledged before the next one comes.",
        _PULL,
        "query_id, batch_id + 1, source.terms, now)",
        "query_id, batch_id, source.terms, now)",
    ),
    Bug(
        "exchange-without-deadline",
        "The deadline that a consumer asks for is not passed to the lease.",
        _PULL,
        "return delivery.lease(state, max_messages, terms, now, deadline)",
        "return delivery.lease(state, max_messages, terms, now)",
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
        "snapshot-of-a-stored-state",
        "A snapshot knows nothing of what happened since the last commit.",
        _SNAPSHOT,
        "    state = source.catch_up(state, now)\n    captured",
        "    captured",
    ),
    Bug(
        "snapshot-of-dead-letters",
        "A snapshot holds messages that are on their way to the dead-letter topic.",
        _SNAPSHOT,
        "if state.in_state(State.FORWARDING):  # what is on its way goes first",
        "if state.in_state(State.ACKED):  # what is on its way goes first",
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
        needs_spark=(
            "tests/delta/test_publish.py::test_publishing_an_idempotency_id_again_writes_nothing",
        ),
    ),
    Bug(
        "publish-time-of-the-second-attempt",
        "The second publish of an idempotency id tells its own time.",
        _PUBLISH,
        "    if idempotency_id is not None:\n        now = _publish_time(",
        "    if idempotency_id is not None:\n        _publish_time(",
        needs_spark=(
            "tests/delta/test_publish.py::test_publishing_an_idempotency_id_again_writes_nothing",
        ),
    ),
)
