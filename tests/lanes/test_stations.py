"""How many modules a call passes from its public method down to the commit of ``deltalake``."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pubsub_delta
from pubsub_delta import PubSub, PulledBatch
from pubsub_delta.tables.lanes.direct import commits, tables

LIBRARY = Path(pubsub_delta.__file__).parent
TOPIC, NAME = "topic", "subscription"


@pytest.fixture
def stations(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The modules that were on the stack when a commit was made, as paths in the library."""
    found: set[str] = set()

    def recording(write: Callable[..., None]) -> Callable[..., None]:
        def write_and_record(*args: Any, **options: Any) -> None:
            for frame in traceback.extract_stack():
                path = Path(frame.filename)
                if path.is_relative_to(LIBRARY):
                    found.add(path.relative_to(LIBRARY).as_posix())
            write(*args, **options)

        return write_and_record

    for module in (commits, tables):
        monkeypatch.setattr(module, "write_deltalake", recording(module.write_deltalake))
    return found


@pytest.fixture
def store(tmp_path: Path) -> PubSub:
    store = PubSub(None, str(tmp_path))
    store.create_topic(TOPIC)
    store.create_subscription(NAME, TOPIC)
    store.publish(TOPIC, ["a", "b"])
    return store


def test_a_publish_of_a_list_passes_few_modules(store: PubSub, stations: set[str]) -> None:
    """Style: "a publish in six"."""
    store.publish(TOPIC, ["c"])
    assert "tables/messages/messages.py" in stations
    assert len(stations) <= 6


def pulled(store: PubSub, stations: set[str]) -> PulledBatch:
    batch = store.pull(NAME)
    assert len(batch) == 2
    assert "operations/pull.py" in stations
    return batch


def test_a_pull_passes_few_modules(store: PubSub, stations: set[str]) -> None:
    pulled(store, stations)
    assert len(stations) <= 8


@pytest.mark.parametrize("answer", [PulledBatch.ack, PulledBatch.nack])
def test_an_answer_to_a_batch_passes_few_modules(
    store: PubSub, stations: set[str], answer: Callable[[PulledBatch], object]
) -> None:
    """Style: "a nack is readable in at most eight short files"."""
    batch = pulled(store, stations)
    stations.clear()
    answer(batch)
    assert "operations/acknowledge.py" in stations
    assert len(stations) <= 8


def test_a_seek_passes_few_modules(store: PubSub, stations: set[str]) -> None:
    store.seek(NAME, time="2020-01-01T00:00:00Z")
    assert "operations/seek.py" in stations
    assert len(stations) <= 8
