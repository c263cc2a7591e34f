"""Metrics of subscriptions, topics and snapshots, under Google's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from pubsub_delta.clock import to_micros
from pubsub_delta.errors import DataLoss
from pubsub_delta.names import ResourceName


@dataclass(frozen=True)
class Metric:
    """A metric that resources of a kind have.

    ``unit`` is Google's: ``1`` for a number, ``s`` for seconds, ``By`` for bytes. ``help``
    describes the metric. A counter only rises; every other metric is a gauge. ``labels`` are
    additional to those of its resource. ``google`` is the type under pubsub.googleapis.com, empty
    if Google has none.
    """

    kind: str
    name: str
    unit: str
    help: str
    google: str = ""
    counter: bool = False
    may_be_estimate: bool = False
    labels: tuple[str, ...] = ()


RESOURCE_LABELS = {
    "subscription": ("project", "subscription", "topic"),
    "topic": ("project", "topic"),
    "snapshot": ("project", "snapshot", "topic"),
}
"""The labels that identify a resource, by kind."""

METRICS = (
    Metric(
        "subscription",
        "num_undelivered_messages",
        "1",
        "Number of unacknowledged messages, leased or not.",
        google="subscription/num_undelivered_messages",
    ),
    Metric(
        "subscription",
        "num_outstanding_messages",
        "1",
        "Number of messages whose lease is live.",
        google="subscription/num_outstanding_messages",
    ),
    Metric(
        "subscription",
        "oldest_unacked_message_age",
        "s",
        "Age of the oldest unacknowledged message in seconds, 0 without any.",
        google="subscription/oldest_unacked_message_age",
        may_be_estimate=True,
    ),
    Metric(
        "subscription",
        "backlog_bytes",
        "By",
        "Size of the unacknowledged messages in bytes.",
        google="subscription/backlog_bytes",
        may_be_estimate=True,
    ),
    Metric(
        "subscription",
        "ack_message_count",
        "1",
        "Number of ack ids that were ever acknowledged, by outcome.",
        google="subscription/ack_message_count",
        counter=True,
        labels=("response_code",),
    ),
    Metric(
        "subscription",
        "dead_letter_message_count",
        "1",
        "Number of messages that were ever forwarded to a dead-letter topic.",
        google="subscription/dead_letter_message_count",
        counter=True,
    ),
    Metric(
        "subscription",
        "num_retained_acked_messages",
        "1",
        "Number of acknowledged messages that a seek to a time may bring back.",
        google="subscription/num_retained_acked_messages",
    ),
    Metric(
        "subscription",
        "oldest_retained_acked_message_age",
        "s",
        "Age of the oldest of the retained acknowledged messages in seconds, 0 without any.",
        google="subscription/oldest_retained_acked_message_age",
        may_be_estimate=True,
    ),
    Metric("topic", "message_count", "1", "Number of messages that are stored."),
    Metric(
        "topic",
        "byte_cost",
        "By",
        "Size of the stored messages in bytes.",
        google="topic/byte_cost",
        may_be_estimate=True,
    ),
    Metric(
        "topic",
        "num_retained_messages",
        "1",
        "Number of messages that the topic's own retention covers.",
        google="topic/num_retained_messages",
    ),
    Metric(
        "topic",
        "oldest_retained_message_age",
        "s",
        "Age of the oldest of the messages covered by the topic in seconds, 0 without any.",
        google="topic/oldest_retained_message_age",
    ),
    Metric(
        "snapshot",
        "num_messages",
        "1",
        "Number of messages that a seek to the snapshot would bring back.",
        google="snapshot/num_messages",
    ),
    Metric(
        "snapshot",
        "oldest_message_age",
        "s",
        "Age of the oldest message of the snapshot in seconds, 0 without any.",
        google="snapshot/oldest_message_age",
        may_be_estimate=True,
    ),
    Metric(
        "snapshot",
        "expire_time",
        "s",
        "When the snapshot expires, in seconds since 1970.",
    ),
)
"""Every metric, in display order."""

_METRICS = {(metric.kind, metric.name): metric for metric in METRICS}


@dataclass(frozen=True)
class Measured:
    """A value, and whether it is an estimate."""

    value: Any
    is_estimate: bool = False


@dataclass(frozen=True)
class MetricRow:
    """One value of a metric of a resource.

    ``labels`` are those of the metric and of the resource. A time is in seconds since 1970.
    """

    kind: str
    name: str
    metric: str
    labels: Mapping[str, str]
    value: float
    unit: str
    is_estimate: bool
    time: datetime


class PartlyMeasured(Exception):
    """The metrics of some resources, where others are damaged. ``error``: that of one of them."""

    def __init__(self, rows: Sequence[MetricRow], error: DataLoss) -> None:
        super().__init__(str(error))
        self.rows = rows
        self.error = error


class Metrics(Mapping[str, Any]):
    """The metrics of one resource at ``time``, by name.

    Expensive metrics are measured at their first access, and then kept.

    >>> from datetime import timezone
    >>> of = ResourceName("local", "topics", "flights")
    >>> two = {"message_count": Measured(3), "byte_cost": lambda: Measured(750, is_estimate=True)}
    >>> metrics = Metrics("topic", of, {}, datetime(2026, 1, 1, tzinfo=timezone.utc), two)
    >>> metrics["byte_cost"], sorted(metrics.estimates)
    (750, ['byte_cost'])
    """

    def __init__(
        self,
        kind: str,
        name: ResourceName,
        labels: Mapping[str, str] | Callable[[], Mapping[str, str]],
        time: datetime,
        values: Mapping[str, Measured | Callable[[], Measured]],
    ) -> None:
        self.kind = kind
        self.name = str(name)
        self.time = time
        self._labels = labels
        self._id = name.id
        self._project = name.project
        self._values = dict(values)

    @cached_property
    def labels(self) -> dict[str, str]:
        """The labels of the resource: its project, its id, and its topic if it has one."""
        others = self._labels() if callable(self._labels) else self._labels
        return {"project": self._project, self.kind: self._id, **others}

    @property
    def estimates(self) -> frozenset[str]:
        """The names of values that are estimates; reading this measures all of them."""
        return frozenset(name for name in self if self._measured(name).is_estimate)

    def rows(self) -> Iterator[MetricRow]:
        """Return each value as a row; a metric with labels has several."""
        for name in self:
            measured = self._measured(name)
            for labels, value in _values_of(measured.value, _METRICS[self.kind, name].labels):
                yield MetricRow(
                    self.kind,
                    self.name,
                    name,
                    {**self.labels, **labels},
                    value,
                    _METRICS[self.kind, name].unit,
                    measured.is_estimate,
                    self.time,
                )

    def __getitem__(self, name: str) -> Any:
        return self._measured(name).value

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        measured = {name: self._measured(name) for name in self}
        name = ResourceName(self._project, f"{self.kind}s", self._id)
        return Metrics, (self.kind, name, self.labels, self.time, measured)

    def _measured(self, name: str) -> Measured:
        found = self._values[name]
        if not isinstance(found, Measured):
            found = self._values[name] = found()
        return found


def _values_of(value: Any, labels: tuple[str, ...]) -> Iterator[tuple[dict[str, str], float]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield {labels[0]: str(key)}, float(each)
    elif isinstance(value, datetime):
        yield {}, to_micros(value) / 1_000_000
    else:
        yield {}, float(value)
