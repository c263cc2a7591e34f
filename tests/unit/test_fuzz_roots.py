"""Roots from anywhere: every table stands in its quotes and under its root, or it is refused."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pubsub_delta.tables.layout import Layout, layout_of, path_of
from tests.unit.hostile import is_refusal, outcome, texts, values
from tests.unit.test_layout import UID, identifiers, tables

begins = st.sampled_from(
    ["", "/", "./", "../", "/data/", "file:/", "file:///", "file://", "s3a://", "s3a://b/", "main."]
)
roots = st.builds("".join, st.tuples(begins, texts))


def read(root: object) -> Layout | None:
    """Return the layout of a root, or None where it is refused."""
    told = outcome(lambda: layout_of(root))  # type: ignore[arg-type]
    if is_refusal(told, root):
        return None
    assert isinstance(told, Layout)
    return told


@given(roots)
@example("file://[a/b")
@example("s3a://[a/b")
@example("/data/`; DROP TABLE x; --")
def test_every_table_stands_in_its_quotes_and_under_its_root(root: str) -> None:
    layout = read(root)
    if layout is None:
        return
    for table in tables(layout):
        parts = identifiers(table)
        if layout.in_catalog:
            assert ".".join(f"`{part.replace('`', '``')}`" for part in parts[:-1]) == layout.schema
            assert re.fullmatch(r"\w+", parts[-1])
            assert path_of(table) is None
        else:
            assert parts == ["delta", path_of(table)]
            assert parts[1].startswith(f"{layout.base}/")
            below = parts[1].removeprefix(f"{layout.base}/")
            assert re.fullmatch(rf"\w+(/{UID})?", below)


@pytest.mark.parametrize("root", ["/data/a\ud800", "s3a://b/\udfff", "./\0", "file:/a\0b"])
def test_a_root_that_no_jvm_can_take_is_refused(root: str) -> None:
    assert read(root) is None


@given(texts)
@example("a#b")
@example("a?b")
@example("100%41")
def test_a_file_url_and_its_directory_take_the_same_locks(name: str) -> None:
    """Two programs that name one store differently are kept apart by the same lock files."""
    directory = f"/data/{name}"
    assume(directory == os.path.normpath(directory) and ".." not in directory)
    plain = read(directory)
    for url in (f"file:{directory}", f"file://{directory}"):
        found = read(url)
        if found is not None:  # no URL has a line break in it
            assert plain is not None
            assert found.local_directory() == plain.local_directory() == directory


@given(values.filter(lambda value: not isinstance(value, str)))
def test_what_is_no_text_is_no_root(root: object) -> None:
    assert read(root) is None


@given(st.from_regex(re.compile(r"\w[\w-]{0,8}(\.\w[\w-]{0,8})?", re.ASCII), fullmatch=True))
def test_a_schema_is_read_back_as_it_was(root: str) -> None:
    layout = read(root)
    assert layout is not None
    assert layout.in_catalog
    assert ".".join(identifiers(layout.schema)) == root


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=2)
)
def test_a_schema_in_backticks_is_read_back_whatever_its_name_is(names: list[str]) -> None:
    layout = read(".".join(f"`{name.replace('`', '``')}`" for name in names))
    if layout is not None:  # neither NUL nor braces go through a JVM and Spark
        assert identifiers(layout.schema) == names
