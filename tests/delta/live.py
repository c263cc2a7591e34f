"""A store for ``format("pubsub_delta")``, which lives in Python processes of Spark's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from pubsub_delta import PubSub

FORMAT = "pubsub_delta"
TOPIC, NAME = "flights", "delays"


class Live:
    """A store of the direct lane by the machine's clock, with a topic and a subscription."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark = spark
        self.root = str(root / "store")
        self.at = root
        self.store = PubSub(None, self.root)
        self.store.create_topic(TOPIC)
        self.store.create_subscription(NAME, TOPIC)

    def publish(self, *data: str) -> None:
        self.store.publish(TOPIC, list(data))

    def read(self, schema: str | None = None, **options: str) -> DataFrame:
        reader = self.spark.read.format(FORMAT).options(root=self.root, **options)
        return (reader if schema is None else reader.schema(schema)).load()

    def stream(self, schema: str | None = None, **options: str) -> DataFrame:
        reader = self.spark.readStream.format(FORMAT)
        reader = reader.options(**{"root": self.root, "subscription": NAME, **options})
        return (reader if schema is None else reader.schema(schema)).load()

    def consume(
        self,
        process: Callable[[DataFrame, int], None],
        **options: str,
    ) -> StreamingQuery:
        """Start a query that calls a function; the checkpoint is always the same one."""
        writer = self.stream(**options).writeStream.foreachBatch(process)
        writer = writer.option("checkpointLocation", str(self.at / "checkpoint"))
        return writer.trigger(availableNow=True).start()

    @property
    def undelivered(self) -> int:
        return int(self.store.metrics(NAME)["num_undelivered_messages"])


def texts(df: DataFrame) -> list[str]:
    rows = df.select("message_id", F.col("data").cast("string").alias("data")).collect()
    return [row["data"] for row in sorted(rows, key=lambda row: int(row["message_id"]))]
