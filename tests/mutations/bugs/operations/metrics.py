"""Seeded bugs of ``operations/metrics.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_metrics_of_a_store.py",
    "tests/unit/test_update_calls.py",
    "tests/lanes/test_damaged_metrics.py",
)

BUGS = (
    Bug(
        "metrics-table-ends-at-damage",
        "metrics_table() raises the error of one damaged resource, and has no rows of others.",
        "        if not partly.rows:\n",
        "        if partly.error:\n",
        needs_spark=("tests/delta/test_metrics.py",),
    ),
    Bug(
        "outstanding-counts-all",
        "num_outstanding_messages counts what is not leased, too.",
        "Measured(state.count(State.LEASED))",
        "Measured(state.count())",
    ),
    Bug(
        "retained-counts-too-old",
        "num_retained_acked_messages counts messages that no seek can bring back any more.",
        "        state = source.clip_retained(state, measurement.now)\n",
        "",
    ),
    Bug(
        "snapshot-metrics-ignore-a-purge",
        "The metrics of a snapshot count what its pending purge has acknowledged.",
        "messages.absorb(new, earliest=captured.floor)",
        "messages.absorb(new)",
    ),
    Bug(
        "resource-with-two-names-is-exported-twice",
        "A resource that is named by its id and its full name has each of its metrics twice.",
        "for part in by_name.values() for row in part]",
        "for part in parts for row in part]",
    ),
    Bug(
        "topic-label-without-its-project",
        "The metrics of a subscription to another project's topic name a topic of its own project.",
        'return {"topic": name.id if name.project == project else str(name)}',
        'return {"topic": name.id}',
    ),
    Bug(
        "detached-has-a-backlog",
        "The metrics of a detached subscription show the backlog that it had.",
        "        state = replace(state, spans=())\n",
        "        state = source.clip_retained(state, measurement.now)\n",
    ),
    Bug(
        "forms-of-metrics-lost",
        "With exact=True the oldest message of a snapshot is searched among its spans "
        "alone, though a later publish is older.",
        "known = [time for time in (found, first) if time is not None]",
        "known = [time for time in (found,) if time is not None]",
    ),
    Bug(
        "negative-age",
        "By a clock behind, the oldest message has a negative age.",
        "else max(0.0, (now - oldest).total_seconds())",
        "else (now - oldest).total_seconds()",
    ),
    Bug(
        "metrics-of-nothing",
        "Metrics of a subscription that does not exist are none, without a word.",
        "skip_missing=names is None",
        "skip_missing=True",
    ),
    Bug(
        "a-topic-without-retention-retains-one",
        "A topic that retains nothing is said to retain a message.",
        "if covered is not None else (0, None)",
        "if covered is not None else (1, None)",
    ),
    Bug(
        "age-of-retained-is-that-of-the-backlog",
        "oldest_retained_acked_message_age is the age of the oldest unacknowledged message.",
        '"oldest_retained_acked_message_age": _oldest(measurement, messages, retained)',
        '"oldest_retained_acked_message_age": _oldest(measurement, messages, unacked)',
    ),
    Bug(
        "measured-once-for-each-mention",
        "Names of metrics are measured twice if given twice.",
        "return list(dict.fromkeys(given))",
        "return list(given)",
    ),
    Bug(
        "metrics-hidden-by-a-damaged-topic",
        "Where one topic is damaged, the exporter has no metrics of any.",
        "        damaged.append(error)\n        return []",
        "        raise",
    ),
    Bug(
        "deleted-topic-has-no-label",
        "Metrics of a deleted topic's subscription have an empty label.",
        '        return {"topic": DELETED_TOPIC}',
        '        return {"topic": ""}',
    ),
    Bug(
        "snapshots-are-not-measured",
        "The metrics of a store lack its snapshots.",
        "        yield partial(_of_name, measurement, snapshot.name)",
        "        if snapshot.labels:\n"
        "            yield partial(_of_name, measurement, snapshot.name)",
    ),
    Bug(
        "name-of-another-collection-is-not-found",
        "Who asks for metrics of a schema is told to create it.",
        '    if kind not in ("", "subscriptions", "topics", "snapshots"):',
        "    if kind is None:",
    ),
)
