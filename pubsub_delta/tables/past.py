"""The past of a table: the commits that its log still tells, and how Delta forgets them.

Delta lists the whole log before each transaction, and cleans it by whole days only: a table of a
commit a second slows down within hours. One statement truncates it to the minute.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pubsub_delta.clock import from_micros
from pubsub_delta.policy.truncation import Known, Truncation
from pubsub_delta.tables.commits import Commits
from pubsub_delta.tables.damage import collected

FORGETTING = frozenset({"SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "Empty Commit", "DROP FEATURE"})
"""Delta's names of the commits by which a past is truncated."""


class Past:
    """The past of one table. ``directory``: where it is, if on the driver's disk."""

    def __init__(
        self, spark: SparkSession, commits: Commits, table: str, directory: Path | None
    ) -> None:
        self._spark = spark
        self._commits = commits
        self._table = table
        self._directory = directory

    def known(self) -> list[Known]:
        """Return the commits that the log tells, and when Delta made each, by its own clock."""
        micros = F.unix_micros("timestamp").alias("micros")
        told = self._spark.sql(f"DESCRIBE HISTORY {self._table}").select("version", micros)
        rows = collected(told, self._table)
        return [Known(row["version"], from_micros(row["micros"])) for row in rows]

    def truncate(self, truncation: Truncation) -> int:
        """Forget commits, and return how many: those up to the last checkpoint that is old enough.

        On the driver's disk nothing is committed for it. Elsewhere, and where that cannot be, Delta
        does it. The feature ``checkpointProtection`` may not be dropped while commits before a
        version are known, so Delta forgets them first: all that are old enough. The table has it
        for no longer than that; where the second statement fails, the next truncation drops it.
        """
        if self._directory is not None:
            cleaned = self._commits.clean_log(self._table, self._directory, truncation.kept_from)
            if cleaned:
                return cleaned
        self._commits.alter(
            self._table,
            "SET TBLPROPERTIES ('delta.feature.checkpointProtection' = 'supported', "
            f"'delta.requireCheckpointProtectionBeforeVersion' = '{truncation.first + 1:d}', "
            "'delta.dropFeatureTruncateHistory.retentionDuration' = "
            f"'interval {truncation.seconds:d} seconds')",
            "DROP FEATURE checkpointProtection TRUNCATE HISTORY",
        )
        return min(each.version for each in self.known()) - truncation.first
