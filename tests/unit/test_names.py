"""Names of topics, subscriptions, snapshots and projects (spec section 1)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.names import (
    ResourceName,
    check_project,
    snapshot_name,
    subscription_name,
    topic_name,
)

Reader = Callable[[str, str], ResourceName]
READERS: list[tuple[Reader, str, str]] = [
    (topic_name, "topics", "topic"),
    (subscription_name, "subscriptions", "subscription"),
    (snapshot_name, "snapshots", "snapshot"),
]
readers = pytest.mark.parametrize(("read", "collection", "kind"), READERS)

LETTERS = "ABCXYZabcxyz"
REST = LETTERS + "0123456789-_.~+%"


@readers
@pytest.mark.parametrize(
    "resource_id",
    ["abc", "a" * 255, "Z-_.~+%9", "a%2F", "goo", "Google", "xgoog", "a..", "topics", "projects"],
)
def test_ids_that_keep_the_rule_are_accepted(
    read: Reader, collection: str, kind: str, resource_id: str
) -> None:
    # "^[A-Za-z][A-Za-z0-9\-_.~+%]{2,254}$, 3–255 characters, must not start with goog"
    assert read(resource_id, "p") == ResourceName("p", collection, resource_id)


@readers
@pytest.mark.parametrize(
    "resource_id",
    [
        "",
        "ab",
        "a" * 256,
        "1ab",
        "-ab",
        "_ab",
        "a b",
        "abc ",
        " abc",
        "abc\n",
        "a:b",
        "a`b",
        "añb",
        "goog",
        "google",
        "goog-topic",
        "a\0b",
        "a'b",
        "a?b",
        "*",
        "...",
        "٣bc",
        "ａbc",
    ],
)
def test_ids_that_break_the_rule_are_refused(
    read: Reader, collection: str, kind: str, resource_id: str
) -> None:
    """Every error says what was wrong, the offending value, and what would be accepted."""
    for name in (resource_id, f"projects/p/{collection}/{resource_id}"):
        with pytest.raises(InvalidArgument, match="3 to 255 characters are accepted") as raised:
            read(name, "p")
        assert f"{kind}: {resource_id!r}" in str(raised.value)


@given(st.text(LETTERS, min_size=1, max_size=1), st.text(REST, min_size=2, max_size=254))
def test_any_id_within_the_rule_is_read_as_it_stands(first: str, rest: str) -> None:
    name = topic_name("x" + first + rest[:253], "p")  # x, so that it never starts with goog
    assert (name.id, str(name)) == ("x" + first + rest[:253], f"projects/p/topics/{name.id}")


@readers
def test_a_short_id_means_the_default_project(read: Reader, collection: str, kind: str) -> None:
    assert str(read("flights", "mine")) == f"projects/mine/{collection}/flights"


@readers
def test_a_full_name_works_wherever_an_id_does(read: Reader, collection: str, kind: str) -> None:
    full = f"projects/theirs/{collection}/flights"
    assert str(read(full, "mine")) == full


@readers
@pytest.mark.parametrize(
    "name",
    [
        "projects/p/flights",
        "projects/p/schemas/flights",
        "/projects/p/{collection}/flights",
        "projects/p/{collection}/flights/",
        "projects/p/{collection}/a/flights",
        "Projects/p/{collection}/flights",
        "{collection}/flights",
        "a/b",
        "/",
        "///",
    ],
)
def test_what_only_resembles_a_full_name_is_refused(
    read: Reader, collection: str, kind: str, name: str
) -> None:
    with pytest.raises(InvalidArgument, match=rf"projects/{{project}}/{collection}/{{id}}"):
        read(name.format(collection=collection), "p")


@readers
@pytest.mark.parametrize("other", [collection for _, collection, _ in READERS])
def test_one_kind_of_resource_is_not_named_as_another(
    read: Reader, collection: str, kind: str, other: str
) -> None:
    name = f"projects/p/{other}/flights"
    if other == collection:
        assert str(read(name, "p")) == name
        return
    with pytest.raises(InvalidArgument, match=f"{kind}: .* not a full name"):
        read(name, "p")


@readers
@pytest.mark.parametrize("name", [None, 7, b"flights", ["flights"]])
def test_a_name_that_is_no_text_is_refused(
    read: Reader, collection: str, kind: str, name: object
) -> None:
    with pytest.raises(InvalidArgument, match=f"{kind}: .* a string is accepted"):
        read(name, "p")  # type: ignore[arg-type]


@pytest.mark.parametrize("project", ["p", "local", "my-project-1", "example.com:app", "1x", "a_b"])
def test_project_ids_are_accepted(project: str) -> None:
    assert check_project(project) == project


@pytest.mark.parametrize("project", ["", "-a", "a-", "a/b", "..", "a b", "a" * 64, "é", None, 1])
def test_project_ids_that_could_not_stand_in_a_name_are_refused(project: object) -> None:
    with pytest.raises(InvalidArgument, match="project: "):
        check_project(project)  # type: ignore[arg-type]
    if isinstance(project, str) and "/" not in project:
        with pytest.raises(InvalidArgument, match="project: "):
            topic_name(f"projects/{project}/topics/flights", "p")


def test_names_are_ordered_by_project_and_id() -> None:
    # "listing: ordered by name"
    names = [topic_name(each, "b") for each in ("zzz", "aaa")] + [topic_name("mmm", "a")]
    assert [str(each) for each in sorted(names)] == sorted(map(str, names))
