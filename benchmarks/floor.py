"""What the store is measured against: the least that could work, and the obvious design."""

from __future__ import annotations

import time

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pubsub_delta.tables.schemas import MESSAGES

COLUMNS = ("publish_time", "data", "attributes", "ordering_key")
_WRITE_OPTIONS = {"optimizeWrite": "false", "parquet.writer.version": "v2"}
"""How a topic is written, too."""


def read_all(frame: DataFrame) -> None:
    """Read every row and column, and throw them away."""
    frame.write.format("noop").mode("overwrite").save()


def make_payloads(spark: SparkSession, path: str, count: int) -> DataFrame:
    """Write payloads of 48 bytes with one attribute once, so that all writers read the same."""
    payload = F.concat(F.lit("payload-"), F.lpad(F.col("id").cast("string"), 40, "0"))
    spark.range(count, numPartitions=2).select(
        payload.cast("binary").alias("data"),
        F.create_map(F.lit("k"), F.concat(F.lit("v"), (F.col("id") % 10).cast("string"))).alias(
            "attributes"
        ),
        F.lit(None).cast("string").alias("ordering_key"),
    ).write.mode("overwrite").parquet(path)
    return spark.read.parquet(path)


class Floor:
    """Plain Delta: an append, a scan, a MERGE on ten rows."""

    def __init__(self, spark: SparkSession, directory: str) -> None:
        self.spark = spark
        self.plain = f"{directory}/plain"
        self.alike = f"{directory}/plain_alike"
        self.ten_rows = f"delta.`{directory}/ten_rows`"
        self._appended = 0
        properties = ", ".join(f"'{key}' = '{value}'" for key, value in MESSAGES.properties.items())
        spark.sql(
            f"CREATE TABLE delta.`{self.alike}` (position BIGINT, publish_date DATE, "
            "publish_time TIMESTAMP_LTZ, ordering_key STRING, attributes MAP<STRING, STRING>, "
            f"data BINARY) USING DELTA PARTITIONED BY (publish_date) TBLPROPERTIES ({properties})"
        )
        spark.sql(f"CREATE TABLE {self.ten_rows} (id BIGINT, value BIGINT) USING DELTA")
        spark.sql(f"INSERT INTO {self.ten_rows} SELECT id, 0 FROM range(10)")

    def append(self, payloads: DataFrame) -> None:
        """Append to a table of a message's columns without partitions or properties."""
        self._stamped(payloads).write.format("delta").mode("append").save(self.plain)

    def append_alike(self, payloads: DataFrame) -> None:
        """Append to a table laid out like a topic: positions, days, properties and v2 pages."""
        position = F.lit(self._appended) + F.monotonically_increasing_id()
        rows = self._stamped(payloads).select(position.alias("position"), "*")
        rows.writeTo(f"delta.`{self.alike}`").options(**_WRITE_OPTIONS).append()

    def append_few(self, messages: list[bytes]) -> None:
        """Append messages given one by one as one file to the table laid out like a topic."""
        rows = pa.table(
            {
                "data": pa.array(messages, pa.binary()),
                "attributes": pa.array([[]] * len(messages), pa.map_(pa.string(), pa.string())),
                "ordering_key": pa.array([None] * len(messages), pa.string()),
            }
        )
        self.append_alike(self.spark.createDataFrame(rows).coalesce(1))
        self._appended += len(messages)

    def read_last(self, count: int) -> None:
        """Read so many rows that were appended last into this process."""
        rows = self.spark.read.format("delta").load(self.alike)
        last = rows.where(F.col("position") >= self._appended - count).select(*COLUMNS)
        assert last.toArrow().num_rows == count

    def _stamped(self, payloads: DataFrame) -> DataFrame:
        now = F.timestamp_micros(F.lit(time.time_ns() // 1000))
        return payloads.select(
            F.to_date(now).alias("publish_date"), now.alias("publish_time"), *payloads.columns
        )

    def scan(self) -> None:
        read_all(self.spark.read.format("delta").load(self.plain).select(*COLUMNS))

    def merge(self) -> None:
        self.spark.sql(
            f"MERGE INTO {self.ten_rows} AS old "
            "USING (SELECT id, id AS value FROM range(10)) AS new ON old.id = new.id "
            "WHEN MATCHED THEN UPDATE SET old.value = old.value + new.value"
        ).collect()

    def merge_twice(self) -> None:
        self.merge()
        self.merge()


class RowPerMessageQueue:
    """The obvious design: a text id, and a row for each message to lease and ack by MERGE."""

    def __init__(self, spark: SparkSession, directory: str, payloads: DataFrame) -> None:
        self.spark = spark
        self.log = f"delta.`{directory}/row_per_message_log`"
        self.state = f"delta.`{directory}/row_per_message_state`"
        stored = payloads.select(
            F.expr("uuid()").alias("message_id"),
            F.timestamp_micros(F.lit(time.time_ns() // 1000)).alias("publish_time"),
            *payloads.columns,
        )
        stored.write.format("delta").save(f"{directory}/row_per_message_log")
        spark.sql(
            f"CREATE TABLE {self.state} "
            "(message_id STRING, lease STRING, until TIMESTAMP, acked BOOLEAN) USING DELTA"
        )

    def drain(self) -> None:
        self._pull()
        self._read()
        self._ack()

    def _pull(self) -> None:
        """Lease every message that nobody has leased or acknowledged."""
        self.spark.sql(
            f"MERGE INTO {self.state} AS old USING (SELECT message_id FROM {self.log}) AS new "
            "ON old.message_id = new.message_id "
            "WHEN NOT MATCHED THEN INSERT (message_id, lease, until, acked) "
            "VALUES (new.message_id, 'lease-1', TIMESTAMP'2100-01-01 00:00:00', false)"
        ).collect()

    def _read(self) -> None:
        """Read the messages of the lease."""
        columns = ", ".join(COLUMNS)
        leased = f"SELECT message_id FROM {self.state} WHERE lease = 'lease-1' AND NOT acked"
        read_all(
            self.spark.sql(
                f"SELECT {columns} FROM {self.log} LEFT SEMI JOIN ({leased}) USING (message_id)"
            )
        )

    def _ack(self) -> None:
        """Acknowledge the ids of the lease."""
        ids = f"SELECT message_id FROM {self.log}"
        self.spark.sql(
            f"MERGE INTO {self.state} AS old USING ({ids}) AS new "
            "ON old.message_id = new.message_id AND old.lease = 'lease-1' "
            "WHEN MATCHED THEN UPDATE SET old.acked = true"
        ).collect()
