"""What is told where the JVM of a session has ended, by the errors with which Py4J tells it."""

from __future__ import annotations

import pytest

from pubsub_delta.session_end import SessionEnded
from pubsub_delta.tables.lanes.spark.errors import translating_errors


class Py4JError(Exception):
    """As Py4J raises it: with a text alone."""


class Py4JNetworkError(Py4JError):
    """As Py4J raises it."""


class Py4JJavaError(Py4JError):
    """As Py4J raises it: an error of Java, with its text."""


class PySparkValueError(ValueError):
    """As PySpark raises it, where it asks for the schema of a DataFrame."""


def without_schema(why: Exception) -> Exception:
    try:
        try:
            raise why
        except Exception:
            raise PySparkValueError("[CANNOT_PARSE_DATATYPE] Unable to parse datatype.")  # noqa: B904
    except PySparkValueError as error:
        return error


LOST = [
    ConnectionRefusedError(111, "Connection refused"),
    ConnectionResetError(104, "Connection reset by peer"),
    BrokenPipeError(32, "Broken pipe"),
    Py4JNetworkError("Answer from Java side is empty"),
    Py4JError("An error occurred while calling o70.sql"),
    without_schema(ConnectionRefusedError(111, "Connection refused")),
]


@pytest.mark.parametrize("error", LOST, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("of_others", [False, True])
def test_a_jvm_that_has_ended_is_told(error: Exception, *, of_others: bool) -> None:
    """docs/guarantees.md: errors are of documented classes, and tell what to do."""
    told = "topics`: the JVM of the Spark session has ended, .* end this program"
    with (
        pytest.raises(SessionEnded, match=told),
        translating_errors("delta.`/data/topics`", of_others=of_others),
    ):
        raise error


@pytest.mark.parametrize(
    "error",
    [
        Py4JError("An error occurred while calling o70.sql. Trace: java.lang.NoSuchMethodError"),
        Py4JJavaError("An error occurred while calling o70.sql.\n: java.lang.ArithmeticException"),
        Py4JJavaError("An error occurred while calling o70.sql"),
        EOFError(),
        without_schema(ValueError("no type")),
    ],
    ids=lambda each: type(each).__name__,
)
def test_another_error_is_not_told_as_that(error: Exception) -> None:
    with pytest.raises(type(error)), translating_errors("delta.`/data/topics`", of_others=True):
        raise error
