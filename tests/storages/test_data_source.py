"""``format("pubsub_delta")`` on S3, in the processes of its tasks: needs no Java."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from pubsub_delta import PubSub, Unavailable
from pubsub_delta.clock import SystemClock
from pubsub_delta.datasource import options, writing
from pubsub_delta.datasource.options import read_options
from pubsub_delta.datasource.source import PubSubDataSource
from tests.storages.conftest import s3a
from tests.storages.servers import Storage

pytestmark = [pytest.mark.storages, pytest.mark.timeout(600)]


@pytest.fixture
def given(s3: Storage, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Name the store and its server by options alone."""
    settings = {"root": f"{s3.root}/{uuid.uuid4().hex}", **s3a(s3.proxy.endpoint)}
    with monkeypatch.context() as environment:
        for name, value in s3.environment.items():
            environment.setenv(name, value)
        store = PubSub(None, settings["root"])
        store.create_topic("flights")
        store.create_subscription("delays", "flights", ack_deadline_seconds=600)
        store.publish("flights", ["a", "b"])
    yield settings
    options._opened.cache_clear()


def source(**given: str) -> PubSubDataSource:
    return PubSubDataSource(given)


def read(reader: Any, parts: Any) -> list[bytes]:
    sent = pickle.loads(pickle.dumps((reader, parts)))
    return [row["data"] for part in sent[1] for b in sent[0].read(part) for row in b.to_pylist()]


def test_a_topic_and_a_subscription_are_read(given: dict[str, str]) -> None:
    of_topic = source(**given, topic="flights")
    reader = of_topic.reader(of_topic.schema())
    assert read(reader, reader.partitions()) == [b"a", b"b"]
    stream = source(**given, subscription="delays")
    consumer = stream.streamReader(stream.schema())
    start = consumer.initialOffset()
    end = consumer.latestOffset(start, consumer.getDefaultReadLimit())
    parts = consumer.partitions(start, end)
    assert read(stream.streamReader(stream.schema()), parts) == [b"a", b"b"]
    assert consumer.latestOffset(end, consumer.getDefaultReadLimit()) == end
    consumer.stop()


def test_a_dataframe_is_published_beside_the_direct_lane(given: dict[str, str]) -> None:
    """Its commit is one of the direct lane's, a conditional put, unlike that of Spark's lane."""
    wanted = read_options({**given, "topic": "flights"})
    tables, topic = wanted.tables(), wanted.topic
    assert topic is not None
    reservation = writing.reserve(tables, topic, SystemClock().now())
    rows = [pa.record_batch({"data": pa.array(["c"])})]
    file = writing.write_messages(tables, reservation, 0, rows)
    assert file is not None
    assert writing.commit(tables, reservation, [file], ("query", 0))
    assert not writing.commit(tables, reservation, [file], ("query", 0))
    reader = source(**given, topic="flights")
    found = reader.reader(reader.schema())
    assert sorted(read(found, found.partitions())) == [b"a", b"b", b"c"]


def test_an_endpoint_that_is_not_there_is_told(given: dict[str, str]) -> None:
    """With where they come from."""
    nowhere = {**given, "fs.s3a.endpoint": "http://127.0.0.1:9"}
    stream = source(**nowhere, subscription="delays")
    consumer = stream.streamReader(stream.schema())
    with pytest.raises(Unavailable, match=r"cannot be reached .*AWS_.*fs\.s3a\.access\.key"):
        consumer.initialOffset()
