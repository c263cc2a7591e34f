"""What is flat and what grows, and the picture of it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pubsub_delta import PubSub
from tests.endurance import library
from tests.endurance.picture import draw
from tests.endurance.run import SAMPLE, Soak
from tests.endurance.series import judge, percentiles, slope, table
from tests.journal import Journal

HOURS = [n / 100 for n in range(100)]


def test_what_grows_at_first_and_then_stays_is_flat() -> None:
    points = [(x, min(100.0, 300 * x)) for x in HOURS]
    assert judge("memory", "MB", points, 0.1, 1).flat


@pytest.mark.parametrize(("a_hour", "flat"), [(3, True), (40, False), (-40, True)])
def test_what_grows_all_the_time_is_not(a_hour: float, flat: bool) -> None:
    verdict = judge("memory", "MB", [(x, 100 + a_hour * x) for x in HOURS], 0.1, 1)
    assert verdict.flat is flat
    assert verdict.a_hour == pytest.approx(a_hour)
    assert ("**no**" in table([verdict])) is not flat


def test_growth_that_is_small_counts_for_nothing() -> None:
    assert judge("files", "", [(x, 10 + 10 * x) for x in HOURS], 0.1, 16).flat


def test_a_single_point_has_no_slope() -> None:
    assert slope([(1, 5)]) == 0


def test_percentiles_are_those_of_each_window() -> None:
    entries = [(0.1 * n, float(n % 100)) for n in range(200)]
    found = percentiles(entries, 10.0)
    assert found["p50"] == [(5 / 3600, 50.0), (15 / 3600, 50.0)]
    assert [y for _, y in found["p99"]] == [99.0, 99.0]


def test_the_picture_has_each_line_and_each_kill(tmp_path: Path) -> None:
    soak = {
        "hours": 1.0,
        "kills": [0.5],
        "panels": [{"title": "Memory, MB", "lines": [{"name": "a", "points": [[0, 1], [1, 2]]}]}],
    }
    for kind in ("light", "dark"):
        drawn = draw(soak, kind)
        ET.fromstring(drawn)
        assert drawn.count("stroke-dasharray") == 1
        assert "L490.0" in drawn


def test_messages_that_were_confirmed_and_never_came_are_lost(tmp_path: Path) -> None:
    root = tmp_path / "store"
    library.prepare(str(root))
    store = PubSub(None, str(root))
    store.publish(library.TOPIC, ["a", "b"])
    store.pull(library.SUBSCRIPTION, 1).ack()
    Journal(tmp_path / "steady@0.jsonl").write(published=["a", "b", "c"], acked=["a"])
    assert SAMPLE > 0
    assert list(Soak(tmp_path, 1, 1)._lost().values()) == [1]
