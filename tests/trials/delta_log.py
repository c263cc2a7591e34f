"""Delta tables, read from the protocol alone: no Spark, no Delta library, nothing of the project.

What is not used here is not read: schemas, statistics but the number of rows. Checkpoints are
compared with the log, and a log that was cleaned is read from one on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.[\w\-]+)?\.parquet")


class Damaged(AssertionError):
    """A table is not what Delta's protocol says that it should be."""


@dataclass
class Table:
    """A table as it stands after its last commit; ``told``: what commits carry, by version."""

    path: Path
    version: int = -1
    properties: dict[str, str] = field(default_factory=dict)
    adds: dict[str, dict[str, Any]] = field(default_factory=dict)
    transactions: dict[str, int] = field(default_factory=dict)
    told: dict[int, str] = field(default_factory=dict)

    @property
    def files(self) -> tuple[dict[str, Any], ...]:
        """What was added and not removed."""
        return tuple(self.adds.values())

    def rows(self) -> Iterator[dict[str, Any]]:
        """Return all rows, without the columns of the partitions."""
        for add in self.files:
            path = self.path / unquote(add["path"])
            if not path.is_file():
                raise Damaged(f"{path} is in the log of version {self.version}, and is gone")
            rows = pq.ParquetFile(path, coerce_int96_timestamp_unit="us").read().to_pylist()
            told = json.loads(add["stats"])["numRecords"] if add.get("stats") else len(rows)
            if len(rows) != told:
                raise Damaged(f"{path} has {len(rows)} rows where the log says {told}")
            yield from rows

    def take(self, version: int, action: dict[str, Any]) -> None:
        """Let an action of a commit, or of a checkpoint, have its effect."""
        if action.get("metaData"):
            self.properties = dict(action["metaData"].get("configuration") or {})
        elif action.get("txn"):
            self.transactions[action["txn"]["appId"]] = action["txn"]["version"]
        elif action.get("remove"):
            self.adds.pop(action["remove"]["path"], None)
        elif action.get("add"):
            if action["add"].get("deletionVector"):
                raise Damaged(f"{self.path}: version {version} has a deletion vector")
            self.adds[action["add"]["path"]] = action["add"]
        elif (action.get("commitInfo") or {}).get("userMetadata"):
            self.told[version] = action["commitInfo"]["userMetadata"]


def exists(path: Path) -> bool:
    """Tell whether a table was ever committed to."""
    return any(_COMMIT.fullmatch(each.name) for each in (path / "_delta_log").glob("*.json"))


def read(path: Path) -> Table:
    """Read the log of a table, from its first commit or a checkpoint on.

    Damaged where it has gaps or half lines.
    """
    commits = {
        int(match[1]): each
        for each in (path / "_delta_log").iterdir()
        if (match := _COMMIT.fullmatch(each.name))
    }
    checkpoints = _checkpoints(path)
    first = min(commits, default=0)
    begin = 0
    table = Table(path)
    if first > 0:
        begin = min((each for each in checkpoints if each >= first - 1), default=-1) + 1
        if begin == 0:
            raise Damaged(f"{path}: its log begins at {first}, and has no checkpoint for it")
        for action in pq.ParquetFile(checkpoints[begin - 1]).read().to_pylist():
            table.take(begin - 1, action)
    if sorted(commits) != list(range(first, first + len(commits))) or not commits:
        raise Damaged(f"{path}: the log has the versions {sorted(commits)}")
    for version in sorted(commits):
        if version < begin:
            continue
        for action in _actions(commits[version]):
            table.take(version, action)
        if version in checkpoints:
            _compare(checkpoints[version], set(table.adds))
    table.version = max(commits)
    return table


def _actions(commit: Path) -> list[dict[str, Any]]:
    try:
        found = [json.loads(line) for line in commit.read_text(encoding="utf-8").splitlines()]
    except ValueError as error:
        raise Damaged(f"{commit} cannot be read: {error}") from error
    if not found:
        raise Damaged(f"{commit} is empty")
    return found


def _checkpoints(path: Path) -> dict[int, Path]:
    return {
        int(match[1]): each
        for each in (path / "_delta_log").iterdir()
        if (match := _CHECKPOINT.fullmatch(each.name))
    }


def _compare(checkpoint: Path, paths: set[str]) -> None:
    """Raise Damaged where a checkpoint does not hold the files that the commits before it leave."""
    adds = [row["add"] for row in pq.ParquetFile(checkpoint).read(["add"]).to_pylist()]
    if {add["path"] for add in adds if add is not None} != paths:
        raise Damaged(f"{checkpoint} holds other files than the commits before it")
