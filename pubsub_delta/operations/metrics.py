"""Metrics under Google's names: of one resource, or of a whole store."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from pubsub_delta.delivery.sources import Source, find_source, source_of
from pubsub_delta.errors import DataLoss, InvalidArgument, NotFound, NotMeasuredWarning
from pubsub_delta.metrics import Measured, MetricRow, Metrics, PartlyMeasured
from pubsub_delta.names import (
    DELETED_TOPIC,
    snapshot_name,
    subscription_name,
    topic_name,
)
from pubsub_delta.policy import retention
from pubsub_delta.policy.ack_state import Captured, Span, State
from pubsub_delta.resources import Snapshot, Topic
from pubsub_delta.tables.messages.messages import Messages
from pubsub_delta.tables.messages.sizes import Sizes
from pubsub_delta.tables.messages.stored import StoredMessages
from pubsub_delta.tables.store import Tables
from pubsub_delta.threads import in_threads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

AT_A_TIME = 4
"""Resources of a store that are measured concurrently."""

_EVERYTHING = "projects/"


def metrics(tables: Tables, name: str, project: str, now: datetime, *, exact: bool) -> Metrics:
    """Return the metrics of a subscription, topic or snapshot, by full name or short id."""
    return _of_name(_Measurement(tables, project, now, exact=exact, many=False), listed([name])[0])


def metrics_table(
    tables: Tables, names: Iterable[str] | None, project: str, now: datetime, *, exact: bool
) -> DataFrame:
    """Return the metrics of some resources, or of all of a store, as a DataFrame.

    A damaged resource has no rows, but a NotMeasuredWarning; DataLoss if nothing is measured.
    """
    spark = tables.spark
    from pubsub_delta.tables.lanes.spark.metrics import metrics_frame  # this is what needs Spark

    try:
        measured = rows(tables, names, project, now, exact=exact)
    except PartlyMeasured as partly:
        if not partly.rows:
            raise partly.error from None
        measured = list(partly.rows)
        why = f"a damaged resource was not measured: {partly.error}"
        warnings.warn(why, NotMeasuredWarning, stacklevel=3)
    return metrics_frame(spark, measured)


def rows(
    tables: Tables, names: Iterable[str] | None, project: str, now: datetime, *, exact: bool
) -> list[MetricRow]:
    """Return the metrics of some resources, or of all of a store, of every project.

    Resources that are deleted while a whole store is measured are left out. PartlyMeasured, with
    the metrics of the others, if resources are damaged.
    """
    measurement = _Measurement(tables, project, now, exact=exact, many=True)
    if names is None:
        wanted = list(_everything(measurement))
    else:
        wanted = [partial(_of_name, measurement, name) for name in listed(names)]
    # Each measurement is a few small queries, which mostly wait.
    damaged: list[DataLoss] = []
    measure = partial(_rows_of, damaged=damaged, skip_missing=names is None)
    parts = in_threads(measure, wanted, AT_A_TIME)
    by_name = {(part[0].kind, part[0].name): part for part in parts if part}
    found = [row for part in by_name.values() for row in part]  # once, where it is named twice
    if damaged:
        raise PartlyMeasured(found, min(damaged, key=str))
    return found


def listed(names: Iterable[str]) -> list[str]:
    """Return names, each once; InvalidArgument for what is none."""
    given = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    wrong = [name for name in given if not isinstance(name, str)]
    if wrong:
        raise InvalidArgument(f"names: {wrong[0]!r} is not a name; strings are accepted")
    return list(dict.fromkeys(given))


def _rows_of(
    measure: Callable[[], Metrics], *, damaged: list[DataLoss], skip_missing: bool
) -> list[MetricRow]:
    try:
        return list(measure().rows())
    except DataLoss as error:
        damaged.append(error)
        return []
    except NotFound:
        if skip_missing:
            return []
        raise


class _Measurement:
    """One measurement of a store. With ``many``, each topic is read once for all resources."""

    def __init__(
        self, tables: Tables, project: str, now: datetime, *, exact: bool, many: bool
    ) -> None:
        self.tables = tables
        self.project = project
        self.now = now
        self.exact = exact
        self.many = many
        self._topics: dict[str, tuple[Messages, Sizes]] = {}

    def messages(self, topic_uid: str) -> tuple[Messages, Sizes]:
        """Return the messages of a topic, and their sizes."""
        if topic_uid not in self._topics:
            messages = self.tables.messages(topic_uid)
            self._topics.setdefault(topic_uid, (messages, Sizes(messages, exact=self.exact)))
        return self._topics[topic_uid]

    def label(self, topic_uid: str, project: str) -> Mapping[str, str]:
        """Return the label of a topic, which may be deleted."""
        return _label(self.tables.registry.topic_of_uid(topic_uid), project)


def _label(topic: Topic | None, project: str) -> dict[str, str]:
    """Return a topic as a label: its id, or its full name where that is in another project."""
    if topic is None:
        return {"topic": DELETED_TOPIC}
    name = topic_name(topic.name, project)
    return {"topic": name.id if name.project == project else str(name)}


def _of_name(measurement: _Measurement, name: str) -> Metrics:
    registry, project = measurement.tables.registry, measurement.project
    kind = name.split("/")[2] if name.count("/") == 3 else ""
    if kind in ("", "subscriptions"):
        full_name = subscription_name(name, project)
        source = find_source(measurement.tables, full_name)
        if source is not None:
            label = partial(measurement.label, source.topic_uid, full_name.project)
            return _metrics_of_subscription(measurement, source, label)
    if kind in ("", "topics"):
        topic = registry.topic(str(topic_name(name, project)))
        if topic is not None:
            return _metrics_of_topic(measurement, topic)
    if kind in ("", "snapshots"):
        full_name = snapshot_name(name, project)
        captured = registry.captured(str(full_name), measurement.now)
        if captured is not None:
            label = partial(measurement.label, captured[1], full_name.project)
            return _metrics_of_snapshot(measurement, *captured, label)
    if kind not in ("", "subscriptions", "topics", "snapshots"):
        subscription_name(name, project)  # says what a full name is
    for each in ("subscriptions", "topics", "snapshots"):
        if kind in ("", each):
            registry.check_newest_commit(each)
    raise NotFound(
        f"{name!r}: no subscription, topic or snapshot of that name exists; create it first"
    )


def _everything(measurement: _Measurement) -> Iterator[Callable[[], Metrics]]:
    """Return a function for each resource that measures it, ordered by kind and name."""
    registry = measurement.tables.registry
    topics = {topic.uid: topic for topic in registry.topics(_EVERYTHING)}
    for topic in sorted(topics.values(), key=lambda each: each.name):
        yield partial(_metrics_of_topic, measurement, topic)
    for subscription, uid in sorted(registry.sources(), key=lambda each: each[0].name):
        source = source_of(measurement.tables, subscription, uid)
        project = subscription_name(subscription.name, measurement.project).project
        label = partial(_label, topics.get(uid), project)
        yield partial(_metrics_of_subscription, measurement, source, label)
    for snapshot in sorted(
        registry.snapshots(_EVERYTHING, measurement.now), key=lambda each: each.name
    ):
        yield partial(_of_name, measurement, snapshot.name)


def _metrics_of_topic(measurement: _Measurement, topic: Topic) -> Metrics:
    """Return the metrics of a topic.

    ``message_count``: messages that are stored now. ``byte_cost``: their bytes of data, attribute
    keys and values, and ordering keys, not compressed. It is exact where the topic's files are
    small, or with ``exact``, which reads all messages; else the number of messages by the mean
    size of some of the last publishes. ``num_retained_messages``: those that the topic's own
    retention covers. ``oldest_retained_message_age``: in seconds, 0 without any.
    """
    messages, sizes = measurement.messages(topic.uid)
    covered = retention.covered_from(topic, measurement.now)
    retained, oldest = messages.count(covered) if covered is not None else (0, None)
    values: dict[str, Measured | Callable[[], Measured]] = {
        "message_count": Measured(sizes.count),
        "byte_cost": lambda: sizes.stored,
        "num_retained_messages": Measured(retained),
        "oldest_retained_message_age": Measured(_age(oldest, measurement.now)),
    }
    return Metrics(
        "topic", topic_name(topic.name, measurement.project), {}, measurement.now, values
    )


def _metrics_of_snapshot(
    measurement: _Measurement,
    snapshot: Snapshot,
    topic_uid: str,
    captured: Captured,
    label: Callable[[], Mapping[str, str]],
) -> Metrics:
    """Return the metrics of a snapshot.

    ``num_messages``: those that a seek would bring back now, the ones published since included.
    ``oldest_message_age``: in seconds, 0 without any. ``expire_time``.
    """
    messages, _ = measurement.messages(topic_uid)
    new = messages.history.commits_after(captured.after_version)
    following = messages.absorb(new, earliest=captured.floor)
    held = sum(map(len, captured.spans)) + sum(len(part.positions) for part in following)
    first = min((part.publish_time_min for part in following), default=None)
    values: dict[str, Measured | Callable[[], Measured]] = {
        "num_messages": Measured(held),
        "oldest_message_age": _oldest(measurement, messages, captured.spans, first),
        "expire_time": Measured(snapshot.expire_time),
    }
    name = snapshot_name(snapshot.name, measurement.project)
    return Metrics("snapshot", name, label, measurement.now, values)


def _metrics_of_subscription(
    measurement: _Measurement, source: Source, label: Callable[[], Mapping[str, str]]
) -> Metrics:
    """Return the metrics of a subscription at this moment; nothing is written.

    ``num_undelivered_messages``: unacknowledged ones, leased or not.
    ``num_outstanding_messages``: those whose lease is live.
    ``oldest_unacked_message_age``: seconds since the oldest was published, 0 where there is none.
    An estimate where publishes were joined in one span: its oldest message may be acknowledged by
    now, and the age is then that of another, older one.
    ``backlog_bytes``: of the unacknowledged messages, counted as ``byte_cost``. An estimate is
    their number by the mean size of all messages of the topic.
    ``ack_message_count``: ids that were ever acknowledged, by outcome.
    ``dead_letter_message_count``: messages that were ever forwarded.
    ``num_retained_acked_messages``: acknowledged ones that a seek to a time may bring back;
    ``oldest_retained_acked_message_age``: seconds since the oldest of them was published.
    """
    messages, sizes = measurement.messages(source.topic_uid)
    source = replace(source, messages=messages)
    state = measurement.tables.ack_states.read(source.uid)
    counters = state.counters
    if source.subscription.detached:
        state = replace(state, spans=())
    else:
        state = source.catch_up(state, measurement.now)
        state = source.clip_retained(state, measurement.now)
    retained, unacked = state.in_state(State.RETAINED), state.unacked()
    values: dict[str, Measured | Callable[[], Measured]] = {
        "num_undelivered_messages": Measured(state.count()),
        "num_outstanding_messages": Measured(state.count(State.LEASED)),
        "oldest_unacked_message_age": _oldest(measurement, messages, unacked),
        "backlog_bytes": lambda: sizes.of(unacked, read_if_quick=not measurement.many),
        "ack_message_count": Measured(
            {
                "success": counters.success,
                "expired": counters.expired,
                "invalid": counters.invalid,
            }
        ),
        "dead_letter_message_count": Measured(counters.dead_letters),
        "num_retained_acked_messages": Measured(sum(map(len, retained))),
        "oldest_retained_acked_message_age": _oldest(measurement, messages, retained),
    }
    name = subscription_name(source.subscription.name, measurement.project)
    return Metrics("subscription", name, label, measurement.now, values)


def _oldest(
    measurement: _Measurement,
    messages: StoredMessages,
    spans: Sequence[Span],
    first: datetime | None = None,
) -> Measured:
    """Return the age of the oldest message of spans, or of the first of others.

    A span with one publish time has it. A span with several has the oldest one when it was made;
    only the topic knows which of its messages are left.
    """
    now = measurement.now
    oldest = min(spans, key=lambda span: span.publish_time_min, default=None)
    if oldest is None or (first is not None and first <= oldest.publish_time_min):
        return Measured(_age(first, now))
    is_sure = oldest.publish_time_min == oldest.publish_time_max
    if measurement.exact and not is_sure:
        found = messages.earliest(spans)
        known = [time for time in (found, first) if time is not None]
        return Measured(_age(min(known, default=None), now))
    return Measured(_age(oldest.publish_time_min, now), is_estimate=not is_sure)


def _age(oldest: datetime | None, now: datetime) -> float:
    return 0.0 if oldest is None else max(0.0, (now - oldest).total_seconds())
