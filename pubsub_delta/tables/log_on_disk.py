"""The log of a table on the driver's disk, read by Python in place of a Spark job.

Delta's protocol: commit n is a file that has the number in 20 digits for its name, and appears as
a whole. Whatever is not there, or not as expected, is left to Spark, which says what it makes of
it: every function returns None for that.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

_COMMIT = re.compile(r"(\d{20})\.json")
_AHEAD = 20
"""Where the next commit is not there, none of so many after it may be: one would be missing."""
_INFO = ("operation", "operationMetrics", "userMetadata")
_ODD = (OSError, ValueError, TypeError, KeyError, AttributeError)


@dataclass(frozen=True)
class Newest:
    """The last commit of a table: its version, and what the disk tells of its file.

    A commit is never written again. A table that was made anew, or restored, has other files.
    """

    version: int
    inode: int
    nanoseconds: int
    size: int


def newest(table: Path, seen: int | None) -> Newest | None:
    """Return the last commit of a table. ``seen``: one that was there before, to look on from."""
    try:
        if seen is None or not _is_there(table, seen):
            seen = max(_listed(table))
        version = next(each for each in count(seen) if not _is_there(table, each + 1))
        if any(_is_there(table, version + 1 + more) for more in range(1, _AHEAD + 1)):
            return None
        file = os.stat(_file(table, version))
    except _ODD:
        return None
    return Newest(version, file.st_ino, file.st_mtime_ns, file.st_size)


def infos(table: Path, versions: Sequence[int]) -> list[Mapping[str, Any]] | None:
    """Return operation, operationMetrics and userMetadata of commits, the newest first.

    Of the first of the versions only, where the others are forgotten: no file of them is there.
    """
    there = [_is_there(table, version) for version in versions]
    if not any(there) or there != sorted(there, reverse=True):
        return None
    try:
        return [next(_infos(_file(table, version))) for version in versions[: sum(there)]]
    except (*_ODD, StopIteration):
        return None


def actions(table: Path, versions: Iterable[int]) -> list[Mapping[str, Any]] | None:
    """Return the actions of commits as ``tables/log.py`` reads them with Spark."""
    try:
        return [action for each in versions for action in _actions(_file(table, each))]
    except _ODD:
        return None


def _listed(table: Path) -> Iterator[int]:
    for name in os.listdir(table / "_delta_log"):
        commit = _COMMIT.fullmatch(name)
        if commit:
            yield int(commit[1])


def _file(table: Path, version: int) -> str:
    return f"{table}/_delta_log/{version:020d}.json"


def _is_there(table: Path, version: int) -> bool:
    return os.path.exists(_file(table, version))


def _lines(file: str) -> Iterator[Any]:
    with open(file, encoding="utf-8", newline="\n") as lines:
        yield from map(json.loads, lines)


def _infos(file: str) -> Iterator[Mapping[str, Any]]:
    """Yield what a commit was: Delta writes it first, so the rest is not read."""
    for action in _lines(file):
        if action.get("commitInfo") is not None:
            yield _info(action["commitInfo"])


def _info(told: Any) -> Mapping[str, Any]:
    return {name: told.get(name) for name in _INFO}


def _actions(file: str) -> Iterator[Mapping[str, Any]]:
    for action in _lines(file):
        info, add, remove = action.get("commitInfo"), action.get("add"), action.get("remove")
        yield {
            "file_name": os.path.basename(file),
            "commitInfo": None if info is None else _info(info),
            "add": None if add is None else {"baseRowId": _whole(add.get("baseRowId"))},
            "number": None if add is None else _whole(json.loads(add["stats"])["numRecords"]),
            "remove": remove,
        }


def _whole(number: object) -> int:
    if type(number) is int:
        return number
    raise TypeError(f"{number!r} is no whole number")
