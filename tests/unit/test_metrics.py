"""The metrics of a resource, as a mapping and as rows, and which publishes a sample takes."""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.metrics import METRICS, RESOURCE_LABELS, Measured, Metrics
from pubsub_delta.names import ResourceName
from pubsub_delta.policy.sampling import spread

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
PAGE = Path(__file__).resolve().parents[2] / "docs/metrics.md"


def of_subscription(asked: list[str]) -> Metrics:
    def size() -> Measured:
        asked.append("backlog_bytes")
        return Measured(500, is_estimate=True)

    counts = {"success": 2, "expired": 0, "invalid": 1}
    return Metrics(
        "subscription",
        ResourceName("p", "subscriptions", "delays"),
        lambda: {"topic": "flights"},
        NOW,
        {
            "num_undelivered_messages": Measured(5),
            "backlog_bytes": size,
            "ack_message_count": Measured(counts),
        },
    )


def test_what_is_dear_is_measured_when_it_is_looked_at_and_once() -> None:
    asked: list[str] = []
    metrics = of_subscription(asked)
    assert metrics["num_undelivered_messages"] == 5
    assert ("backlog_bytes" in metrics, len(metrics), asked) == (True, 3, [])
    assert metrics["backlog_bytes"] == 500
    assert dict(metrics)["backlog_bytes"] == 500
    assert metrics.estimates == {"backlog_bytes"}
    assert asked == ["backlog_bytes"]


def test_metrics_are_a_mapping_that_can_be_written_as_json() -> None:
    metrics = of_subscription([])
    assert json.loads(json.dumps(dict(metrics)))["ack_message_count"]["success"] == 2
    assert repr(metrics).startswith("{'num_undelivered_messages': 5, 'backlog_bytes': 500,")
    assert {"backlog_bytes": 500}.items() <= metrics.items()
    assert metrics == dict(metrics)


def test_each_figure_is_a_row_with_the_labels_of_its_resource() -> None:
    rows = list(of_subscription([]).rows())
    of_resource = {"project": "p", "subscription": "delays", "topic": "flights"}
    assert [(row.metric, row.value, row.unit, row.is_estimate) for row in rows] == [
        ("num_undelivered_messages", 5.0, "1", False),
        ("backlog_bytes", 500.0, "By", True),
        ("ack_message_count", 2.0, "1", False),
        ("ack_message_count", 0.0, "1", False),
        ("ack_message_count", 1.0, "1", False),
    ]
    assert rows[0].labels == of_resource
    assert rows[-1].labels == {**of_resource, "response_code": "invalid"}
    assert {(row.kind, row.name, row.time) for row in rows} == {
        ("subscription", "projects/p/subscriptions/delays", NOW)
    }


def test_a_time_is_a_row_in_seconds_since_1970() -> None:
    name = ResourceName("p", "snapshots", "taken")
    values = {"expire_time": Measured(NOW)}
    (row,) = Metrics("snapshot", name, {"topic": "flights"}, NOW, values).rows()
    assert (row.value, row.unit) == (1_767_225_600.0, "s")


def test_every_metric_is_told_once_and_of_a_known_kind() -> None:
    names = [(metric.kind, metric.name) for metric in METRICS]
    assert len(set(names)) == len(names)
    assert {metric.kind for metric in METRICS} == set(RESOURCE_LABELS)
    assert {metric.unit for metric in METRICS} == {"1", "s", "By"}
    for metric in METRICS:
        assert metric.google in ("", f"{metric.kind}/{metric.name}")
        assert ("in seconds" in metric.help) == (metric.unit == "s")
        assert ("in bytes" in metric.help) == (metric.unit == "By")


def test_the_documentation_has_the_same_table_of_metrics() -> None:
    # "HELP texts with units from one table shared with the docs"
    rows = [
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if re.match(r"\| (subscription|topic|snapshot) \| `", line)
    ]
    assert [row[:5] for row in rows] == [
        (
            metric.kind,
            f"`{metric.name}`",
            f"`{metric.google}`" if metric.google else "none",
            f"`{metric.unit}`",
            metric.help,
        )
        for metric in METRICS
    ]
    for metric, row in zip(METRICS, rows, strict=True):
        assert ("estimate" in row[5]) == metric.may_be_estimate


@given(st.lists(st.integers(0, 50), min_size=1), st.integers(1, 8))
def test_a_sample_takes_a_part_as_often_as_it_has_messages(counts: list[int], picks: int) -> None:
    places = spread(counts, picks)
    total = sum(counts)
    assert len(places) == (picks if total else 0)
    assert places == sorted(places)
    for place, count in enumerate(counts):
        share = picks * count / total if total else 0
        assert abs(places.count(place) - share) < 1
