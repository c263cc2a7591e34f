"""What the installed Spark and Delta are: ``make spark-pairs-test`` runs it with several pairs."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pubsub_delta import PubSub
from pubsub_delta.session import is_remote

LINE = tuple(map(int, pyspark.__version__.split(".")[:2]))


def test_a_local_session_has_the_jars_of_the_installed_pair(spark: SparkSession) -> None:
    # "The JARs are named by the line of Spark. `local_session()` takes the right one"
    assert spark.version == pyspark.__version__
    line = ".".join(map(str, LINE))
    packages = spark.conf.get("spark.jars.packages")
    assert packages == f"io.delta:delta-spark_{line}_2.13:{version('delta-spark')}"


def test_the_format_works_or_tells_which_spark_it_needs(
    spark: SparkSession, tmp_path: Path
) -> None:
    # "`format("pubsub_delta")` needs Spark 4.2 …; in older ones it refuses"
    if is_remote(spark):
        pytest.skip("the files are where the server looks for them")
    root = str(tmp_path / "store")
    PubSub(None, root).create_topic("flights")
    rows = spark.range(3).selectExpr("string(id) AS data")
    writer = rows.write.format("pubsub_delta").option("topic", "flights").mode("append")
    if LINE >= (4, 2):
        writer.save(root)
        assert PubSub(spark, root).read_topic("flights").count() == 3
        return
    with pytest.raises(PySparkException, match=r"needs Spark 4\.2, and this is .*publish work"):
        writer.save(root)
