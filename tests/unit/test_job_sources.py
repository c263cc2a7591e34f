"""How the publishing jobs name the files of an input."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")

from pubsub_delta.jobs.sources import Source, find, pattern_of


@pytest.mark.parametrize("special", "\\[]{}*?")
def test_a_pattern_of_a_file_is_of_that_file_alone(special: str) -> None:
    """Whatever has a meaning in a pattern of Hadoop's is escaped, and nothing else is."""
    assert pattern_of(f"/data/a{special}b.csv") == f"/data/a\\{special}b.csv"
    assert pattern_of("s3a://bucket/a-b,c d.csv") == "s3a://bucket/a-b,c d.csv"


@pytest.mark.parametrize(
    ("path", "asked", "found"),
    [
        ("delta.`/data/a`", None, Source("/data/a", "delta")),
        ("delta.`/data/a`", "delta", Source("/data/a", "delta")),
        ("delta.`/data/``a`", None, Source("/data/`a", "delta")),
        ("delta.`/data/a`", "table", Source("delta.`/data/a`", "table")),
        ("/data/a", "delta", Source("/data/a", "delta")),
        ("main.default.a", "table", Source("main.default.a", "table")),
    ],
)
def test_what_is_named_as_a_table_is_one_and_no_file_is_looked_for(
    path: str, asked: str | None, found: Source
) -> None:
    """ "The format ``table`` is a table or view of the catalog"; Delta names a path as well."""
    nobody: Any = None
    assert find(nobody, path, asked) == found
