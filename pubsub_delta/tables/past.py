"""The past of a table: the commits that its log still tells, and how Delta forgets them.

Delta lists the whole log before each transaction, and cleans it by whole days only: a table of a
commit a second slows down within hours. One statement truncates it to the minute.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pubsub_delta.policy.truncation import Aged, Truncation
from pubsub_delta.tables.commits import Commits
from pubsub_delta.tables.damage import collected

FORGETTING = frozenset({"SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "Empty Commit", "DROP FEATURE"})
"""Delta's names of the commits by which a past is truncated."""


@dataclass(frozen=True)
class Past:
    """The past of one table."""

    spark: SparkSession
    commits: Commits
    table: str

    def aged(self) -> list[Aged]:
        """Return the commits that are still known, by Delta's clock."""
        age = F.current_timestamp().cast("double") - F.col("timestamp").cast("double")
        told = self.spark.sql(f"DESCRIBE HISTORY {self.table}").select("version", age.alias("age"))
        return [Aged(row["version"], row["age"]) for row in collected(told, self.table)]

    def truncate(self, truncation: Truncation) -> None:
        """Forget commits.

        The feature ``checkpointProtection`` may not be dropped while commits before a version are
        known, so Delta forgets them first: all that are old enough. The table has it for no longer
        than that; where the second statement fails, the next truncation drops it.
        """
        self.commits.alter(
            self.table,
            "SET TBLPROPERTIES ('delta.feature.checkpointProtection' = 'supported', "
            f"'delta.requireCheckpointProtectionBeforeVersion' = '{truncation.before:d}', "
            "'delta.dropFeatureTruncateHistory.retentionDuration' = "
            f"'interval {truncation.seconds:d} seconds')",
            "DROP FEATURE checkpointProtection TRUNCATE HISTORY",
        )
