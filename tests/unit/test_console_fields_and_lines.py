"""How the console writes durations, pairs and rows into fields, and when a resource has changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

pytest.importorskip("fastapi")

from pubsub_delta.console import message_data
from pubsub_delta.console.formatting import visible
from pubsub_delta.console.forms import duration_values, fits_line, pairs_text, pairs_values
from pubsub_delta.console.message_data import Node, json_tree, schema_view
from pubsub_delta.console.resource_changes import fingerprint
from pubsub_delta.table_config import TableConfig
from tests.unit.builders import PLAIN


@pytest.mark.parametrize(
    ("length", "fields"),
    [
        (timedelta(0), ("0", "0", "0")),
        (timedelta(seconds=59), ("0", "0", "0")),
        (timedelta(minutes=59), ("0", "0", "59")),
        (timedelta(minutes=60), ("0", "1", "0")),
        (timedelta(hours=23, minutes=59), ("0", "23", "59")),
        (timedelta(days=1), ("1", "0", "0")),
        (timedelta(days=31), ("31", "0", "0")),
        (timedelta(days=30, hours=5, minutes=7, seconds=9), ("30", "5", "7")),
    ],
)
def test_a_duration_is_shown_in_days_hours_and_minutes(
    length: timedelta, fields: tuple[str, str, str]
) -> None:
    """ "Without its seconds"."""
    days, hours, minutes = fields
    assert duration_values("kept", length) == {
        "kept_days": days,
        "kept_hours": hours,
        "kept_minutes": minutes,
    }


@pytest.mark.parametrize(
    ("key", "value", "fits"),
    [
        ("a", "b", True),
        ("a", "", True),
        ("a", " b=c ", True),
        ("a b", "c", True),
        ("a=b", "c", False),
        (" a", "b", False),
        ("a ", "b", False),
        ("a\nb", "c", False),
        ("a", "b\nc", False),
        ("a", "b\rc", False),
    ],
)
def test_a_line_holds_a_pair_that_is_read_as_it_was(key: str, value: str, fits: bool) -> None:
    assert fits_line(key, value) is fits
    lines, kept = (f"{key}={value}", "") if fits else ("", visible(key))
    assert pairs_values("labels", {key: value}) == {"labels": lines, "labels_kept": kept}


def test_pairs_stand_in_their_order_one_in_a_line() -> None:
    assert pairs_text({"b": "1", "a": "2=3", "c": ""}) == "b=1\na=2=3\nc="
    assert pairs_values("x", {"b": "1", "a=": "2", "c": "", " d": ""}) == {
        "x": "b=1\nc=",
        "x_kept": "a=,  d",
    }


def test_a_fingerprint_changes_with_each_field_and_with_nothing_else() -> None:
    """The order of labels is none of them, nor is the state of its table."""
    labelled = replace(PLAIN, labels={"a": "1", "b": "2"})
    assert fingerprint(labelled) == fingerprint(replace(PLAIN, labels={"b": "2", "a": "1"}))
    table = TableConfig("shop.orders")
    changes: list[dict[str, Any]] = [
        {},
        {"labels": {"a": "1"}},
        {"labels": {"a": "2"}},
        {"labels": {"1": "a"}},
        {"filter": "attributes:a"},
        {"ack_deadline_seconds": 11},
        {"retain_acked_messages": True},
        {"uid": "another"},
        {"table_config": table},
        {"table_config": replace(table, write_metadata=True)},
    ]
    prints = [fingerprint(replace(PLAIN, **each)) for each in changes]
    assert len({*prints}) == len(changes)
    assert all(len(each) == 32 for each in prints)


def test_json_of_a_page_has_a_largest_size() -> None:
    """ "None if it is not a JSON object or list, or is too large"."""
    most = message_data.MAX_TEXT_BYTES
    assert json_tree(b"[" + b" " * (most - 2) + b"]") == Node("", "list", "0 items")
    assert json_tree(b"[" + b" " * (most - 1) + b"]") is None
    for other in (b"7", b'"a"', b"", b" ", b"null", b"[", b"{]", b"\xff"):
        assert json_tree(other) is None


def test_values_of_every_type_are_written_by_a_schema() -> None:
    """A map is a list of pairs; a list of other things, and one of nothing, is a list."""
    fields = {
        "map": [("k", b"\x01\xff"), ("l", None)],
        "list": [1, 2.5],
        "none": [],
        "mixed": [("k", 1), 2],
        "yes": True,
        "record": {"a": "b"},
        "other": timedelta(seconds=1),
    }
    view = schema_view(fields, "flights")
    assert (view.name, view.label) == ("schema", "By schema flights")
    assert view.tree is not None
    parts = {each.name: each for each in view.tree.parts}
    assert parts["map"] == Node(
        "map", "object", "2 fields", (Node("k", "text", "01 ff"), Node("l", "constant", "null"))
    )
    assert parts["list"] == Node(
        "list", "list", "2 items", (Node("0", "number", "1"), Node("1", "number", "2.5"))
    )
    assert parts["none"] == Node("none", "list", "0 items")
    assert (parts["mixed"].kind, parts["mixed"].text) == ("list", "2 items")
    assert parts["yes"] == Node("yes", "constant", "true")
    assert parts["record"] == Node("record", "object", "1 field", (Node("a", "text", "b"),))
    assert parts["other"] == Node("other", "text", "0:00:01")
