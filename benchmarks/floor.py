"""What the store is measured against: the least that could work, and the obvious design."""

from __future__ import annotations

import time

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

COLUMNS = ("publish_time", "data", "attributes", "ordering_key")


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
        spark.sql(
            f"CREATE TABLE delta.`{self.alike}` (publish_date DATE, publish_time TIMESTAMP, "
            "data BINARY, attributes MAP<STRING, STRING>, ordering_key STRING) USING DELTA "
            "PARTITIONED BY (publish_date) TBLPROPERTIES ('delta.enableRowTracking' = 'true', "
            "'delta.enableInCommitTimestamps' = 'true', 'delta.enableDeletionVectors' = 'true', "
            "'delta.dataSkippingStatsColumns' = 'publish_time')"
        )
        spark.sql(f"CREATE TABLE {self.ten_rows} (id BIGINT, value BIGINT) USING DELTA")
        spark.sql(f"INSERT INTO {self.ten_rows} SELECT id, 0 FROM range(10)")

    def append(self, payloads: DataFrame) -> None:
        """Append to a table of the same columns without partitions or properties."""
        self._stamped(payloads).write.format("delta").mode("append").save(self.plain)

    def append_alike(self, payloads: DataFrame) -> None:
        """Append to a table laid out like a topic: partitioned by day, with row tracking."""
        self._stamped(payloads).write.format("delta").mode("append").save(self.alike)

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
