"""The methods of PubSub that measure a store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pubsub_delta.durations import Duration
from pubsub_delta.methods.store import Store
from pubsub_delta.metrics import MetricRow, Metrics
from pubsub_delta.operations import metrics as measuring
from pubsub_delta.policy.arguments import check_switch

if TYPE_CHECKING:  # pyspark and prometheus_client take long to import
    from pyspark.sql import DataFrame

    from pubsub_delta.exporter import MetricsExporter


def metrics(self: Store, name: str, *, exact: bool = False) -> Metrics:
    """Return the metrics of a subscription, topic or snapshot, under Google's names.

    A short id means the subscription of that name if there is one, else the topic, else the
    snapshot. ``estimates`` of the result names the values that are estimates. The sizes in bytes
    are measured at the first access. ``exact``: no estimates; each size then takes a scan of its
    messages. NotFound without such a resource.
    """
    check_switch(exact, "exact")
    return measuring.metrics(self._tables, name, self._project, self._clock.now(), exact=exact)


def metrics_table(
    self: Store, names: Iterable[str] | None = None, *, exact: bool = False
) -> DataFrame:
    """Return the metrics of all resources of the store, or of some, one row for each value.

    Columns: ``kind`` (subscription, topic or snapshot), ``name`` (full), ``metric``, ``labels
    MAP<STRING,STRING>``, ``value DOUBLE``, ``unit`` (1, s or By), ``is_estimate``, and ``time``,
    which is the same in all rows. The call measures all of it, so that the rows can be appended to
    a table. ``ack_message_count`` has a row for each ``response_code``; a time is in seconds since
    1970. A damaged resource has no rows, and a ``NotMeasuredWarning`` has its error; DataLoss if no
    other is measured.

    Args:
        names: as ``metrics`` takes them; by default everything, of every project.
        exact: no estimates. Without it ``backlog_bytes`` is estimated from the mean size of the
            topic's messages, which reads only topics, and not each backlog.
    """
    check_switch(exact, "exact")
    now = self._clock.now()
    if names is None:
        self._tables.check_created()
    return measuring.metrics_table(self._tables, names, self._project, now, exact=exact)


def metrics_exporter(
    self: Store,
    names: Iterable[str] | None = None,
    *,
    interval: Duration = "60s",
    exact: bool = False,
) -> MetricsExporter:
    """Return an exporter of the metrics of ``metrics_table`` for Prometheus.

    ``with store.metrics_exporter() as exporter: exporter.serve(9464)`` measures once an
    ``interval`` in the background and responds to scrapes. It needs the extra ``prometheus``.
    """
    from pubsub_delta.exporter import MetricsExporter

    check_switch(exact, "exact")
    wanted = names if names is None else measuring.listed(names)

    def measure() -> list[MetricRow]:
        now = self._clock.now()
        if wanted is None:
            self._tables.check_created()
        return measuring.rows(self._tables, wanted, self._project, now, exact=exact)

    return MetricsExporter(measure, self._clock.now, interval=interval)
