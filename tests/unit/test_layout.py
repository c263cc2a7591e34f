"""Where a store's tables live, and that their names cannot break out of SQL."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.tables.layout import Layout, layout_of

UID = "0123456789abcdef" * 2


def tables(layout: Layout) -> list[str]:
    registry = [layout.topics, layout.subscriptions, layout.snapshots]
    return [*registry, layout.messages(UID), layout.ack_state(UID)]


@pytest.mark.parametrize(
    ("root", "base"),
    [
        ("/data/pubsub", "/data/pubsub"),
        ("/data/pubsub/", "/data/pubsub"),
        ("/data/./a/../pubsub", "/data/pubsub"),
        ("/data/with space/é", "/data/with space/é"),
        ("/data/a:b", "/data/a:b"),
        ("s3a://bucket/pubsub/", "s3a://bucket/pubsub"),
        ("abfss://c@account.dfs.core.windows.net/p", "abfss://c@account.dfs.core.windows.net/p"),
        ("dbfs:/pubsub", "dbfs:/pubsub"),
        ("file:/data/pubsub", "file:/data/pubsub"),
        ("file:///data/pubsub", "file:///data/pubsub"),
    ],
)
def test_directories_and_urls_are_roots(root: str, base: str) -> None:
    layout = layout_of(root)
    assert layout == Layout(base, in_catalog=False)
    assert tables(layout) == [
        f"delta.`{base}/topics`",
        f"delta.`{base}/subscriptions`",
        f"delta.`{base}/snapshots`",
        f"delta.`{base}/messages/{UID}`",
        f"delta.`{base}/ack_state/{UID}`",
    ]


def test_a_file_url_with_a_host_is_not_taken_for_another_directory() -> None:
    """After two slashes a host follows: Hadoop refuses one, and /pubsub was never meant."""
    told = "names the host 'data'.*; file:///data/pubsub or another path after three slashes"
    with pytest.raises(InvalidArgument, match=told):
        layout_of("file://data/pubsub")
    assert layout_of("file://localhost/data/pubsub").local_directory() == "/data/pubsub"


@pytest.mark.parametrize(
    "root", ["s3a:/bucket/pubsub", "s3:///pubsub", "gs:/bucket/pubsub", "abfss:///pubsub"]
)
def test_a_url_without_a_bucket_is_refused_by_name(root: str) -> None:
    with pytest.raises(InvalidArgument, match=r"names no bucket or container; .*://BUCKET/pubsub"):
        layout_of(root)


@pytest.mark.parametrize("root", ["./pubsub", "pubsub/", "../pubsub", "a/b", Path("pubsub")])
def test_a_relative_directory_is_made_absolute(root: str | Path) -> None:
    layout = layout_of(root)  # type: ignore[arg-type]
    assert layout == Layout(os.path.abspath(root), in_catalog=False)


@pytest.mark.parametrize(
    ("root", "schema"),
    [
        ("pubsub", "`pubsub`"),
        ("main.pubsub", "`main`.`pubsub`"),
        ("_a", "`_a`"),
        # "Names of catalogs and schemas are quoted whatever they hold"
        ("my-catalog.pubsub-dev", "`my-catalog`.`pubsub-dev`"),
        ("2025.9a", "`2025`.`9a`"),
        ("`Büro`.`käse`", "`Büro`.`käse`"),
        ("main.`x`", "`main`.`x`"),
        ("`a.b`.`c d`", "`a.b`.`c d`"),
        ("`it``s`.`; DROP SCHEMA x`", "`it``s`.`; DROP SCHEMA x`"),
        ("`a/b`", "`a/b`"),
    ],
)
def test_a_name_is_a_schema_of_the_catalog(root: str, schema: str) -> None:
    layout = layout_of(root)
    assert (layout.in_catalog, layout.schema) == (True, schema)
    assert tables(layout) == [
        f"{schema}.`topics`",
        f"{schema}.`subscriptions`",
        f"{schema}.`snapshots`",
        f"{schema}.`messages_{UID}`",
        f"{schema}.`ack_state_{UID}`",
    ]


@pytest.mark.parametrize(
    "root",
    [
        "",
        " ",
        "a.b.c",
        "-a",
        "a b",
        "``",
        "`a``",
        "`a`.`b`.`c`",
        ".",
        "..",
        "a.",
        ".a",
        "a`b",
        "a;b",
        "/data\0/x",
        "s3a:",
        "s3a://",
        "file:///",
        "C:\\data",
        "C:/data",
        "S3A://bucket/x",
        None,
        7,
        b"/data",
        ["/data"],
    ],
)
def test_other_roots_are_refused(root: object) -> None:
    # "Every error says what was wrong, the offending value, and what would be accepted."
    with pytest.raises(
        InvalidArgument, match=r"root: .* or a catalog schema .* is accepted"
    ) as told:
        layout_of(root)  # type: ignore[arg-type]
    assert repr(root) in str(told.value)


@pytest.mark.parametrize("root", ["C:\\data", "C:/data", "c:", "\\\\server\\share"])
def test_a_path_of_windows_is_refused_as_one(root: str) -> None:
    # "Windows paths: said plainly, or working"
    with pytest.raises(InvalidArgument, match=r"\(paths of Windows are not supported\); a dir"):
        layout_of(root)


@pytest.mark.parametrize(
    ("root", "directory"),
    [
        ("/data/pubsub", "/data/pubsub"),
        ("file:/data/pubsub", "/data/pubsub"),
        ("file:///data/pubsub", "/data/pubsub"),
        ("s3a://bucket/pubsub", None),
        ("dbfs:/pubsub", None),
        ("main.pubsub", None),
    ],
)
def test_only_a_local_root_has_a_local_directory(root: str, directory: str | None) -> None:
    assert layout_of(root).local_directory() == directory


def identifiers(table: str) -> list[str]:
    """Read a dotted name as SQL does: parts in backticks, a doubled backtick meaning one."""
    parts, rest = [], table
    while rest:
        if not rest.startswith("`"):
            word, _, rest = rest.partition(".")
            parts.append(word)
            continue
        part, place = "", 1
        while rest[place : place + 2] == "``" or rest[place] != "`":
            part += rest[place]
            place += 2 if rest[place] == "`" else 1
        parts.append(part)
        rest = rest[place + 1 :]
        assert not rest or rest.startswith("."), f"something stands after the name: {rest}"
        rest = rest[1:]
    return parts


@given(st.text(st.sampled_from("`;' /.a\n-*é"), max_size=12))
def test_no_directory_name_breaks_out_of_its_quotes(name: str) -> None:
    layout = layout_of(f"/data/{name}")
    for table in tables(layout):
        keyword, path = identifiers(table)
        assert keyword == "delta"
        assert path.startswith(f"{layout.base}/")


@given(st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=12))
def test_no_url_breaks_out_of_its_quotes(name: str) -> None:
    assume(not set("\0{}") & set(name))
    layout = layout_of(f"s3a://bucket/{name}")
    for table in tables(layout):
        assert identifiers(table)[0] == "delta"
        assert identifiers(table)[1].startswith("s3a://bucket")
        assert len(identifiers(table)) == 2


@given(st.text(st.sampled_from("./a"), max_size=12))
def test_no_path_has_a_way_up_in_it(name: str) -> None:
    base = layout_of(f"/data/{name}").base
    assert base == os.path.normpath(base)
    assert ".." not in base.split("/")


def test_the_tables_of_a_store_never_share_a_place() -> None:
    for root in ("/data/pubsub", "main.pubsub"):
        found = [*tables(layout_of(root)), layout_of(root).messages(UID[::-1])]
        assert len(set(found)) == len(found)


@pytest.mark.parametrize("root", ["/", "//", "/data/{x}", "s3a://bucket/${env:HOME}", "schéma"])
def test_a_root_that_spark_would_read_otherwise_is_refused(root: str) -> None:
    """Spark replaces what stands in braces in SQL, and not in paths: two places for one store."""
    with pytest.raises(InvalidArgument, match="is not a root"):
        layout_of(root)
