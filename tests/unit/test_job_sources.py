"""How the publishing jobs name the files of an input."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")

from pubsub_delta import FailedPrecondition
from pubsub_delta.jobs.sources import Source, find, pattern_of


def session(settings: dict[str, str] | None) -> Any:
    """Return a session with some settings; None for a platform that hides them."""

    class Conf:
        def get(self, key: str, default: str) -> str:
            if settings is None:
                raise RuntimeError("CONFIG_NOT_AVAILABLE")
            return settings.get(key, default)

    class Made:
        conf = Conf()

    return Made()


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
    plain: Any = session({})
    assert find(plain, path, asked) == found


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.files.ignoreCorruptFiles", "true"),
        ("spark.sql.files.ignoreMissingFiles", "TRUE"),
        ("spark.databricks.delta.stalenessLimit", "1h"),
    ],
)
def test_a_session_that_would_leave_out_rows_is_refused(key: str, value: str) -> None:
    """ "What an input holds arrives": Spark tells nobody of a damaged file that it passes over."""
    with pytest.raises(FailedPrecondition, match=rf"{key}={value}, .* nothing was published"):
        find(session({key: value}), "delta.`/data/a`", None)


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.files.ignoreCorruptFiles": "false"},
        {"spark.databricks.delta.stalenessLimit": "0s"},
        {"spark.databricks.delta.stalenessLimit": "0"},
        None,
    ],
)
def test_a_session_that_reads_everything_or_tells_nothing_is_none_such(
    settings: dict[str, str] | None,
) -> None:
    assert find(session(settings), "delta.`/data/a`", None).format == "delta"
