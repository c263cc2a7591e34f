"""Names from anywhere: read as what they are, or refused by InvalidArgument; nothing escapes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pubsub_delta.names import (
    ResourceName,
    check_project,
    snapshot_name,
    subscription_name,
    topic_name,
)
from pubsub_delta.policy.paging import page
from pubsub_delta.resources import Page
from pubsub_delta.tables.layout import layout_of
from pubsub_delta.tables.store import new_uid
from tests.unit.hostile import LETTERS, is_refusal, outcome, texts, values

READERS = {"topics": topic_name, "subscriptions": subscription_name, "snapshots": snapshot_name}
each_collection = pytest.mark.parametrize("collection", sorted(READERS))

segments = st.sampled_from(
    ["projects", "topics", "subscriptions", "snapshots", "local", "flights", "goog", "..", ".", ""]
)
names = st.one_of(
    texts, st.lists(st.one_of(segments, st.text(LETTERS, max_size=6)), max_size=6).map("/".join)
)
no_names = values.filter(lambda value: not isinstance(value, str))

FULL = re.compile(
    r"projects/[A-Za-z0-9]([A-Za-z0-9\-._:]{0,61}[A-Za-z0-9])?"
    r"/(topics|subscriptions|snapshots)/(?!goog)[A-Za-z][A-Za-z0-9\-_.~+%]{2,254}"
)
"""What a full name is (Pub/Sub: resource names)."""


def read(collection: str, name: object) -> ResourceName | None:
    """Return what a name means, or None where it is refused."""
    told = outcome(lambda: READERS[collection](name, "local"))  # type: ignore[arg-type]
    parts = name.split("/") if isinstance(name, str) else []
    if is_refusal(told, name, *parts):
        return None
    assert isinstance(told, ResourceName)
    return told


@each_collection
@given(name=names)
@example(name="abc\n")
@example(name="projects/a:b/topics/abc")
@example(name="projects/../topics/abc")
def test_a_text_is_a_name_of_the_rule_or_refused(collection: str, name: str) -> None:
    found = read(collection, name)
    if found is not None:
        assert FULL.fullmatch(str(found))
        assert found.collection == collection
        assert str(found) == (name if "/" in name else f"projects/local/{collection}/{name}")


@each_collection
@given(name=no_names)
def test_what_is_no_text_is_no_name(collection: str, name: object) -> None:
    assert read(collection, name) is None


@each_collection
@given(data=st.data())
def test_a_valid_name_is_read_back_as_it_was(collection: str, data: st.DataObject) -> None:
    whole = FULL.pattern.replace("(topics|subscriptions|snapshots)", collection)
    name = data.draw(st.from_regex(whole, fullmatch=True))
    found = read(collection, name)
    assert found is not None
    assert (str(found), read(collection, str(found))) == (name, found)


@given(st.one_of(names, values))
@example("a\n")
def test_a_project_is_one_segment_of_a_name_or_refused(project: object) -> None:
    told = outcome(lambda: check_project(project))  # type: ignore[arg-type]
    if not is_refusal(told, project):
        assert told == project
        assert FULL.fullmatch(f"projects/{told}/topics/abc")


@each_collection
@given(one=names, other=names)
def test_two_names_never_mean_one_resource(collection: str, one: str, other: str) -> None:
    """A listing of a project is by what names begin with, so none may begin as another project."""
    found = [each for each in (read(collection, one), read(collection, other)) if each is not None]
    if len(found) == 2:
        assert (str(found[0]) == str(found[1])) == (found[0] == found[1])
        begins = str(found[1]).startswith(f"projects/{found[0].project}/")
        assert begins == (found[0].project == found[1].project)


def test_no_name_of_a_resource_is_part_of_a_path() -> None:
    """Tables are named by uid, which nobody chooses: ``..`` in a name leads nowhere."""
    uids = {new_uid() for _ in range(100)}
    assert len(uids) == 100
    assert all(re.fullmatch("[0-9a-f]{32}", uid) for uid in uids)
    assert layout_of("/data/pubsub").messages(min(uids)) == (
        f"delta.`/data/pubsub/messages/{min(uids)}`"
    )


@dataclass(frozen=True)
class Named:
    name: str


@given(
    st.lists(st.text("abc", min_size=1, max_size=3), unique=True, max_size=5).map(sorted),
    values,
    st.one_of(values, st.text("YWZ0ZXI6_-=", max_size=12)),
)
def test_a_page_token_is_one_that_was_given_or_refused(
    stored: Sequence[str], size: object, token: object
) -> None:
    items = [Named(each) for each in stored]
    told = outcome(lambda: page(items, size, token))  # type: ignore[arg-type]
    if not is_refusal(told, size, token):
        assert isinstance(told, Page)
        assert {each.name for each in told} <= set(stored)
