"""Sessions of Spark that run no more: they were stopped, or their JVM has ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pubsub_delta.errors import FailedPrecondition

_JVM_LOST = {
    "BrokenPipeError",
    "ConnectionRefusedError",
    "ConnectionResetError",
    "Py4JNetworkError",
}
"""Errors of Py4J's connection to the JVM; what a storage refuses to the JVM is an error of Java."""
_NO_ANSWER = re.compile(r"An error occurred while calling \S+")
"""All that a ``Py4JError`` says of a call during which the JVM has ended."""

_NO_SCHEMA = "CANNOT_PARSE_DATATYPE"
"""What PySpark makes of any error while it asks for the schema of a DataFrame."""


class SessionEnded(FailedPrecondition):
    """The session was stopped, or its JVM has ended."""


@contextmanager
def telling_of_a_lost_jvm(what: str) -> Iterator[None]:
    """Raise SessionEnded if the JVM turns out to be gone; ``what`` was to be read or started.

    A commit that the JVM was making may have landed.
    """
    try:
        yield
    except Exception as error:
        if not _is_jvm_lost(error):
            raise
        raise SessionEnded(
            f"{what}: the JVM of the Spark session has ended, as one does that is killed or has no "
            "memory left; end this program and start it anew, as pyspark starts no second JVM in "
            "it; what needs no Spark goes on by PubSub(None, root)"
        ) from error


def _is_jvm_lost(error: BaseException) -> bool:
    # by name: there are Sparks without Py4J, and programs without Spark
    kind, why = type(error).__name__, error.__context__
    if kind == "PySparkValueError" and _NO_SCHEMA in str(error) and why is not None:
        return _is_jvm_lost(why)
    unanswered = kind == "Py4JError" and _NO_ANSWER.fullmatch(str(error)) is not None
    return unanswered or kind in _JVM_LOST
