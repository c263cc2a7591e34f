"""Delta tables, read from the protocol alone: no Spark, no Delta library, nothing of the project.

What is not used here is not read: schemas, statistics but the number of rows, checkpoints but to
compare them with the log.
"""

from __future__ import annotations

import json
import re
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
from pyroaring import BitMap64

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.[\w\-]+)?\.parquet")
_DELETION_VECTOR_MAGIC = 1681511377
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


class Damaged(AssertionError):
    """A table is not what Delta's protocol says that it should be."""


@dataclass(frozen=True)
class Table:
    """A table as it stands after its last commit."""

    path: Path
    version: int
    properties: dict[str, str]
    files: tuple[dict[str, Any], ...]
    transactions: dict[str, int] = field(default_factory=dict)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Return all rows, with ``_row_id`` and ``_commit_version`` where rows are tracked."""
        ids = self.properties.get("delta.rowTracking.materializedRowIdColumnName", "")
        versions = self.properties.get(
            "delta.rowTracking.materializedRowCommitVersionColumnName", ""
        )
        for add in self.files:
            path = self.path / unquote(add["path"])
            if not path.is_file():
                raise Damaged(f"{path} is in the log of version {self.version}, and is gone")
            gone = _deleted(self.path, add.get("deletionVector"))
            rows = pq.ParquetFile(path, coerce_int96_timestamp_unit="us").read().to_pylist()
            told = json.loads(add["stats"])["numRecords"] if add.get("stats") else len(rows)
            if len(rows) != told:
                raise Damaged(f"{path} has {len(rows)} rows where the log says {told}")
            for number, row in enumerate(rows):
                if number in gone:
                    continue
                row_id, version = row.pop(ids, None), row.pop(versions, None)
                if "baseRowId" in add:
                    row["_row_id"] = add["baseRowId"] + number if row_id is None else row_id
                    born = add["defaultRowCommitVersion"]
                    row["_commit_version"] = born if version is None else version
                yield row


def exists(path: Path) -> bool:
    """Tell whether a table was ever committed to."""
    return any(_COMMIT.fullmatch(each.name) for each in (path / "_delta_log").glob("*.json"))


def read(path: Path) -> Table:
    """Read the log of a table from its first commit on; Damaged where it has gaps or half lines."""
    commits = {
        int(match[1]): each
        for each in (path / "_delta_log").iterdir()
        if (match := _COMMIT.fullmatch(each.name))
    }
    if sorted(commits) != list(range(len(commits))) or not commits:
        raise Damaged(f"{path}: the log has the versions {sorted(commits)}")
    properties: dict[str, str] = {}
    files: dict[tuple[str, str], dict[str, Any]] = {}
    transactions: dict[str, int] = {}
    checkpoints = _checkpoints(path)
    for version in sorted(commits):
        for action in _actions(commits[version]):
            if "metaData" in action:
                properties = action["metaData"].get("configuration", {})
            elif "txn" in action:
                transactions[action["txn"]["appId"]] = action["txn"]["version"]
            elif "remove" in action:
                files.pop(_key(action["remove"]), None)
            elif "add" in action:
                files[_key(action["add"])] = action["add"]
        if version in checkpoints:
            _compare(checkpoints[version], files)
    return Table(path, max(commits), properties, tuple(files.values()), transactions)


def _actions(commit: Path) -> list[dict[str, Any]]:
    try:
        found = [json.loads(line) for line in commit.read_text(encoding="utf-8").splitlines()]
    except ValueError as error:
        raise Damaged(f"{commit} cannot be read: {error}") from error
    if not found:
        raise Damaged(f"{commit} is empty")
    return found


def _key(action: dict[str, Any]) -> tuple[str, str]:
    vector = action.get("deletionVector") or {}
    return action["path"], f"{vector.get('pathOrInlineDv', '')}@{vector.get('offset', '')}"


def _checkpoints(path: Path) -> dict[int, Path]:
    return {
        int(match[1]): each
        for each in (path / "_delta_log").iterdir()
        if (match := _CHECKPOINT.fullmatch(each.name))
    }


def _compare(checkpoint: Path, files: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Raise Damaged where a checkpoint does not hold the files that the commits before it leave."""
    adds = [row["add"] for row in pq.ParquetFile(checkpoint).read(["add"]).to_pylist()]
    held = {add["path"] for add in adds if add is not None}
    if held != {path for path, _ in files}:
        raise Damaged(f"{checkpoint} holds other files than the commits before it")


def _deleted(table: Path, vector: dict[str, Any] | None) -> BitMap64:
    """Return the row numbers that a deletion vector takes out of a file."""
    if vector is None:
        return BitMap64()
    where: str = vector["pathOrInlineDv"]
    if vector["storageType"] == "i":
        data = _z85(where)
    else:
        if vector["storageType"] == "u":
            name = uuid.UUID(bytes=_z85(where[-20:]))
            path = table / where[:-20] / f"deletion_vector_{name}.bin"
        else:
            path = Path(where)
        raw, start = path.read_bytes(), int(vector.get("offset") or 1)
        size = int.from_bytes(raw[start : start + 4], "big")
        data = raw[start + 4 : start + 4 + size]
        told = int.from_bytes(raw[start + 4 + size : start + 8 + size], "big")
        if zlib.crc32(data) != told:
            raise Damaged(f"{path}: a deletion vector has another checksum than it says")
    if int.from_bytes(data[:4], "little") != _DELETION_VECTOR_MAGIC:
        raise Damaged(f"{table}: a deletion vector of an unknown format")
    return BitMap64.deserialize(data[4:])


def _z85(text: str) -> bytes:
    decoded = b""
    for start in range(0, len(text), 5):
        number = 0
        for letter in text[start : start + 5]:
            number = number * 85 + _Z85.index(letter)
        decoded += number.to_bytes(4, "big")
    return decoded
