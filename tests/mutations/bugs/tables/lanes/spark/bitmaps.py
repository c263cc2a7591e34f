"""Seeded bugs of ``tables/lanes/spark/bitmaps.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ()

BUGS = (
    Bug(
        "runs-cut-off",
        "Of one set of many runs Spark looks up the first 32 alone.",
        "runs(limit=_FEW_RUNS + 1)",
        "runs(limit=_FEW_RUNS)",
        needs_spark=("tests/spark_lane/test_frames.py",),
    ),
    Bug(
        "gap-of-one-filled",
        "A position that no message has is taken for a message, where Spark finds one gap alone.",
        'F.when(last - first + 1 > F.count("*"), _bits())',
        'F.when(last - first > F.count("*"), _bits())',
        needs_spark=("tests/spark_lane/test_frames.py",),
    ),
)
