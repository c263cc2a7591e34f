"""Translates errors of storage and Parquet libraries into those of this library.

Libraries have dozens of exceptions for a file that is missing, truncated or altered. All of them
become DataLoss, which names the table. A disk that is full or fails, and a process that may open no
more files, are Unavailable, as a later try can succeed.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from pubsub_delta.errors import DataLoss, FailedPrecondition, PubSubError, Unavailable
from pubsub_delta.tables.layout import path_of

_OF_SPARK = (
    r"FAILED_READ_FILE|FILE_NOT_EXIST|DELTA_FILE_NOT_FOUND|CANNOT_READ_FILE_FOOTER"
    r"|DELTA_(?:DELETION_VECTOR_\w+|TXN_LOG_FAILED_INTEGRITY|STATE_RECOVER_ERROR"
    r"|MISSING_(?:COMMIT_INFO|COMMIT_TIMESTAMP|PART_FILES)|TRUNCATED_TRANSACTION_LOG"
    r"|VERSIONS_NOT_CONTIGUOUS|LOG_FILE_NOT_FOUND\w*|LOG_FILE_MALFORMED|CHECKPOINT_\w+)"
    r"|FileNotFoundException|ChecksumException|Checksum error|is not a Parquet file"
    r"|JsonParseException|JsonMappingException|JsonEOFException|MismatchedInputException"
    r"|Could not find any delta files|could not verify page integrity"
    r"|MALFORMED_RECORD|corrupt|integrity check"
    r"|Can not read value at|could not read page|Unable to read file"
)
_OF_DELTALAKE = (
    r"FileNotFoundError|Object at location \S+ not found|Requested range was invalid"
    r"|Parquet error|Parquet magic bytes|Parquet file size|Json error|Invalid JSON|less than footer"
    r"|Expected contiguous commit files|No table metadata or protocol found|Invalid Checkpoint"
    r"|deserializ(?:e|ing) (?:thrift|page)|Unexpected end of (?:stream|file)|Unexpected page"
    r"|decompression failed|invalid UTF-?8|at line \d+ column \d+"
)
_DAMAGED = re.compile(rf"[\w.]*(?:{_OF_SPARK}|{_OF_DELTALAKE})[\w.]*", re.IGNORECASE)
_FULL = re.compile(r"No space left on device|Disk quota exceeded|File too large")
_FAILING = re.compile(r"Too many open files(?: in system)?|Input/output error|Stale file handle")
_NUMBER = re.compile(r"\b(?:os error|errno) (\d+)", re.IGNORECASE)
"""How Rust and Arrow write the number of a system call's error."""
_NOT_PERMITTED = re.compile(
    r"Read-only file system|Permission denied|AccessDenied|403 Forbidden|Mkdirs failed"
)
_READ_ONLY = re.compile(r"Read-only file system|Mkdirs failed")
"""Of those, what only a write can meet; the others do not tell what was tried."""
_FILE = re.compile(r"(?:[a-z][a-z0-9+.\-]*:/|/)[^\s'\"\]\[<>(),;]+")
_TABLE_OF_UID = re.compile(
    r"(.*/(?:messages|positions|ack_state|snapshot)[/_][0-9a-f]{32})(?:/.*)?"
)

_FULL_ERRORS = {errno.ENOSPC, errno.EDQUOT}
_FAILING_ERRORS = {
    errno.ENOMEM: "no memory is left",
    errno.EBUSY: "it is busy",
    errno.EAGAIN: "it is busy",
    errno.ETIMEDOUT: "its disk does not answer",
    errno.ENOTCONN: "its disk does not answer",
    errno.EHOSTDOWN: "its disk does not answer",
}
_NOT_PERMITTED_ERRORS = {errno.EROFS, errno.EACCES, errno.EPERM}
_NO_PATH_ERRORS = {
    errno.ENAMETOOLONG: "File name too long",
    errno.ELOOP: "Too many levels of symbolic links",
}


class StorageRefused(FailedPrecondition):
    """The storage refuses a request of this process, for want of credentials or a permission."""


def forbidden(table: str, why: str) -> FailedPrecondition:
    """Return the error for a write that a property or a constraint of the table forbids."""
    return FailedPrecondition(
        f"{table}: the table forbids this write ({why}); another program has set delta.appendOnly, "
        "a CHECK constraint or NOT NULL, which tables of pubsub_delta do not have: remove it "
        "from the table"
    )


@contextmanager
def translating_storage_errors(table: str | None = None) -> Iterator[None]:
    """Raise errors about files that cannot be read or written as errors of this library.

    Without a table only errors that name a file of a topic or an ack state are translated: a
    damaged DataFrame of the caller is not this store's data.
    """
    try:
        yield
    except PubSubError:
        raise
    except Exception as error:
        translated = translate_error(error, table)
        if translated is None:
            raise
        raise translated from error


