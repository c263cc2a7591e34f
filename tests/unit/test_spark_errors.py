"""Errors of Spark that say nothing of what has happened, by their texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pubsub_delta import FailedPrecondition
from pubsub_delta.operations.publish import check_messages
from pubsub_delta.tables.lanes.spark.errors import translating_errors
from tests.unit.in_memory import NAME, TOPIC, InMemory

INTERNAL = (
    "An error occurred while calling o70.sql.\n: org.apache.spark.SparkException: [INTERNAL_ERROR] "
)
HANDLE = "The handle 08678829-0628-40d6-b9ec-3a157bc76c70 is invalid. Session was closed."


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
        "[NO_ACTIVE_SESSION] No active Spark session found. Please create a new Spark session "
        "before running the code.",
        f"(org.apache.spark.SparkSQLException) [INVALID_HANDLE.SESSION_CLOSED] {HANDLE}",
        f"(org.apache.spark.SparkSQLException) [INVALID_HANDLE.SESSION_CHANGED] {HANDLE}",
        f"(org.apache.spark.SparkSQLException) [INVALID_HANDLE.SESSION_NOT_FOUND] {HANDLE}",
        "Received incorrect server side session identifier for request. Please create a new Spark "
        "Session to reconnect. (0867 != 7be7)",
    ],
    ids=[
        "none runs",
        "another one runs",
        "in between",
        "before a query starts",
        *(f"by Spark Connect, {how}" for how in ("stopped", "closed", "changed", "gone", "new")),
    ],
)
@pytest.mark.parametrize("of_others", [False, True])
def test_a_session_that_was_stopped_is_told(text: str, *, of_others: bool) -> None:
    """Spark told of a bug in Spark, also where a new session was there by then."""
    with (
        pytest.raises(FailedPrecondition, match=r"/topics`: the Spark session .* been stopped"),
        translating_errors("delta.`/data/topics`", of_others=of_others),
    ):
        raise RuntimeError(text)


def _closed(_: object) -> object:
    raise RuntimeError("[NO_ACTIVE_SESSION] No active Spark session found.")


_ASKS = dict.fromkeys(("schema", "columns", "isStreaming"), property(_closed))
OfClosedSession = type("DataFrame", (), {"sparkSession": None, **_ASKS})
"""A DataFrame of Spark Connect, whose session was closed: each of these is a question to it."""


@pytest.mark.parametrize("verb", ["publish", "acknowledge", "check"])
def test_a_dataframe_of_a_session_that_was_closed_is_told(verb: str) -> None:
    store, frame = InMemory().store, OfClosedSession()
    calls: dict[str, Callable[[Any], object]] = {
        "publish": lambda rows: store.publish(TOPIC, rows),
        "acknowledge": lambda rows: store.acknowledge(NAME, rows),
        "check": lambda rows: check_messages(store.tables, None, rows),
    }
    with pytest.raises(FailedPrecondition, match=r"the Spark session .* of the DataFrame, has"):
        calls[verb](frame)
