"""Spark's own append and MERGE of small tables on S3: what the object store section is beside."""

from __future__ import annotations

import uuid
from functools import cache

import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.measuring import Section
from pubsub_delta import local_session
from pubsub_delta.session import DELTA_PACKAGE
from tests.servers import hadoop_version
from tests.storages.servers import Storage

APPEND, MERGE = "Spark's append of 100 rows", "Spark's MERGE of one row"


def time_floor(section: Section, storage: Storage, delay: int, rounds: int) -> None:
    """Time an append of a file and a MERGE of a row."""
    spark = _session()
    table = f"{storage.root}/floor-{uuid.uuid4().hex}"
    rows = pa.table({"position": range(100), "data": pa.array([b"x" * 64] * 100, pa.binary())})
    frame = spark.createDataFrame(rows).coalesce(1)
    changed = spark.createDataFrame(rows.slice(0, 1)).coalesce(1)
    changed.createOrReplaceTempView("changed")

    def append() -> None:
        frame.write.format("delta").mode("append").save(table)

    def merge() -> None:
        spark.sql(
            f"MERGE INTO delta.`{table}-one` AS old USING changed AS new "
            "ON old.position = new.position WHEN MATCHED THEN UPDATE SET *"
        )

    changed.write.format("delta").save(f"{table}-one")
    for turn in range(rounds + 1):
        section.time(f"{delay} ms: {APPEND}", append, keep=turn > 0)
        section.time(f"{delay} ms: {MERGE}", merge, keep=turn > 0)


@cache
def _session() -> SparkSession:
    """Return a session that takes the server of S3 from the environment."""
    packages = f"{DELTA_PACKAGE},org.apache.hadoop:hadoop-aws:{hadoop_version()}"
    settings = {"spark.jars.packages": packages}
    return local_session(master="local[2]", driver_memory="2g", settings=settings)
