"""How the publishing jobs name the files of an input."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pubsub_delta.jobs.sources import pattern_of


@pytest.mark.parametrize("special", "\\[]{}*?")
def test_a_pattern_of_a_file_is_of_that_file_alone(special: str) -> None:
    """Whatever has a meaning in a pattern of Hadoop's is escaped, and nothing else is."""
    assert pattern_of(f"/data/a{special}b.csv") == f"/data/a\\{special}b.csv"
    assert pattern_of("s3a://bucket/a-b,c d.csv") == "s3a://bucket/a-b,c d.csv"
