"""Which rows the files hold that a commit has added: Delta numbers them from a base on.

The base and the number of rows stand beside a file's name in the commit (Delta's protocol: ``add``
actions, row tracking). So the positions of a publish can be told without opening one of its files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pubsub_delta.policy.positions import Positions
from pubsub_delta.tables.commits import expected_errors

_ACTIONS = (
    "add STRUCT<baseRowId: BIGINT, defaultRowCommitVersion: BIGINT, stats: STRING>, "
    "remove STRUCT<path: STRING>"
)
_PATTERN = re.compile(r"[*?\[\]{}\\]")
_AT_ONCE = 32
"""Files that Spark opens without a job that lists them first, with a task for each."""


def told_by_log(
    spark: SparkSession, path: str | None, versions: Sequence[int]
) -> dict[int, Positions]:
    """Return the rows that commits of the table at a path have added, by version.

    Nothing where that cannot be told, or not quickly: the log is not there, is forgotten or not to
    be read, one of the commits removed files, there are too many, or the path would be taken for a
    pattern.
    """
    if path is None or len(versions) > _AT_ONCE or _PATTERN.search(path):
        return {}
    commits = [f"{path}/_delta_log/{version:020d}.json" for version in versions]
    number = F.get_json_object("add.stats", "$.numRecords").cast("long")
    try:
        with expected_errors():
            actions = spark.read.schema(_ACTIONS).json(commits)
            about_files = actions.where("add IS NOT NULL OR remove IS NOT NULL")
            files = about_files.select(
                "add.defaultRowCommitVersion", "add.baseRowId", number, "remove"
            ).collect()
    except PySparkException:
        return {}
    if any(removed is not None or None in file for *file, removed in files):
        return {}
    return _rows((version, base, count) for version, base, count, _ in files)


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
    return _rows((row["version"], row["base"], row["count"]) for row in counted.collect())


def _rows(files: Iterable[tuple[int, int, int]]) -> dict[int, Positions]:
    rows: dict[int, list[Positions]] = {}
    for version, base, count in files:
        rows.setdefault(version, []).append(Positions.between(base, base + count - 1))
    return {version: Positions.union(parts) for version, parts in rows.items()}
