"""Errors of Spark that say nothing of what has happened, by their texts."""

from __future__ import annotations

import pytest

from pubsub_delta import FailedPrecondition
from pubsub_delta.tables.lanes.spark.errors import translating_errors

INTERNAL = (
    "An error occurred while calling o70.sql.\n: org.apache.spark.SparkException: [INTERNAL_ERROR] "
)


@pytest.mark.parametrize(
    "text",
    [
        f"{INTERNAL}No active or default Spark session found SQLSTATE: XX000",
        f"{INTERNAL}Executed command failed. You hit a bug in Spark or the Spark plugins you use.\n"
        "Caused by: java.lang.NullPointerException: Cannot invoke "
        '"org.apache.spark.scheduler.DAGScheduler.cleanupQueryJobs(long)" because the return value '
        'of "org.apache.spark.SparkContext.dagScheduler()" is null',
        "java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.",
        "java.lang.NullPointerException: Cannot invoke "
        '"org.apache.spark.api.java.JavaSparkContext.sc()" because "jsc" is null',
    ],
    ids=["none runs", "another one runs", "in between", "before a query starts"],
)
@pytest.mark.parametrize("of_others", [False, True])
def test_a_session_that_was_stopped_is_told(text: str, *, of_others: bool) -> None:
    """Spark told of a bug in Spark, also where a new session was there by then."""
    with (
        pytest.raises(FailedPrecondition, match=r"/topics`: the Spark session .* been stopped"),
        translating_errors("delta.`/data/topics`", of_others=of_others),
    ):
        raise RuntimeError(text)
