"""Seeded bugs of ``tables/layout.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_layout.py",
    "tests/unit/test_fuzz_roots.py",
)

BUGS = (
    Bug(
        "backtick-ends-a-name",
        "A backtick in the name of a schema ends it in SQL.",
        'return "`" + name.replace("`", "``") + "`"',
        'return "`" + name + "`"',
    ),
    Bug(
        "store-of-another-catalog",
        "After USE CATALOG a program publishes to the store of that name in another catalog.",
        "        if len(parts) == 1 and self.catalog is not None:",
        "        if len(parts) == 0 and self.catalog is not None:",
        needs_spark=(
            "tests/spark_lane/test_platforms.py::"
            "test_a_store_stays_in_its_catalog_whatever_catalog_the_session_takes_later",
        ),
    ),
    Bug(
        "catalog-of-spark",
        "A schema without a catalog is one of spark_catalog.",
        "catalog: str | None = None",
        'catalog: str | None = "spark_catalog"',
    ),
    Bug(
        "host-of-a-file-url-is-no-part-of-its-path",
        "A store at file://data/pubsub is made at /pubsub, where nobody looks for it.",
        '    if host and host != "localhost":',
        "    if host and host.isdigit():",
    ),
    Bug(
        "bucket-may-be-missing",
        "Who writes s3a:/bucket/pubsub sees an error of deltalake's.",
        "    if _BUCKET_URL.match(url):",
        "    if _BUCKET_URL.fullmatch(url):",
    ),
)
