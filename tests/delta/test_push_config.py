"""push_config as columns of the registry, also of stores that were created without them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from pubsub_delta import ManualClock, NoWrapper, PubSub, PushConfig
from pubsub_delta.tables.schemas import PUSH_COLUMNS, SUBSCRIPTIONS
from tests.conftest import Bench

URL = "https://example.com/push"
V1 = {"x-goog-version": "v1"}


def test_the_field_is_stored_changed_and_cleared(bench: Bench) -> None:
    topic = bench.topic()
    bare = PushConfig(URL, no_wrapper=NoWrapper(write_metadata=True))
    made = bench.store.create_subscription("pushed", topic, push_config=bare)
    assert made.push_config == PushConfig(URL, V1, NoWrapper(write_metadata=True))
    assert bench.store.get_subscription("pushed") == made
    other = bench.store.update_subscription("pushed", push_config=PushConfig(f"{URL}/2"))
    assert other.push_config == PushConfig(f"{URL}/2", V1)
    pushing = bench.store._tables.registry.push_subscriptions()
    assert [each.push_config for each in pushing if each.name == made.name] == [other.push_config]
    assert bench.store.update_subscription("pushed", push_config=None).push_config is None
    names = [each.name for each in bench.store._tables.registry.push_subscriptions()]
    assert made.name not in names


class Earlier:
    """A store that is older than push: its table of subscriptions has no columns for it."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.spark = spark
        self.table = f"delta.`{root}/subscriptions`"
        self.store = PubSub(spark, root, clock=ManualClock())
        columns = [each for each in SUBSCRIPTIONS.columns if each.name not in PUSH_COLUMNS]
        schema = replace(SUBSCRIPTIONS, columns=StructType(columns))
        self.store._tables._commits.create_table(self.table, schema)
        self.store.create_topic("flights")
        self.store.create_subscription("plain", "flights", labels={"a": "b"})

    @property
    def columns(self) -> set[str]:
        return set(self.spark.table(self.table).columns)

    @property
    def pushing(self) -> list[str]:
        found = self.store._tables.registry.push_subscriptions()
        return sorted(each.name.split("/")[-1] for each in found)


@pytest.fixture
def earlier(spark: SparkSession, tmp_path: Path) -> Earlier:
    return Earlier(spark, f"{tmp_path}/earlier")


@pytest.mark.trial
def test_an_earlier_store_stays_as_it_is_while_nobody_pushes(earlier: Earlier) -> None:
    # "existing stores must stay readable"
    store = earlier.store
    assert store.get_subscription("plain").push_config is None
    assert store.update_subscription("plain", push_config=None).labels == {"a": "b"}
    assert store.update_subscription("plain", ack_deadline_seconds=60).ack_deadline_seconds == 60
    store.publish("flights", ["x"])
    assert store.pull("plain").message_count == 1
    assert earlier.pushing == []
    assert not earlier.columns & set(PUSH_COLUMNS)


@pytest.mark.trial
def test_an_earlier_store_gets_the_columns_with_the_first_push_config(earlier: Earlier) -> None:
    store = earlier.store
    changed = store.update_subscription("plain", push_config=PushConfig(URL))
    assert (changed.push_config, changed.labels) == (PushConfig(URL, V1), {"a": "b"})
    assert earlier.columns >= set(PUSH_COLUMNS)
    assert earlier.pushing == ["plain"]
    store.create_subscription("pulled", "flights")
    store.create_subscription("bare", "flights", push_config=PushConfig(URL, {}, NoWrapper()))
    assert earlier.pushing == ["bare", "plain"]
    assert store.get_subscription("pulled").push_config is None
    assert store.get_subscription("bare").push_config == PushConfig(URL, V1, NoWrapper())
    store.update_subscription("plain", push_config=None)
    assert earlier.pushing == ["bare"]


def test_two_may_set_the_first_push_config_at_a_time(earlier: Earlier) -> None:
    def create(name: str) -> None:
        earlier.store.create_subscription(name, "flights", push_config=PushConfig(URL))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(create, ["one", "two"]))
    assert earlier.pushing == ["one", "two"]
