"""What Spark asks of the stream reader of ``format("pubsub_delta")``, on real tables without it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark.sql.streaming.datasource")

from pubsub_delta import PubSub
from pubsub_delta.datasource.columns import columns_of
from pubsub_delta.datasource.options import read_options
from pubsub_delta.datasource.stream_reader import SubscriptionStreamReader

TOPIC, NAME = "flights", "delays"


class Query:
    """A stream reader, and the micro-batches that Spark makes by it."""

    def __init__(self, root: str, **limits: str) -> None:
        options = read_options({"root": root, "subscription": NAME, **limits})
        self.reader = SubscriptionStreamReader(options, columns_of(options))
        self.offset = self.reader.initialOffset()

    def run(self) -> list[bytes]:
        """Run a micro-batch; return the data of its messages."""
        begun, limit = self.offset, self.reader.getDefaultReadLimit()
        self.offset = self.reader.latestOffset(begun, limit)
        return [
            row["data"]
            for part in self.reader.partitions(begun, self.offset)
            for rows in self.reader.read(part)
            for row in rows.to_pylist()
        ]


@pytest.fixture
def root(tmp_path: Path) -> str:
    made = str(tmp_path / "store")
    store = PubSub(None, made)
    store.create_topic(TOPIC)
    store.create_subscription(NAME, TOPIC)
    store.publish(TOPIC, [b"a", b"b", b"c", b"d"])
    return made


@pytest.fixture
def begin(root: str) -> Iterator[Any]:
    begun: list[Query] = []

    def query(**limits: str) -> Query:
        begun.append(Query(root, **limits))
        return begun[-1]

    yield query
    for each in begun:
        each.reader.stop()


@pytest.mark.parametrize(
    ("limits", "count"),
    [
        ({}, 4),
        ({"maxMessagesPerTrigger": "3"}, 3),
        ({"maxBytesPerTrigger": "1"}, 1),
        ({"maxBytesPerTrigger": "1g"}, 4),
        ({"maxMessagesPerTrigger": "3", "maxBytesPerTrigger": "1"}, 1),
        ({"maxMessagesPerTrigger": "3", "maxBytesPerTrigger": "1g"}, 3),
    ],
)
def test_the_smallest_of_the_limits_counts(begin: Any, limits: dict[str, str], count: int) -> None:
    """A micro-batch has at least one message, however small its limit of bytes is."""
    assert begin(**limits).run() == [b"a", b"b", b"c", b"d"][:count]


def test_a_stream_that_is_stopped_extends_its_leases_no_more(begin: Any) -> None:
    """Its messages go to other consumers at their deadline, though the process lives on."""

    def extending() -> list[str]:
        return [each.name for each in threading.enumerate() if NAME in each.name]

    query = begin(maxMessagesPerTrigger="3")
    assert query.run() == [b"a", b"b", b"c"]
    assert len(extending()) == 1
    query.reader.stop()
    assert extending() == []
