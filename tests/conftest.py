"""One Spark session for the whole run, and stores to try things in."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
            "spark.driver.extraJavaOptions": f"{QUIET} -Dspark.testing=true",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.sql.session.timeZone": "America/New_York",
            # Plans here are tiny, and there are thousands of them.
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.shuffle.partitions": "1",
            # Spark takes this in a JVM for testing only. Generating the code of projections is a
            # quarter of all that such plans cost.
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            # What such a JVM would check of Spark and Delta besides.
            "spark.sql.planChangeValidation": "false",
            "spark.sql.lightweightPlanChangeValidation": "false",
            "spark.databricks.delta.incremental.commit.forceVerifyInTests": "false",
            # Else each commit of a session that is not in UTC reads the table's state once more.
            "spark.databricks.delta.allFilesInCrc.verificationMode.forceOnNonUTC.enabled": "false",
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

    def unused(self, kind: str) -> str:
        """Return an id that no resource has."""
        self._made += 1
        return f"{kind}-{self._made}"

    def topic(self) -> str:
        """Create a topic and return its id."""
        name = self.unused("topic")
        self.store.create_topic(name)
        return name

    def subscription(self, topic: str, **fields: Any) -> str:
        """Create a subscription to a topic and return its id."""
        name = self.unused("subscription")
        self.store.create_subscription(name, topic, **fields)
        return name

    def pair(self, **fields: Any) -> tuple[str, str]:
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


def states(bench: Bench, subscription: str) -> dict[bytes, str]:
    """Return the state of every message in a backlog, by its data."""
    rows = bench.store.backlog(subscription).select("data", "state").collect()
    return {bytes(row["data"]): row["state"] for row in rows}


@pytest.fixture(scope="module")
def bench(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(spark, str(tmp_path_factory.mktemp("store")))
