"""The exporter, given metrics: what a scrape gets, read by Prometheus' own parser."""

from __future__ import annotations

import sys
import threading
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from pubsub_delta.clock import ManualClock
from pubsub_delta.errors import Aborted, FailedPrecondition, InvalidArgument
from pubsub_delta.exporter import MetricsExporter, family_names
from pubsub_delta.metrics import METRICS, RESOURCE_LABELS, Measured, MetricRow, Metrics
from pubsub_delta.names import ResourceName
from tests.unit.in_memory import LETTERS, TOPIC, InMemory

Value = tuple[str, tuple[tuple[str, str], ...]]


def scraped(text: str) -> dict[Value, float]:
    """Return the samples of a text by name and sorted labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def rows(clock: ManualClock, undelivered: int = 5, topic: str = "flights") -> list[MetricRow]:
    subscription = Metrics(
        "subscription",
        ResourceName("p", "subscriptions", "delays"),
        {"topic": topic},
        clock.now(),
        {
            "num_undelivered_messages": Measured(undelivered),
            "backlog_bytes": Measured(100 * undelivered, is_estimate=True),
            "ack_message_count": Measured({"success": 7, "expired": 1, "invalid": 0}),
            "dead_letter_message_count": Measured(3),
        },
    )
    topic_metrics = Metrics(
        "topic",
        ResourceName("p", "topics", topic),
        {},
        clock.now(),
        {"message_count": Measured(12), "byte_cost": Measured(1_200)},
    )
    snapshot = Metrics(
        "snapshot",
        ResourceName("p", "snapshots", "taken"),
        {"topic": topic},
        clock.now(),
        {"num_messages": Measured(4), "expire_time": Measured(clock.now())},
    )
    return [row for each in (subscription, topic_metrics, snapshot) for row in each.rows()]


def made(
    measure: Callable[[], Sequence[MetricRow]], clock: ManualClock, interval: str = "60s"
) -> MetricsExporter:
    def uptime() -> float:
        return clock.now().timestamp()

    return MetricsExporter(measure, clock.now, interval=interval, uptime=uptime)


DELAYS = (("project", "p"), ("subscription", "delays"), ("topic", "flights"))


def test_a_scrape_has_every_figure_under_googles_names() -> None:
    clock = ManualClock()
    exporter = made(lambda: rows(clock), clock)
    exporter.refresh()
    told = scraped(exporter.text())
    of_subscription = "pubsub_subscription_"
    assert told[f"{of_subscription}num_undelivered_messages", DELAYS] == 5
    assert told[f"{of_subscription}backlog_bytes", DELAYS] == 500
    assert told[f"{of_subscription}dead_letter_message_count_total", DELAYS] == 3
    by_code = {
        dict(labels)["response_code"]: value
        for (name, labels), value in told.items()
        if name == f"{of_subscription}ack_message_count_total"
    }
    assert by_code == {"success": 7, "expired": 1, "invalid": 0}
    flights = (("project", "p"), ("topic", "flights"))
    assert told["pubsub_topic_message_count", flights] == 12
    taken = (("project", "p"), ("snapshot", "taken"), ("topic", "flights"))
    assert told["pubsub_snapshot_expire_time", taken] == 1_767_225_600
    # an estimate is told beside its value: as a label it would make another series
    assert told[f"{of_subscription}backlog_bytes_is_estimate", DELAYS] == 1
    assert told["pubsub_topic_byte_cost_is_estimate", flights] == 0


def test_counters_are_counters_and_the_help_is_that_of_the_table() -> None:
    clock = ManualClock()
    exporter = made(lambda: rows(clock), clock)
    exporter.refresh()
    families = {each.name: each for each in text_string_to_metric_families(exporter.text())}
    told = 0
    for metric in METRICS:
        family = families.get(f"pubsub_{metric.kind}_{metric.name}")
        if family is not None:
            told += 1
            assert family.type == ("counter" if metric.counter else "gauge")
            assert family.documentation == metric.help
    assert told == 8


def test_a_scrape_does_not_measure_and_tells_the_age_of_the_metrics() -> None:
    # "refreshed at an interval in the background so that a scrape never waits for Spark; scrape
    # shows the age of the metrics"
    clock = ManualClock()
    counted = []

    def measure() -> list[MetricRow]:
        counted.append(1)
        clock.advance(2)
        return rows(clock)

    exporter = made(measure, clock)
    before = scraped(exporter.text())
    assert before["pubsub_delta_up", ()] == 0
    assert ("pubsub_delta_metrics_age", ()) not in before
    exporter.refresh()
    clock.advance(30)
    told = scraped(exporter.text())
    assert len(counted) == 1
    assert told["pubsub_delta_up", ()] == 1
    assert told["pubsub_delta_metrics_age", ()] == 32  # since the measurement began
    assert told["pubsub_delta_metrics_time", ()] == 1_767_225_600
    assert told["pubsub_delta_measurement_duration", ()] == 2
    assert told["pubsub_delta_measurements_total", ()] == 1


def test_metrics_stay_when_measuring_fails_and_the_error_is_told() -> None:
    clock = ManualClock()
    results: list[Exception | None] = [None, Aborted('writers "won"\n25 times'), None]

    def measure() -> list[MetricRow]:
        result = results.pop(0)
        if result is not None:
            raise result
        return rows(clock)

    exporter = made(measure, clock)
    exporter.refresh()
    clock.advance(60)
    with pytest.raises(Aborted):
        exporter.refresh()
    told = scraped(exporter.text())
    assert told["pubsub_delta_up", ()] == 0
    assert told["pubsub_delta_measurement_failures_total", ()] == 1
    assert told["pubsub_delta_metrics_age", ()] == 60
    assert told["pubsub_subscription_num_undelivered_messages", DELAYS] == 5
    error = (("code", "ABORTED"), ("message", 'writers "won"'))
    assert told["pubsub_delta_last_error_info", error] == 1
    exporter.refresh()
    told = scraped(exporter.text())
    assert told["pubsub_delta_up", ()] == 1
    assert not [name for name, _ in told if name == "pubsub_delta_last_error_info"]


def test_every_metric_of_a_scrape_is_known_by_its_name_and_kind() -> None:
    """docs/server.md: "The metrics have the names that /metrics has", by OTLP, too."""
    clock = ManualClock()
    answers: list[list[MetricRow] | None] = [rows_of_every_metric(clock), None]

    def measure() -> list[MetricRow]:
        found = answers.pop(0)
        if found is None:
            raise Aborted("once")
        return found

    exporter = made(measure, clock)
    while answers:
        with suppress(Aborted):
            exporter.refresh()
    assert family_names() == {each.name: each.type == "counter" for each in exporter.collect()}


def rows_of_every_metric(clock: ManualClock) -> list[MetricRow]:
    found: list[MetricRow] = []
    for kind in RESOURCE_LABELS:
        values = {each.name: Measured(1) for each in METRICS if each.kind == kind}
        name = ResourceName("p", f"{kind}s", "one")
        found += Metrics(kind, name, {}, clock.now(), values).rows()
    return found


def test_failures_stay_counted_after_a_measurement_that_succeeds() -> None:
    # Prometheus: "a counter is a cumulative metric", so it never falls
    clock, errors = ManualClock(), [Aborted("once"), None, Aborted("again")]

    def measure() -> list[MetricRow]:
        error = errors.pop(0)
        if error is not None:
            raise error
        return rows(clock)

    exporter, told = made(measure, clock), []
    while errors:
        with suppress(Aborted):
            exporter.refresh()
        now = scraped(exporter.text())
        told.append(now["pubsub_delta_measurement_failures_total", ()])
    assert told == [1, 1, 2]


def test_labels_are_escaped() -> None:
    clock = ManualClock()
    odd = 'a"b\\c\nd'
    exporter = made(lambda: rows(clock, topic=odd), clock)
    exporter.refresh()
    labels = (("project", "p"), ("topic", odd))
    assert scraped(exporter.text())["pubsub_topic_message_count", labels] == 12


def test_it_measures_in_the_background_and_goes_on_after_an_error() -> None:
    clock = ManualClock()
    turns: list[int] = []
    third = threading.Event()

    def measure() -> list[MetricRow]:
        turns.append(1)
        if len(turns) == 1:
            raise Aborted("once")
        third.set()
        return rows(clock, undelivered=len(turns))

    with made(measure, clock, "1s") as exporter:
        assert third.wait(30)
        port = exporter.serve(0)
        url = f"http://127.0.0.1:{port}/metrics"
        with urllib.request.urlopen(url, timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=")
            text = answer.read().decode()
        assert ("pubsub_delta_measurement_failures_total", ()) in scraped(text)
        with pytest.raises(FailedPrecondition, match=f"127.0.0.1:{port} cannot be bound"):
            exporter.serve(port)
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url, timeout=10)
    after = len(turns)
    assert not threading.Event().wait(1.5)
    assert len(turns) == after


def test_it_measures_once_in_an_interval() -> None:
    """A measurement reads every ack state of the store: it is not made all the time."""
    clock, measured = ManualClock(), threading.Event()
    turns: list[int] = []

    def measure() -> list[MetricRow]:
        turns.append(1)
        measured.set()
        return rows(clock)

    with made(measure, clock, "1h"):
        assert measured.wait(30)
        assert not threading.Event().wait(0.2)
        assert turns == [1]


def test_it_can_be_registered_where_a_program_has_its_metrics() -> None:
    clock = ManualClock()
    registry = CollectorRegistry()
    exporter = made(lambda: rows(clock), clock)
    registry.register(exporter)
    exporter.refresh()
    labels = {"project": "p", "topic": "flights"}
    assert registry.get_sample_value("pubsub_topic_message_count", labels) == 12


def test_each_measurement_has_all_resources_whatever_gives_their_names() -> None:
    store = InMemory().store
    exporter = store.metrics_exporter(iter([TOPIC, LETTERS]))
    for _ in range(2):
        exporter.refresh()
        assert {row.name.rpartition("/")[2] for row in exporter.measurement.rows} == {
            TOPIC, LETTERS,
        }  # fmt: skip


def test_it_waits_for_an_interval_that_is_longer_than_a_wait_can_be() -> None:
    """A wait of 300 years raises OverflowError: nothing would be measured after it."""
    clock, measured = ManualClock(), threading.Event()

    def measure() -> list[MetricRow]:
        measured.set()
        return rows(clock)

    with made(measure, clock, "3000000d") as exporter:
        assert measured.wait(30)
        assert exporter._thread is not None
        exporter._thread.join(0.5)
        assert exporter._thread.is_alive()


@pytest.mark.parametrize("interval", ["0s", "0.5s", -3])
def test_an_interval_is_at_least_a_second(interval: str | int) -> None:
    with pytest.raises(InvalidArgument, match="interval"):
        MetricsExporter(list, ManualClock().now, interval=interval)


@pytest.mark.parametrize("port", [-1, 65536, "9464", True])
def test_a_port_is_a_number(port: int) -> None:
    with pytest.raises(InvalidArgument, match="port"):
        made(list, ManualClock()).serve(port)


@pytest.mark.parametrize("address", ["a..b", "x" * 64 + ".example", "\udcff"])
def test_an_address_that_is_no_name_is_refused(address: str) -> None:
    """``serve``: "FailedPrecondition if the port cannot be bound"."""
    with pytest.raises(FailedPrecondition, match="cannot be bound"):
        made(list, ManualClock()).serve(0, address)


def test_without_prometheus_client_the_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    monkeypatch.delitem(sys.modules, "pubsub_delta.exporter")
    with pytest.raises(FailedPrecondition, match=r"pip install 'pubsub-delta\[prometheus\]'"):
        import_module("pubsub_delta.exporter")


@pytest.mark.parametrize("seconds", [0, 7, 3600, -3600])
def test_metrics_have_the_age_of_their_measurement_and_none_below_zero(seconds: float) -> None:
    """However the clock is set meanwhile: an alert on their age must not wait for it."""
    clock, uptimes = ManualClock(), iter([100.0, 103.0, 700.25])
    exporter = MetricsExporter(lambda: rows(clock), clock.now, uptime=lambda: next(uptimes))
    exporter.refresh()
    clock.advance(seconds)
    assert scraped(exporter.text())["pubsub_delta_metrics_age", ()] == 600.25


def test_a_clock_that_is_set_back_makes_no_measurement_shorter() -> None:
    """``pubsub_delta_measurement_duration``: "How long the last measurement ... took"."""
    clock = ManualClock()
    uptimes = iter([100.0, 103.0, 104.0])

    def measure() -> list[MetricRow]:
        clock.advance(-3600)
        return rows(clock)

    exporter = MetricsExporter(measure, clock.now, uptime=lambda: next(uptimes))
    exporter.refresh()
    assert scraped(exporter.text())["pubsub_delta_measurement_duration", ()] == 3


def test_what_is_stopped_has_no_thread_and_leaves_its_port_to_others() -> None:
    clock = ManualClock()
    before = set(threading.enumerate())
    exporter = made(lambda: rows(clock), clock)
    exporter.start()
    port = exporter.serve(0)
    assert len(set(threading.enumerate()) - before) == 2
    exporter.stop()
    assert set(threading.enumerate()) <= before
    again = made(lambda: rows(clock), clock)
    assert again.serve(port) == port
    again.stop()


def test_the_end_frees_each_port_at_which_scrapes_were_answered() -> None:
    """``stop`` ends "measuring and serving", at however many ports."""
    clock = ManualClock()
    before = set(threading.enumerate())
    exporter = made(lambda: rows(clock), clock)
    ports = [exporter.serve(0) for _ in range(2)]
    exporter.stop()
    assert set(threading.enumerate()) <= before
    with made(lambda: rows(clock), clock) as again:
        assert [again.serve(port) for port in ports] == ports


def test_what_was_stopped_measures_when_it_is_started_again() -> None:
    """``pubsub_delta_up``: whether the last measurement succeeded. It goes on being made."""
    clock, measured = ManualClock(), threading.Event()

    def measure() -> list[MetricRow]:
        measured.set()
        return rows(clock)

    exporter = made(measure, clock, "1h")
    for _ in range(2):
        with exporter:
            assert measured.wait(30)
        measured.clear()
