"""The log of a table: what the files say in which Delta keeps its commits.

Delta's protocol: a commit is a file of JSON objects. ``commitInfo`` tells what it was. ``add``
names a file, and from which number on its rows are numbered (row tracking), and how many there
are. So the positions of a publish can be told without opening one of its files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables import log_on_disk
from pubsub_delta.tables.commits import expected_errors
from pubsub_delta.tables.layout import path_of
from pubsub_delta.tables.remembered import Remembered

_ACTIONS = (
    "commitInfo STRUCT<operation: STRING, operationMetrics: MAP<STRING, STRING>, "
    "userMetadata: STRING>, add STRUCT<baseRowId: BIGINT, stats: STRING>, "
    "remove STRUCT<path: STRING>"
)
_IS_TOLD = "commitInfo IS NOT NULL OR add IS NOT NULL OR remove IS NOT NULL"
_PATTERN = re.compile(r"[*?\[\]{}\\]")
_AT_ONCE = 256
"""Files that are read together. Of more than 32 Spark has a job find out first how long they are,
with a task for each where the session does not say otherwise."""

Told = Row | Mapping[str, Any]
"""What Spark tells of an object, or Python's reader of JSON."""


@dataclass(frozen=True)
class LoggedCommit:
    """A commit as its file tells it.

    ``info``: operation, operationMetrics and userMetadata. ``rows``: the row ids that it has given;
    None where they cannot be told, or files were removed.
    """

    version: int
    info: Told
    rows: Positions | None


class Log:
    """The log of one table."""

    def __init__(self, spark: SparkSession, table: str, remembered: Remembered) -> None:
        self._spark = spark
        self._table = table
        self._remembered = remembered

    def commits(self, versions: Sequence[int]) -> list[LoggedCommit]:
        """Return some commits, in any order.

        None of them where one cannot be read, or not quickly: the log is not there, is forgotten or
        not to be read, there are too many, or the path would be taken for a pattern.
        """
        if len(versions) > _AT_ONCE:
            return []
        local = self._remembered.directory(self._table)
        on_disk = None if local is None else log_on_disk.actions(local, versions)
        actions = self._read(versions) if on_disk is None else on_disk
        by_file: dict[str, list[Told]] = {}
        for action in actions:
            by_file.setdefault(action["file_name"], []).append(action)
        return [found for file in by_file if (found := _commit(file, by_file[file]))]

    def last(self, number: int) -> list[tuple[int, Told]] | None:
        """Return the last commits with their info, the newest first, if the log is on this disk."""
        newest = self._remembered.newest(self._table) if number <= _AT_ONCE else None
        local = self._remembered.directory(self._table)
        if newest is None or local is None:
            return None
        versions = range(newest.version, max(newest.version - number, -1), -1)
        infos = log_on_disk.infos(local, versions)
        return None if infos is None else list(zip(versions, infos, strict=False))

    def _read(self, versions: Sequence[int]) -> Sequence[Told]:
        """Return the actions of commits by a Spark job; none where one of them cannot be read."""
        path = self._path()
        if path is None or _PATTERN.search(path):
            return []
        files = [f"{path}/_delta_log/{version:020d}.json" for version in versions]
        number = F.get_json_object("add.stats", "$.numRecords").cast("long").alias("number")
        columns = ("_metadata.file_name", "commitInfo", "add", number, "remove")
        try:
            with expected_errors():
                actions = self._spark.read.schema(_ACTIONS).json(files)
                return actions.where(_IS_TOLD).select(*columns).collect()
        except PySparkException:
            return []

    def _path(self) -> str | None:
        """Return where the table is; in a catalog it is asked for once."""
        path = path_of(self._table)
        if path is not None:
            return path

        def find(_: Sequence[str]) -> dict[str, str]:
            detail = self._remembered.look(self._table)
            return {} if detail is None else {"location": detail["location"]}

        return self._remembered.facts(self._table, ["location"], find).get("location")


def _commit(file: str, actions: Sequence[Told]) -> LoggedCommit | None:
    infos = [each["commitInfo"] for each in actions if each["commitInfo"] is not None]
    if len(infos) != 1:
        return None
    added = [each for each in actions if each["add"] is not None]
    ranges = [(each["add"]["baseRowId"], each["number"]) for each in added]
    removes = any(each["remove"] is not None for each in actions)
    told = not removes and not any(None in each for each in ranges)
    version = int(file.removesuffix(".json"))
    return LoggedCommit(version, infos[0], _positions(ranges) if told else None)


def counted_in_files(messages: DataFrame) -> dict[int, Positions]:
    """Return the rows of the files that hold some messages of a topic, by version."""
    counted = (
        messages.select(
            F.col("_metadata.default_row_commit_version").alias("version"),
            F.col("_metadata.base_row_id").alias("base"),
        )
        .groupBy("version", "base")
        .count()
    )
    files: dict[int, list[tuple[int, int]]] = {}
    for row in counted.collect():
        files.setdefault(row["version"], []).append((row["base"], row["count"]))
    return {version: _positions(ranges) for version, ranges in files.items()}


def _positions(ranges: Iterable[tuple[int, int]]) -> Positions:
    return Positions.union(Positions.between(base, base + n - 1) for base, n in ranges)
