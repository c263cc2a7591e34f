"""MetricsExporter: exports the metrics of a store to Prometheus. Extra ``prometheus``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pubsub_delta import clock
from pubsub_delta.clock import to_micros
from pubsub_delta.durations import Duration, parse_duration
from pubsub_delta.errors import FailedPrecondition, InvalidArgument, PubSubError, needing_extra
from pubsub_delta.metrics import METRICS, RESOURCE_LABELS, Metric, MetricRow, PartlyMeasured
from pubsub_delta.threads import OPEN_ANOTHER, OwnProcess, start_threads, stop_at_exit

with needing_extra("prometheus"):
    from prometheus_client import CollectorRegistry, generate_latest, start_http_server
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
    from prometheus_client.core import Metric as Family
    from prometheus_client.registry import Collector

SHORTEST_INTERVAL = timedelta(seconds=1)
_LONGEST_WAIT = timedelta(seconds=threading.TIMEOUT_MAX)


@dataclass(frozen=True)
class Measurement:
    """The last metrics, the number of tries and failures, and the last error.

    ``time`` and ``uptime``: when it began, by the clock and in steady seconds.
    """

    rows: Sequence[MetricRow] = ()
    time: datetime | None = None
    seconds: float = 0.0
    measurements: int = 0
    failures: int = 0
    error: Exception | None = None
    uptime: float = 0.0


class MetricsExporter(Collector):
    """Measures the metrics of a store in the background, and exports them to Prometheus.

    A scrape does not wait for the store: it gets the last measurement, with its age. After a
    failure that measurement stays, ``pubsub_delta_up`` is 0, and ``pubsub_delta_last_error_info``
    has the error. So it is where a resource is damaged, but the others are measured, and exported.
    ``serve`` answers scrapes at its own port. A program that serves metrics already can register
    the exporter in its registry.

    Args:
        measure: returns the current metrics.
        now: returns the time.
        interval: the time between measurements, at least 1 second.
        uptime: returns monotonic seconds.
    """

    def __init__(
        self,
        measure: Callable[[], Sequence[MetricRow]],
        now: Callable[[], datetime],
        *,
        interval: Duration = "60s",
        uptime: Callable[[], float] = clock.uptime,
    ) -> None:
        self._measure = measure
        self._now = now
        self._uptime = uptime
        self._interval = min(parse_duration(interval, "interval"), _LONGEST_WAIT)
        if self._interval < SHORTEST_INTERVAL:
            raise InvalidArgument(
                f"interval: {interval!r}; a duration of at least 1 second is accepted"
            )
        self.measurement = Measurement()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._closing: list[Callable[[], None]] = []
        self._own_process = OwnProcess("this exporter", OPEN_ANOTHER)

    def refresh(self) -> None:
        """Measure now. An error is kept for the next scrape, and raised."""
        before, start = self.measurement, self._uptime()
        count = before.measurements + 1
        try:
            began = self._now()
            rows = self._measure()
        except PartlyMeasured as partly:
            seconds, failures = self._uptime() - start, before.failures + 1
            self.measurement = Measurement(
                partly.rows, began, seconds, count, failures, partly.error, start
            )
            raise partly.error from None
        except Exception as error:
            failures = before.failures + 1
            self.measurement = replace(before, measurements=count, failures=failures, error=error)
            raise
        seconds = self._uptime() - start
        self.measurement = Measurement(rows, began, seconds, count, before.failures, uptime=start)

    def start(self) -> MetricsExporter:
        """Start measuring in the background, also again after ``stop``."""
        self._begin()
        if self._thread is None:
            self._stopped.clear()
            thread = threading.Thread(target=self._run, name="metrics-exporter", daemon=True)
            start_threads([thread], self._stopped.set)
            self._thread = thread
            stop_at_exit(self, MetricsExporter.stop)
        return self

    def serve(self, port: int, address: str = "127.0.0.1") -> int:
        """Answer scrapes over HTTP at a port (0 for a free one), and return the port.

        FailedPrecondition if the port cannot be bound.
        """
        if type(port) is not int or not 0 <= port <= 65535:
            raise InvalidArgument(f"port: {port!r}; a number from 0 to 65535 is accepted")
        self._begin()
        try:
            server, thread = start_http_server(port, address, self._registry())
        except (OSError, UnicodeError) as error:  # UnicodeError: a label of no name
            why = getattr(error, "strerror", None) or error
            raise FailedPrecondition(
                f"{address}:{port} cannot be bound ({why}); "
                "choose a free port of an address of this machine"
            ) from error

        def close() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        self._closing.append(close)
        return server.server_port

    def stop(self) -> None:
        """Stop measuring and serving, after the current measurement.

        In a forked process, which has no threads of the exporter, it does nothing.
        """
        if not self._own_process.is_this:
            return
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        while self._closing:
            self._closing.pop()()

    def __enter__(self) -> MetricsExporter:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def text(self) -> str:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self._registry()).decode()

    def collect(self) -> Iterator[Family]:
        """Return the metrics of the last measurement, and those of the exporter itself."""
        measurement = self.measurement
        yield from _families(measurement.rows)
        yield from self._own(measurement)

    def _registry(self) -> CollectorRegistry:
        registry = CollectorRegistry()
        registry.register(self)
        return registry

    def _begin(self) -> None:
        """Note the process that gets threads; FailedPrecondition in one that was forked from it."""
        if self._thread is None and not self._closing:
            self._own_process = OwnProcess("this exporter", OPEN_ANOTHER)
        self._own_process.check()

    def _run(self) -> None:
        while not self._stopped.is_set():
            with suppress(Exception):  # the next scrape reports it
                self.refresh()
            self._stopped.wait(self._interval.total_seconds())

    def _own(self, measurement: Measurement) -> Iterator[Family]:
        is_up = measurement.time is not None and measurement.error is None
        yield GaugeMetricFamily(
            "pubsub_delta_up", "Whether the last measurement succeeded.", float(is_up)
        )
        yield CounterMetricFamily(
            "pubsub_delta_measurements", "Number of measurements begun.", measurement.measurements
        )
        yield CounterMetricFamily(
            "pubsub_delta_measurement_failures",
            "Number of measurements that failed.",
            measurement.failures,
        )
        if measurement.time is not None:
            yield GaugeMetricFamily(
                "pubsub_delta_metrics_time",
                "When the metrics were measured, in seconds since 1970.",
                to_micros(measurement.time) / 1_000_000,
            )
            yield GaugeMetricFamily(
                "pubsub_delta_metrics_age",
                "Age of the metrics in seconds.",
                self._uptime() - measurement.uptime,
            )
            yield GaugeMetricFamily(
                "pubsub_delta_measurement_duration",
                "How long the last measurement that succeeded took, in seconds.",
                measurement.seconds,
            )
        if measurement.error is not None:
            errors_family = GaugeMetricFamily(
                "pubsub_delta_last_error_info",
                "The error of the last measurement; absent if it succeeded.",
                labels=("code", "message"),
            )
            errors_family.add_metric(_named(measurement.error), 1)
            yield errors_family


def family_names() -> dict[str, bool]:
    """Return the names of all metrics of a store, and whether each is a counter."""
    found = {f"pubsub_{each.kind}_{each.name}": each.counter for each in METRICS}
    estimates = [f"pubsub_{m.kind}_{m.name}_is_estimate" for m in METRICS if m.may_be_estimate]
    return {**found, **dict.fromkeys(estimates, False), **_OWN}


_OWN = {
    "pubsub_delta_up": False,
    "pubsub_delta_measurements": True,
    "pubsub_delta_measurement_failures": True,
    "pubsub_delta_metrics_time": False,
    "pubsub_delta_metrics_age": False,
    "pubsub_delta_measurement_duration": False,
    "pubsub_delta_last_error_info": False,
}
"""The metrics of the exporter itself, and whether each is a counter."""


def _families(rows: Iterable[MetricRow]) -> Iterator[Family]:
    """Return the metric families of rows, in the order of ``METRICS``."""
    found: dict[tuple[str, str], list[MetricRow]] = {}
    for row in rows:
        found.setdefault((row.kind, row.metric), []).append(row)
    for metric in METRICS:
        of_metric = found.get((metric.kind, metric.name), [])
        if of_metric:
            yield _family(metric, of_metric)
        if of_metric and metric.may_be_estimate:
            yield _estimates(metric, of_metric)


def _family(metric: Metric, rows: Sequence[MetricRow]) -> Family:
    labels = (*RESOURCE_LABELS[metric.kind], *metric.labels)
    make = CounterMetricFamily if metric.counter else GaugeMetricFamily
    family = make(f"pubsub_{metric.kind}_{metric.name}", metric.help, labels=labels)
    for row in rows:
        family.add_metric([row.labels.get(label, "") for label in labels], row.value)
    return family


def _estimates(metric: Metric, rows: Sequence[MetricRow]) -> Family:
    """Return a gauge of which values are estimates; a label would make other series."""
    name = f"pubsub_{metric.kind}_{metric.name}"
    labels = RESOURCE_LABELS[metric.kind]
    family = GaugeMetricFamily(
        f"{name}_is_estimate", f"Whether {name} is an estimate.", labels=labels
    )
    for row in rows:
        family.add_metric([row.labels.get(label, "") for label in labels], float(row.is_estimate))
    return family


def _named(error: Exception) -> tuple[str, str]:
    code = error.code if isinstance(error, PubSubError) else type(error).__name__
    lines = str(error).splitlines()
    return code, lines[0][:200] if lines else ""
