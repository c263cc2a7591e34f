"""How views are called, so that nobody reads the messages of another topic by a plain name."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.view_names import (
    LONGEST,
    LONGEST_COMMENT,
    backlog_view,
    check_prefix,
    comment,
    distinct,
    topic_view,
)

ids = st.from_regex(r"[A-Za-z][A-Za-z0-9\-_.~+%]{2,254}", fullmatch=True)


@given(st.dictionaries(ids.map(lambda name: f"projects/p/topics/{name}"), ids, max_size=6))
def test_every_view_has_a_name_of_its_own_that_hives_metastore_takes(
    wanted: dict[str, str],
) -> None:
    # "gives `orders` and `orders_billing_backlog`-like views"
    found = distinct({resource: topic_view(name) for resource, name in wanted.items()}, "p_")
    assert found.keys() == wanted.keys()
    assert len({name.casefold() for name in found.values()}) == len(wanted)
    for name in found.values():
        assert name.isascii()
        assert name.replace("_", "a").isalnum()
        assert name.startswith("p_")
        assert len(name) <= LONGEST


def test_a_name_that_one_resource_has_is_plain() -> None:
    names = distinct({"a": topic_view("orders"), "b": backlog_view("orders", "billing")})
    assert names == {"a": "orders", "b": "orders_billing_backlog"}


def test_of_two_with_one_name_neither_has_it_whatever_else_is_there() -> None:
    alone = distinct({"x": "orders_a"})
    both = distinct({"x": "orders_a", "y": "Orders_A", "z": "other"})
    assert alone == {"x": "orders_a"}
    assert both["z"] == "other"
    assert not {"orders_a"} & {name.casefold() for name in both.values()}
    assert distinct({"x": "orders_a", "w": "orders_A"})["x"] == both["x"]


def test_a_topic_that_is_called_as_the_view_of_another_has_a_view_of_its_own() -> None:
    # "If two resources would have the same view, […] both names end with eight digits of a digest."
    wanted = {"topics/a-b": "a_b", "topics/A.b": "A_b"}
    ended = distinct(wanted)["topics/a-b"]
    for _ in range(3):
        wanted[f"topics/{ended}"] = ended
        found = distinct(wanted)
        assert len({name.casefold() for name in found.values()}) == len(wanted)
        ended = found[f"topics/{ended}"]


def test_a_reserved_name_is_not_given_out() -> None:
    assert distinct({"x": "Topics"}, reserved=["topics"])["x"].startswith("Topics_")
    assert distinct({"x": "Topics"}, "p_", reserved=["topics"]) == {"x": "p_Topics"}


def test_a_long_name_is_cut_and_stays_another_one() -> None:
    a, b = distinct({"x": "o" * 300, "y": "o" * 301}).values()
    assert (len(a), len(b), a == b) == (LONGEST, LONGEST, False)
    assert distinct({"x": "o" * LONGEST}) == {"x": "o" * LONGEST}, "it fits, and stays as it is"


@pytest.mark.parametrize("prefix", ["a-b", "`", "é", "a" * 65, None, 7])
def test_a_prefix_that_not_every_catalog_takes_is_refused(prefix: object) -> None:
    with pytest.raises(InvalidArgument, match="prefix: "):
        check_prefix(prefix)  # type: ignore[arg-type]


@pytest.mark.parametrize("length", [6, 60, 80, 100, 255])
@pytest.mark.parametrize("project", ["local", "p" * 63], ids=["short", "long"])
def test_a_comment_is_one_that_hives_metastore_takes(length: int, project: str) -> None:
    """A column's comment has 256 letters there; what tells whose a view is stands in it whole."""
    of = f"projects/{project}/subscriptions/{'b' * length}"
    rest = {"project": project, "view": "f" * 16, "store": "0" * 16, "digest": "1" * 16}
    text = comment({"of": of, **rest})
    assert len(text) <= LONGEST_COMMENT
    told = json.loads(text.removeprefix("pubsub_delta "))
    assert of.endswith(told.pop("of"))
    assert told == rest
