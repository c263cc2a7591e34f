"""Messages that tasks publish: the check by column lets nothing pass that the rules do not."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pubsub_delta import InvalidArgument
from pubsub_delta.datasource import validation
from pubsub_delta.datasource.validation import checked
from pubsub_delta.delivery.message_rows import checked_rows
from pubsub_delta.tables.schemas import TEXT_BY_TEXT

COLUMNS = ["ordering_key", "attributes", "data"]


def batch(*rows: tuple[Any, Any, Any]) -> pa.RecordBatch:
    data, attributes, keys = zip(*rows, strict=True)
    return pa.record_batch(
        {
            "data": pa.array(data, pa.binary()),
            "attributes": pa.array([each and list(each) for each in attributes], TEXT_BY_TEXT),
            "ordering_key": pa.array(keys, pa.string()),
        }
    )


def one_by_one(rows: pa.RecordBatch) -> object:
    try:
        return checked_rows(pa.Table.from_batches([rows]), None).select(COLUMNS).to_pylist()
    except InvalidArgument as error:
        return str(error)


def by_column(rows: pa.RecordBatch) -> object:
    try:
        return checked(rows).select(COLUMNS).to_pylist()
    except InvalidArgument as error:
        return str(error)


TEXTS = st.sampled_from(
    ["", "a", "é", "goog", "goo", "GooGle", "x" * 256, "x" * 257, "x" * 1024, "x" * 1025]
)
ATTRIBUTES = st.none() | st.lists(st.tuples(TEXTS, TEXTS | st.none()), max_size=3)
DATA = st.sampled_from([None, b"", b"a", b"\xff", b"x" * 5000])
ROWS = st.lists(st.tuples(DATA, ATTRIBUTES, st.none() | TEXTS), min_size=1, max_size=4)


@given(ROWS)
@example([(b"a", [("GooGle", "")], None)])
@example([(b"a", [("a", "b"), ("GooGle", "")], None)])
def test_both_checks_agree(rows: list[tuple[Any, Any, Any]]) -> None:
    """A null in an attribute is refused by the one that tells the rule."""
    assert by_column(batch(*rows)) == one_by_one(batch(*rows))


@pytest.mark.parametrize(
    ("attributes", "key"),
    [
        ([("", "v")], None),
        ([("x" * 256, "v")], None),
        ([("x" * 257, "v")], None),
        ([("k", "x" * 1024)], None),
        ([("k", "x" * 1025)], None),
        ([("k", None)], None),
        ([("GOOG", "v")], None),
        ([("googclient_x", "v")], None),
        ([("k", "v"), ("k", "w")], None),
        ([(f"k{number}", "v") for number in range(101)], None),
        (None, None),
        ([], "x" * 1024),
        ([], "x" * 1025),
    ],
)
def test_the_bounds_of_every_rule_are_those_of_the_check_one_by_one(
    attributes: Any, key: str | None
) -> None:
    """A DataFrame publishes what a list publishes, beside usual messages too, and no more."""
    given = batch((b"a", [], "usual"), (b"a", attributes, key))
    assert by_column(given) == one_by_one(given)


def test_usual_messages_are_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "checked_rows", None)
    made = checked(batch((b"a", [("k", "v"), ("l", "v")], "key"), (b"b", [], None)))
    assert made.to_pylist() == [
        {"ordering_key": "key", "attributes": [("k", "v"), ("l", "v")], "data": b"a"},
        {"ordering_key": "", "attributes": [], "data": b"b"},
    ]
    texts = checked(pa.record_batch({"data": pa.array(["ä"]), "message_id": pa.array(["1"])}))
    assert texts["data"].to_pylist() == ["ä".encode()]


def test_a_text_that_is_no_utf_8_is_refused() -> None:
    text = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    )
    with pytest.raises(InvalidArgument, match="not UTF-8"):
        checked(pa.record_batch({"data": text}))


@pytest.mark.parametrize("size", [1_000_001, 10_000_001])
def test_large_messages_are_looked_at_one_by_one(size: int) -> None:
    rows = batch((b"x" * size, [], None))
    assert by_column(rows) == one_by_one(rows)


USUAL = [("k", "v")]


@pytest.mark.parametrize(
    ("columns", "is_usual"),
    [
        ({"data": [b"a"]}, True),
        ({"data": ["a"]}, True),
        ({"data": [b"a"], "ordering_key": ["x" * 1024]}, True),
        ({"data": [b"a"], "attributes": [[(f"k{n}", "v") for n in range(10)]]}, True),
        ({"data": [b"a"], "attributes": [[(f"k{n}", "v") for n in range(11)]]}, False),
        ({"data": [b"a"], "attributes": [[("x" * 256, "v" * 1024)]]}, True),
        ({"data": [b"a", b"b"], "attributes": [[("k", "v")], [("k", "v")]]}, True),
        ({"data": [b"a"], "attributes": [[("goo", "v"), ("xgoog", "goog")]]}, True),
        ({"data": [b"x" * 1_000_000]}, True),
        ({"data": [b"x" * 1_000_001]}, False),
        ({"attributes": [USUAL]}, False),
        ({"data": [None], "attributes": [USUAL]}, False),
        ({"data": [b""], "attributes": [USUAL]}, False),
        ({"data": [b"a"], "attributes": [None]}, False),
        ({"ordering_key": ["k"], "attributes": [USUAL]}, False),
    ],
)
def test_the_check_by_column_decides_about_usual_messages_and_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch, columns: dict[str, Any], is_usual: bool
) -> None:
    """Columns may be absent: a message needs "data or at least one attribute"."""
    asked: list[int] = []

    def counted(table: pa.Table, validator: None) -> pa.Table:
        asked.append(table.num_rows)
        return checked_rows(table, validator)

    types = {"attributes": TEXT_BY_TEXT, "ordering_key": pa.string()}
    given = pa.record_batch(
        {
            name: pa.array(of, types.get(name, pa.string() if "a" in of else pa.binary()))
            for name, of in columns.items()
        }
    )
    monkeypatch.setattr(validation, "checked_rows", counted)
    assert by_column(given) == one_by_one(given)
    assert (not asked) is is_usual
