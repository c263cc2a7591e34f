"""Pages of listings (spec section 1: "ordered by name; page size and page token supported")."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.paging import page, page_in_order
from tests.unit.in_memory import TOPIC, InMemory
from tests.unit.schema_cases import PROTO


@dataclass(frozen=True)
class Named:
    name: str


def named(*names: str) -> list[Named]:
    return [Named(name) for name in names]


def test_a_listing_is_ordered_by_name() -> None:
    found = page(named("b", "c", "a"), None, None)
    assert found == named("a", "b", "c")
    assert found.next_page_token == ""


def test_a_listing_of_nothing_is_one_empty_page() -> None:
    found = page(named(), 5, None)
    assert (found, found.next_page_token) == ([], "")


@given(st.sets(st.text(min_size=1, max_size=5)), st.integers(1, 5))
def test_pages_joined_are_the_whole_listing(names: set[str], page_size: int) -> None:
    items = named(*names)
    pages = [page(items, page_size, None)]
    while pages[-1].next_page_token and len(pages) <= len(names):
        pages.append(page(items, page_size, pages[-1].next_page_token))
    assert [item for each in pages for item in each] == sorted(items, key=lambda item: item.name)
    assert all(len(each) == page_size for each in pages[:-1])
    assert bool(pages[-1]) == bool(items)  # the last page is never empty for nothing


def test_a_token_names_a_place_not_an_item() -> None:
    """What is created or deleted between two pages neither repeats nor hides anything else."""
    token = page(named("a", "c", "e"), 2, None).next_page_token
    assert page(named("a", "b", "d", "e"), 2, token) == named("d", "e")


def test_an_empty_token_means_the_first_page() -> None:
    assert page(named("b", "a"), 1, "") == page(named("b", "a"), 1, None) == named("a")


@pytest.mark.parametrize(
    "token",
    ["x", "nonsense", "YWZ0ZXI", "é", "\ud800", "a b", 7, b"YWZ0ZXI6YQ=="]
    + [base64.urlsafe_b64encode(raw).decode() for raw in (b"before:a", b"after:\xff", b"after")],
)
def test_a_bad_token_is_refused(token: object) -> None:
    # "INVALID_ARGUMENT on a bad token"
    with pytest.raises(InvalidArgument, match=r"page_token: .* next_page_token of the page before"):
        page(named("a"), 1, token)  # type: ignore[arg-type]


def test_a_token_of_another_listing_is_refused() -> None:
    """Else it would show a page of names that stand anywhere, or none at all."""
    store = InMemory().store
    for project in ("p", "q"):
        for letter in "ab":
            store.create_topic(f"projects/{project}/topics/topic-{letter}")
            reader = f"projects/{project}/subscriptions/reader-{letter}"
            store.create_subscription(reader, TOPIC)
            store.create_snapshot(f"projects/{project}/snapshots/kept-{letter}", reader)
            name = f"projects/{project}/schemas/schema-{letter}"
            store.create_schema(name, "PROTOCOL_BUFFER", PROTO)
    of_project: list[Any] = [
        partial(listing, project=project)
        for project in ("p", "q")
        for listing in (
            store.list_topics, store.list_subscriptions, store.list_snapshots, store.list_schemas
        )
    ]  # fmt: skip
    of_topic: list[Any] = [
        partial(store.list_topic_subscriptions, TOPIC),
        partial(store.list_topic_snapshots, TOPIC),
    ]
    for listings in (of_project, of_topic):
        tokens = [listing(page_size=1).next_page_token for listing in listings]
        for asked, listing in enumerate(listings):
            assert listing(page_token=tokens[asked])
            for of_other, token in enumerate(tokens):
                if of_other != asked:
                    with pytest.raises(InvalidArgument, match="not a page token of this listing"):
                        listing(page_token=token)


@pytest.mark.parametrize("after", [b"x", b"", b"-", b"--5", b"1-", b"9" * 5000, b"\xd9\xa5"])
def test_a_token_of_numbered_items_names_a_number(after: bytes) -> None:
    token = base64.urlsafe_b64encode(b"after:" + after).decode()
    with pytest.raises(InvalidArgument, match=r"page_token: .* next_page_token of the page before"):
        page_in_order([(1, "a")], 1, token)


@pytest.mark.parametrize("page_size", [0, -1, True, 1.5, "2"])
def test_a_page_size_out_of_range_is_refused(page_size: object) -> None:
    with pytest.raises(InvalidArgument, match=r"page_size: .* 1 or more is accepted"):
        page(named("a"), page_size, None)  # type: ignore[arg-type]


@given(st.lists(st.integers(-50, 50), unique=True), st.integers(1, 5))
def test_pages_of_what_keeps_its_order_have_each_item_once(
    numbers: list[int], page_size: int
) -> None:
    """Revisions of a schema: they have rising numbers, which they keep when others are deleted."""
    items = [(number, str(number)) for number in sorted(numbers)]
    pages = [page_in_order(items, page_size, None)]
    while pages[-1].next_page_token and len(pages) <= len(items):
        pages.append(page_in_order(items, page_size, pages[-1].next_page_token))
    assert [item for each in pages for item in each] == [item for _, item in items]
    assert bool(pages[-1]) == bool(items)
