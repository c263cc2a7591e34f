"""Seeded bugs of ``tables/lanes/spark/scans.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ()

BUGS = (
    Bug(
        "keyless-share-a-key",
        "Messages without an ordering key hold each other up, where Spark looks for theirs.",
        '.where(F.col("ordering_key") != "")',
        "",
        needs_spark=("tests/spark_lane/test_frames.py",),
    ),
)
