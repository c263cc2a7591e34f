"""One Spark session for the whole run, and stores to try things in."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import ManualClock, PubSub, Subscription, Topic, local_session

REPOSITORY = Path(__file__).resolve().parent.parent
QUIET = f"-Dlog4j2.configurationFile={(REPOSITORY / 'conf/log4j2.properties').as_uri()}"

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = local_session(
        app_name="tests",
        master="local[2]",
        driver_memory="3g",
        settings={
            "spark.driver.extraJavaOptions": QUIET,
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.sql.session.timeZone": "America/New_York",
            # Plans here are tiny, and there are thousands of them.
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.shuffle.partitions": "1",
        },
    )
    yield session
    session.stop()


class Bench:
    """A store under a manual clock, with a fresh topic and subscription for each test."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.spark = spark
        self.root = root
        self.clock = ManualClock()
        self.store = PubSub(spark, root, clock=self.clock)
        self._made = 0

    def topic(self) -> str:
        """Create a topic and return its id."""
        self._made += 1
        name = f"topic-{self._made}"
        self.store.create_topic(name)
        return name

    def subscription(self, topic: str, **fields: object) -> str:
        """Create a subscription to a topic and return its id."""
        self._made += 1
        name = f"subscription-{self._made}"
        self.store.create_subscription(name, topic, **fields)  # type: ignore[arg-type]
        return name

    def pair(self, **fields: object) -> tuple[str, str]:
        """Create a topic with one subscription and return both ids."""
        topic = self.topic()
        return topic, self.subscription(topic, **fields)

    def another(self) -> PubSub:
        """Open the same store once more, as another process would."""
        return PubSub(self.spark, self.root, clock=self.clock)

    def messages_table(self, topic: str) -> str:
        """Return a topic's table as it is named in SQL."""
        found: Topic = self.store.get_topic(topic)
        return f"delta.`{self.root}/messages/{found.uid}`"

    def ack_state_table(self, subscription: str) -> str:
        """Return a subscription's ack state as it is named in SQL."""
        found: Subscription = self.store.get_subscription(subscription)
        return f"delta.`{self.root}/ack_state/{found.uid}`"

    def commits(self, table: str) -> int:
        """Return how many commits a table has had."""
        return self.spark.sql(f"DESCRIBE HISTORY {table}").count()


@pytest.fixture(scope="module")
def bench(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(spark, str(tmp_path_factory.mktemp("store")))
