"""The metrics of a server, and of its store, for Prometheus. It needs the extra ``prometheus``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family

from pubsub_delta.durations import Duration
from pubsub_delta.exporter import MetricsExporter
from pubsub_delta.metrics import MetricRow
from pubsub_delta.server.counters import Counters

_COUNTS = {
    "published": "Number of messages published by clients of this server.",
    "publish_commits": "Number of appends that they were published in.",
    "delivered": "Number of messages sent to clients.",
    "acknowledged": "Number of ack ids that clients acknowledged.",
    "expired": "Number of deliveries whose deadline passed.",
    "exchanges": "Number of exchanges with subscriptions: one commit each, or none.",
    "table_rows": "Number of messages written to the tables of subscriptions.",
    "table_failures": "Number of deliveries whose message did not fit the table.",
    "failed_exchanges": "Number of exchanges that failed and were tried again.",
}
_GAUGES: dict[str, tuple[str, Callable[[Counters], int]]] = {
    "open_streams": ("Number of StreamingPull calls that are open.", lambda c: c.open_streams),
    "held_messages": (
        "Number of messages that clients have not answered for, or that wait for clients.",
        lambda c: c.memory.messages,
    ),
    "held_bytes": (
        "Bytes of the messages that wait to be sent, or are being sent.",
        lambda c: c.memory.bytes,
    ),
}


def own_names() -> dict[str, bool]:
    """Return the names of a server's own metrics, and whether each is a counter.

    ``ServerExporter.collect`` returns them.
    """
    counters = (*_COUNTS, "requests", "pushes")
    found = {f"pubsub_delta_server_{name}": True for name in counters}
    return {**found, **{f"pubsub_delta_server_{name}": False for name in _GAUGES}}


class ServerExporter(MetricsExporter):
    """Exports the metrics of the store, measured at an interval, and the server's own."""

    def __init__(
        self,
        counters: Counters,
        measure: Callable[[], Sequence[MetricRow]],
        now: Callable[[], datetime],
        interval: Duration,
    ) -> None:
        super().__init__(measure, now, interval=interval)
        self._counted = counters

    def collect(self) -> Iterator[Family]:
        """Return the metrics of the store as of the last measurement, and those of the server."""
        yield from super().collect()
        for name, help_text in _COUNTS.items():
            value = getattr(self._counted, name)
            yield CounterMetricFamily(f"pubsub_delta_server_{name}", help_text, value)
        for name, (help_text, read) in _GAUGES.items():
            value = read(self._counted)
            yield GaugeMetricFamily(f"pubsub_delta_server_{name}", help_text, value)
        requests = CounterMetricFamily(
            "pubsub_delta_server_requests",
            "Number of calls that have ended, by method and canonical code.",
            labels=("method", "code"),
        )
        for (method, code), count in sorted(self._counted.requests.items()):
            requests.add_metric([method, code], count)
        yield requests
        pushes = CounterMetricFamily(
            "pubsub_delta_server_pushes",
            "Number of push requests, by the code of the answer or by why there was none.",
            labels=("code",),
        )
        for code, count in sorted(self._counted.pushes.items()):
            pushes.add_metric([code], count)
        yield pushes
