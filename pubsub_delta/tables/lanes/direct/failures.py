"""What ``deltalake`` and ``pyarrow`` raise, in the words of the protocol and of this library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from deltalake.exceptions import (
    CommitFailedError,
    DeltaError,
    DeltaProtocolError,
    TableNotFoundError,
)

from pubsub_delta.errors import FailedPrecondition, PubSubError
from pubsub_delta.tables.lanes.damage import wrong_with
from pubsub_delta.tables.lanes.protocol import Conflict, TableMissing

FAILURES = (CommitFailedError, DeltaError, OSError)
"""What work that may be left for later fails with."""

_LOST_RACE = re.compile(
    r"Failed to commit transaction|existing table version|[Cc]oncurrent transaction|must be rerun"
)
_NO_TABLE = re.compile(
    r"Path does not exist|[Nn]ot a [Dd]elta table|No files in log segment|no log files"
)


@contextmanager
def telling(table: str) -> Iterator[None]:
    """Raise what ``deltalake`` says of a table as Conflict, as TableMissing, or as what is wrong.

    What is none of these is raised as it is: a commit may have landed then.
    """
    try:
        yield
    except (PubSubError, Conflict, TableMissing):
        raise
    except Exception as error:
        told = _translated(error, table)
        if told is None:
            raise
        raise told from error


def _translated(error: Exception, table: str) -> Exception | None:
    text = str(error)
    first = text.splitlines()[0] if text else type(error).__name__
    if isinstance(error, CommitFailedError) and _LOST_RACE.search(text):
        return Conflict(f"{table}: {first}")
    if isinstance(error, TableNotFoundError):
        if "Unknown scheme" in text:
            return FailedPrecondition(f"{table}: deltalake knows no such storage ({first})")
        if "Permission denied" not in text and "os error 13" not in text:
            return TableMissing(table)
    if isinstance(error, DeltaError) and _NO_TABLE.search(text):
        return TableMissing(table)
    damage = wrong_with(table, error)
    if damage is None and isinstance(error, DeltaProtocolError):
        return FailedPrecondition(f"{table}: it takes Spark to read or write it ({first})")
    return damage
