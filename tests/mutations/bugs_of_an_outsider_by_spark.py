"""Bugs of the Spark lane and of what both lanes ask, by somebody who has not seen the list."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_AN_OUTSIDER_BY_SPARK = (
    Bug(
        "frame-with-a-reserved-key",
        "A DataFrame publishes an attribute whose key begins with GOOG.",
        "tables/lanes/spark/columns.py",
        "NOT startswith(lower({same_key}), '{rules.RESERVED_PREFIX}')",
        "NOT startswith({same_key}, '{rules.RESERVED_PREFIX}')",
        needs_spark=("tests/delta/test_publish.py",),
    ),
    Bug(
        "attempts-of-another-span",
        "In a DataFrame of several spans each message has the attempt of the span before.",
        "tables/lanes/spark/columns.py",
        'F.element_at(F.array(*map(F.lit, values)), F.col("span") + 1)',
        'F.element_at(F.array(*map(F.lit, values)), F.greatest(F.col("span"), F.lit(1)))',
        needs_spark=("tests/spark_lane/test_frames.py",),
    ),
    Bug(
        "topic-as-of-a-time-has-later-ones",
        "A topic as of a time has messages that a slow publisher stamped later.",
        "tables/lanes/spark/frames.py",
        "            rows = rows.where(published_between(None, until))\n",
        "            rows = rows.where(published_between(None, None))\n",
        needs_spark=("tests/spark_lane/test_frames.py",),
    ),
    Bug(
        "runs-cut-off",
        "Of one set of many runs Spark looks up the first 32 alone.",
        "tables/lanes/spark/bitmaps.py",
        "runs(limit=_FEW_RUNS + 1)",
        "runs(limit=_FEW_RUNS)",
        needs_spark=("tests/spark_lane/test_frames.py",),
    ),
    Bug(
        "gap-of-one-filled",
        "A position that no message has is taken for a message, where Spark finds one gap alone.",
        "tables/lanes/spark/bitmaps.py",
        'F.when(last - first + 1 > F.count("*"), _bits())',
        'F.when(last - first > F.count("*"), _bits())',
        needs_spark=("tests/spark_lane/test_frames.py",),
    ),
    Bug(
        "emptied-commit-by-spark",
        "An emptied commit is taken for one without changes, where Spark tells of it.",
        "tables/lanes/spark/lane.py",
        '            if row["operation"] is None:',
        '            if row["version"] is None:',
        needs_spark=("tests/spark_lane/test_tables.py",),
    ),
    Bug(
        "landed-before-is-landed-now",
        "What Delta has skipped is told as written, as an earlier commit carries the same text.",
        "tables/lanes/spark/lane.py",
        "each.user_metadata == user_metadata for each in commits if each.version > before",
        "each.user_metadata == user_metadata for each in commits",
        needs_spark=("tests/spark_lane/test_tables.py",),
    ),
    Bug(
        "keyless-share-a-key",
        "Messages without an ordering key hold each other up, where Spark looks for theirs.",
        "tables/lanes/spark/scans.py",
        '.where(F.col("ordering_key") != "")',
        "",
        needs_spark=("tests/spark_lane/test_frames.py",),
    ),
    Bug(
        "last-day-of-a-window-left-out",
        "A filter leaves out what was published on the last day of what is looked through.",
        "tables/lanes/scans.py",
        "end_of_day(self.latest)",
        "start_of_day(self.latest)",
    ),
    Bug(
        "null-data-by-spark",
        "Messages whose data another writer has stored as null are read by Spark as null.",
        "tables/lanes/spark/columns.py",
        'return F.coalesce(name, F.lit(b"")).alias(name)',
        "return F.col(name)",
        needs_spark=("tests/spark_lane/test_frames.py",),
    ),
    Bug(
        "stream-from-its-start",
        "A stream of a topic from a version on begins with all messages that are stored.",
        "tables/lanes/spark/frames.py",
        'reader = reader.option("startingVersion", from_version)',
        "pass",
        needs_spark=("tests/spark_lane/test_frames.py",),
    ),
)
