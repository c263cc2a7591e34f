"""A storage that nobody can connect to, by Spark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import PubSub, Unavailable

AWAY = "hdfs://localhost:1/pubsub"
"""No process listens on that port."""


@pytest.mark.parametrize(
    "call",
    [
        lambda store: list(store.list_topics()),
        lambda store: store.create_topic("orders"),
    ],
    ids=["list", "create"],
)
def test_a_storage_that_nobody_can_connect_to_is_unavailable(
    spark: SparkSession, call: Callable[[PubSub], object]
) -> None:
    """Unavailable: the storage cannot be reached; a later try can succeed."""
    store = PubSub(spark, AWAY, lane="spark")
    with pytest.raises(Unavailable, match=r"cannot be reached, .*ConnectException"):
        call(store)