def translate_error(error: BaseException, table: str | None) -> PubSubError | None:
    """Return an error of this library for one of another; None if it is not about a table.

    An error that names a file outside of the table is not.
    """
    text = _text_of(error)
    file = _file_in(text)
    damaged = table if file is None else _table_of(file, table)
    return None if damaged is None else _error_of(damaged, error, text, file)


def translate_error_of(table: str, error: BaseException) -> PubSubError | None:
    """Translate an error that can only be about one table; None if no file is damaged."""
    text = _text_of(error)
    return _error_of(table, error, text, _file_in(text))


def lost_commit(table: str, version: int) -> DataLoss:
    """Return the error for a commit whose file is empty or missing."""
    return DataLoss(
        f"{table}: commit {version} of its log is damaged: restore it from a copy, "
        "or the table to an earlier version"
    )


def _error_of(table: str, error: BaseException, text: str, file: str | None) -> PubSubError | None:
    number = _number_of(error, text)
    if number in _FULL_ERRORS or _FULL.search(text):
        return Unavailable(
            f"{table}: it cannot be written, as no space is left; free some space and try again"
        )
    no_path = _NO_PATH_ERRORS.get(number or 0)
    if no_path is not None:
        return FailedPrecondition(
            f"{table}: no table can be there ({no_path}); choose another root"
        )
    refused = _NOT_PERMITTED.search(text)
    if number in _NOT_PERMITTED_ERRORS or refused:
        told = refused[0] if refused else str(error)
        what = "write" if _READ_ONLY.search(told) else "read or write"
        return StorageRefused(
            f"{table}: this process has no permission to {what} it ({told}); grant it and try again"
        )
    failing = _FAILING.search(text)
    why_now = failing[0] if failing else _FAILING_ERRORS.get(number or 0)
    if why_now is not None:
        return Unavailable(
            f"{table}: it cannot be read or written now ({why_now}); try again later"
        )
    why = _DAMAGED.search(text)
    if why is None:
        return None
    path = _path_within(table, file)
    return DataLoss(f"{table}: {path} is missing or damaged ({why[0]}): {_lost_data(table)}")


def _number_of(error: BaseException, text: str) -> int | None:
    """Return the number of the system call's error that an error tells, or None."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    if "://" in text:
        return None  # of a connection to object storage
    told = _NUMBER.search(text)
    return int(told[1]) if told else None


def _text_of(error: BaseException | None) -> str:
    """Return the texts of an error and its causes, the innermost last."""
    texts = []
    while error is not None:
        condition = getattr(error, "getCondition", None)
        texts.append((condition() if condition is not None else None) or type(error).__name__)
        texts.append(str(error))
        error = getattr(error, "_cause", None) or error.__cause__
    return "\n".join(texts)


def _file_in(text: str) -> str | None:
    """Return the first file of a table in a text, or None."""
    named = (match[0].rstrip(".:") for match in _FILE.finditer(text))
    return next((file for file in named if _is_of_a_table(file)), None)


def _is_of_a_table(file: str) -> bool:
    known = "_delta_log" in file or _TABLE_OF_UID.fullmatch(file) is not None
    return known or file.endswith((".parquet", ".bin", ".crc", ".json"))


def _table_of(file: str, table: str | None) -> str | None:
    """Return the table that a file belongs to, if that is one of this library's."""
    path = path_of(table) if table is not None else None
    if path is not None and _without_scheme(file).startswith(_without_scheme(path) + "/"):
        return table
    found = _TABLE_OF_UID.fullmatch(file)
    if found is not None:
        return f"delta.`{_without_scheme(found[1]) if found[1].startswith('file:') else found[1]}`"
    return table if path is None else None


def _without_scheme(path: str) -> str:
    return "/" + re.sub(r"^[a-z][a-z0-9+.\-]*:", "", unquote(path)).lstrip("/")


def _path_within(table: str, file: str | None) -> str:
    """Return the path of a file within its table."""
    if file is None:
        return "a file of it"
    folder = table.strip("`").rsplit("/", 1)[-1]
    return file.rsplit(f"{folder}/", 1)[-1]


def _lost_data(table: str) -> str:
    """Describe the lost data, and how to restore it."""
    if re.search(r"\bmessages[/_]", table):
        return "messages of this topic are lost to all subscriptions; restore it from a copy"
    if re.search(r"\back_state[/_]", table):
        lost = "which messages are acknowledged on this subscription is lost"
    else:
        lost = "the resources of the store cannot be read"
    return f"{lost}; restore it from a copy, or the table to an earlier version"
