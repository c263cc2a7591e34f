"""Translates errors of ``deltalake`` and ``pyarrow`` into those of a lane and of this library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from deltalake.exceptions import (
    CommitFailedError,
    DeltaError,
    DeltaProtocolError,
    SchemaMismatchError,
    TableNotFoundError,
)

from pubsub_delta.errors import FailedPrecondition, PubSubError, Unavailable, first_line
from pubsub_delta.tables.lanes.direct.forks import check_not_forked, refusal_of_panic
from pubsub_delta.tables.lanes.protocol import Conflict, TableMissing
from pubsub_delta.tables.lanes.storage_errors import (
    StorageRefused,
    forbidden,
    translate_error_of,
)

FAILURES = (CommitFailedError, DeltaError, OSError)
"""The errors of maintenance that the next run can repair."""

_LOST_RACE = re.compile(
    r"Failed to commit transaction|existing table version|[Cc]oncurrent transaction|must be rerun"
)
_FEATURES = re.compile(
    r"Unsupported table features|Feature '\S+' is not supported|catalog-managed table"
)
"""Table features that ``deltalake`` does not write, or does not read."""
_FORBIDDEN = re.compile(r"table is append-only|rows failed validation check")
_NO_TABLE = re.compile(
    r"Path does not exist|[Nn]ot a [Dd]elta table|No files in log segment|no log files"
)


@contextmanager
def translating_errors(table: str) -> Iterator[None]:
    """Raise errors of ``deltalake`` as Conflict, TableMissing, DataLoss or Unavailable.

    StorageRefused where the storage refuses the request; FailedPrecondition where only Spark can
    open the table, or this process was forked from one that had opened tables. Any other error is
    raised as it is. A commit may have landed then, and where it is Unavailable.
    """
    check_not_forked()
    try:
        yield
    except PubSubError:
        raise
    except Exception as error:
        translated = _translated(error, table)
        if translated is None:
            raise
        raise translated from error
    except BaseException as error:
        panic = refusal_of_panic(error)
        if panic is None:
            raise
        raise panic from None


_REFUSED = re.compile(r"non-2xx status code\W+((?:400|401|403|404) [A-Z][A-Za-z ]+)")
"""A request that the storage refused, so that it changed nothing."""
_ABSENT = re.compile(r"Object at location \S+ not found|FileNotFoundError")
_NO_KEYS = re.compile(r"no credentials found|error occurred while loading credentials")
_NO_ACCOUNT = "Account must be specified"
_CODE = re.compile(r"<Code>(\w+)</Code>")
_ANSWER = re.compile(r"non-2xx status code\W+(\d{3}) ?([A-Za-z ]*)")
_TEMPORARY_ANSWERS = ("408", "429", "500", "502", "503", "504")
"""The answers after which the client of an object store tries again, until it gives up."""
_UNREACHABLE = re.compile(
    r"HTTP error|client error \(Connect\)|tcp connect error|dns error|invalid peer certificate"
)
_COLOUR = re.compile(r"\x1b\[\d+m")
CREDENTIALS = (
    "keys and endpoints come from the environment (AWS_…, AZURE_…, GOOGLE_…), a profile or role of "
    "the machine, or the session's settings (spark.hadoop.fs.s3a.access.key and the like)"
)


def refused(table: str, error: BaseException) -> StorageRefused | None:
    """Return the error for a storage that refuses the request; None for other errors."""
    text = _COLOUR.sub("", str(error))
    if "://" not in table or not isinstance(error, (OSError, DeltaError)) or _ABSENT.search(text):
        return None
    if _NO_KEYS.search(text):
        return StorageRefused(f"{table}: there are no credentials for its storage; {CREDENTIALS}")
    if _NO_ACCOUNT in text:
        return StorageRefused(
            f"{table}: its storage account is not named; the environment "
            "(AZURE_STORAGE_ACCOUNT_NAME) or the root (abfss://CONTAINER@ACCOUNT.dfs.core.windows."
            "net/pubsub) names it"
        )
    refusal = _REFUSED.search(text)
    if refusal is None:
        return None
    code = _CODE.search(text)
    why = f"{refusal[1].strip()}, {code[1]}" if code else refusal[1].strip()
    return StorageRefused(f"{table}: its storage refuses it ({why}); {CREDENTIALS}")


def unavailable(table: str, error: BaseException) -> Unavailable | None:
    """Return the error for a storage that cannot be reached, or cannot do it now; else None."""
    text = _COLOUR.sub("", str(error))
    if "://" not in table or not isinstance(error, (OSError, DeltaError)):
        return None
    answer = _ANSWER.search(text)
    if answer is not None:
        if answer[1] not in _TEMPORARY_ANSWERS:
            return None
        code = _CODE.search(text)
        why = ", ".join([f"{answer[1]} {answer[2]}".strip(), *([code[1]] if code else [])])
        return Unavailable(f"{table}: its storage cannot do it now ({why}); try again later")
    if not _UNREACHABLE.search(text):
        return None
    lines = text.split("HTTP error")[-1].splitlines()
    why = ": ".join(part for line in lines if (part := line.strip(" ↳:")))
    return Unavailable(f"{table}: its storage cannot be reached ({why[-300:]}); {CREDENTIALS}")


def _translated(error: Exception, table: str) -> Exception | None:
    text = str(error)
    first = first_line(error)
    if isinstance(error, CommitFailedError) and _LOST_RACE.search(text):
        return Conflict(f"{table}: {first}")
    if isinstance(error, DeltaError) and _FORBIDDEN.search(text):
        return forbidden(table, first)
    if isinstance(error, TableNotFoundError):
        if "Unknown scheme" in text:
            return FailedPrecondition(
                f"{table}: deltalake does not know this kind of storage ({first}); pass "
                "lane='spark'"
            )
        if "Permission denied" not in text and "os error 13" not in text:
            return TableMissing(table)
    if isinstance(error, DeltaError) and _NO_TABLE.search(text):
        return TableMissing(table)
    if isinstance(error, SchemaMismatchError):
        return FailedPrecondition(
            f"{table}: another program has changed its columns ({first}); restore the table to an "
            "earlier version"
        )
    damage = refused(table, error) or unavailable(table, error) or translate_error_of(table, error)
    of_features = isinstance(error, DeltaError) and _FEATURES.search(text)
    if damage is None and (of_features or isinstance(error, DeltaProtocolError)):
        return FailedPrecondition(
            f"{table}: only Spark can read or write it ({first}); pass lane='spark'"
        )
    return damage
