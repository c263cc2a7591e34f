"""Seeded bugs of ``tables/lanes/s3_writers.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_lanes_choice.py",)

BUGS = (
    Bug(
        "several-drivers-on-s3",
        "Spark's lane writes to S3 with a log store that is safe for one driver only.",
        "if not is_on_s3(location) or runs_on_databricks() or",
        "if is_on_s3(location) or runs_on_databricks() or",
    ),
    Bug(
        "two-lanes-of-one-store-on-s3",
        "Spark's lane and the direct one write to a store on S3, and overwrite each other.",
        "    if found == own:\n",
        "    if found:\n",
    ),
    Bug(
        "the-setting-of-another-scheme-is-told",
        "Who may not write on S3 is told a setting whose name has the bucket in it.",
        """    scheme = location.partition(":")[0]
    return (
""",
        """    scheme = location.partition("://")[2]
    return (
""",
    ),
    Bug(
        "s3n-is-not-s3",
        "A root with s3n:// has no check of its writers.",
        'SCHEMES = ("s3:", "s3a:", "s3n:")',
        'SCHEMES = ("s3:", "s3a:")',
    ),
)
