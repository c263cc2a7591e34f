"""What formats and filters make of values of another kind than usual, as gcloud does."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import yaml

from pubsub_delta.cli.documents import config, yaml_text
from pubsub_delta.cli.formats import parse_format, sorted_by
from pubsub_delta.cli.grammar.context import Context
from pubsub_delta.cli.grammar.filters import parse_filter
from pubsub_delta.cli.grammar.keys import parse_key, value_at
from pubsub_delta.cli.grammar.syntax import unquoted
from pubsub_delta.cli.printing import render
from pubsub_delta.errors import InvalidArgument
from tests.unit.test_cli_transforms import made

UTC = timezone.utc
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "calls", "found"),
    [
        (["a/b", "c/d"], "basename()", ["b", "d"]),
        (None, "encode(base64)", ""),
        (None, "encode(base64,undefined=none)", "none"),
        (b"\xff", "encode(utf-8)", ""),
        (b"\xff", "encode(utf-8,undefined=none)", "none"),
        ("text", "encode(no-such,undefined=none)", "none"),
        ([["a", "b"], ["c"]], "flatten()", "a,b,c"),
        ([1, 2], "flatten(separator=;)", "1;2"),
        ("", "scope(topics)", ""),
        (None, "scope(topics)", ""),
        (123_456_789, "float()", "123456789.0"),
        (1_234_567_890, "float()", "1.23457e+09"),
        (1_234_567_890, "float(precision=4,spec=e)", "1.2346e+09"),
        (0.00001, "float()", "1e-05"),
        (1536, "size(units_out=K)", "1.5"),
        (3, "size(units_in=MiB,units_out=K,precision=0)", "3072"),
        (1536, "size(units_out=bytes)", "1.5 KiB"),
        ([2, "10", 1], "sort()", [1, "10", 2]),
        ([3, 1, 2], "sort()", [1, 2, 3]),
        (NOON, "date(%H:%M)", "12:00"),
        (1e30, "date(undefined=none)", "none"),
        (NOON, "date(%H:%M,tz=LOCAL)", "12:00"),
        ({"b": NOON, "e": NOON + timedelta(minutes=5)}, "duration(start=b,end=e)", "PT5M"),
        ({"b": NOON, "e": NOON - timedelta(seconds=5)}, "duration(start=b,end=e)", "-PT5S"),
        ({"b": NOON, "e": "never"}, "duration(start=b,end=e,undefined=none)", "none"),
        ({}, "duration(start=b,undefined=none)", "none"),
    ],
)
def test_a_transform_of_another_kind_of_value(value: Any, calls: str, found: Any) -> None:
    """gcloud topic projections: each transform has a result for what it cannot transform."""
    assert made(value, calls) == found


def test_settings_are_those_of_a_mapping() -> None:
    """gcloud topic formats: config has sections, and with ``export`` shell commands."""
    assert config(["a"], {}) == ""
    value = {"items": [1, "b c"], "name": "\u00e9"}
    assert config(value, {}) == "name = \u00e9\n[items]\n0 = 1\n1 = b c\n"
    exported = "export items_I0=1\nexport items_I1='b c'\nexport name='\u00e9'\n"
    assert config(value, {"export": ""}) == exported
    assert config(value, {"unset": ""}) == "unset items_I0\nunset items_I1\nunset name\n"


@pytest.mark.parametrize(
    ("text", "record", "is_found"),
    [
        ("", {}, True),
        ("  ", {"a": 1}, True),
        ("has(a)", {"a": 1}, None),
        ("a.yes()", {"a": 1}, None),
        ("a~x", {"a": {"b": "x"}}, False),
        ("a!~y", {"a": {"b": "x"}}, False),
        ("a!~y", {"a": "x"}, True),
        ("late", {"a": [{"b": "too LATE"}]}, True),
        ("late", {"a": ["in time", ("on", "time")]}, False),
        ("late", {"a": ["in time", "LATE"]}, True),
        ("late", {"a": ("on", {"b": [1, "late"]})}, True),
        ("late", {"a": "in time", "b": {"c": "in time", "d": "late"}}, True),
        ("a:late", {"a": ["in time", "late"]}, True),
        ("a=late", {"a": {"b": "in time", "c": "late"}}, True),
        ("a[0]=x", {"a": ["x", "y"]}, True),
        ("a[-1]=y", {"a": ["x", "y"]}, True),
        ("a[2]=x", {"a": ["x", "y"]}, False),
        ("NOT a[2]:*", {"a": ["x", "y"]}, True),
        ("a=AND", {"a": "AND"}, None),
        ("AND=a", {"a": "AND"}, None),
        ("OR", {"a": "OR"}, None),
        ('a="AND"', {"a": "AND"}, True),
        ("a>(1 2)", {"a": 3}, None),
    ],
)
def test_a_filter_of_another_kind_of_term(text: str, record: Any, is_found: bool | None) -> None:
    """gcloud topic filters. None: it is refused, and the error points at its place."""
    if is_found is None:
        with pytest.raises(InvalidArgument, match="filter"):
            parse_filter(text, Context())
    else:
        assert parse_filter(text, Context()).matches(record) is is_found


@pytest.mark.parametrize("form", ["table", "table[box]", "table[no-heading]", "table[title=T]"])
def test_a_table_without_a_column_is_nothing(form: str) -> None:
    """gcloud topic formats: a column that is optional is left out if all of it is empty."""
    drawn = parse_format(f"{form}(absent:optional)")
    assert render([{"name": "a"}, {"name": "b"}], drawn, single=False) == ""
    also = parse_format("table(absent:optional,name)")
    assert render([{"name": "a"}], also, single=False) == "NAME\na\n"


def test_a_key_of_an_item_that_is_not_there_finds_nothing() -> None:
    record = {"a": [{"b": 1}, {"b": 2}]}
    assert value_at(record, parse_key("a[1].b")) == 2
    assert value_at(record, parse_key("a[-2].b")) == 1
    assert value_at(record, parse_key("a[2].b")) is None
    assert value_at(record, parse_key("a[-3].b")) is None
    assert value_at(record, parse_key("a.b")) == [1, 2]


@pytest.mark.parametrize(
    "text", ["a\xadb", "a\xa0b", "\x9bz", "\x7f", "\u200ex", "\u2028q", "\U000e0001y", "\x1b[0m"]
)
def test_yaml_has_no_character_that_is_not_seen_and_reads_as_it_was(text: str) -> None:
    """ "Control characters are written out there in every format", and a reader gets them back."""
    written = yaml_text({"a": text})
    assert written.replace("\n", "").isprintable()
    assert yaml.safe_load(written) == {"a": text}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("plain", "plain"),
        ("'my topic'", "my topic"),
        ('"my topic"', "my topic"),
        ("""'say "hi"'""", 'say "hi"'),
        ('"it\'s"', "it's"),
        ('pr"o"d', "prod"),
        (r"it\'s", "it's"),
        (r"a\"b", 'a"b'),
        (r"a\\b", r"a\b"),
        (r"a\d", r"a\d"),
        (r"'a\'b'", "a'b"),
        (r"""'a\"b'""", r"""a\"b"""),
        (r"'a\\b'", r"a\b"),
        ("a\\", "a\\"),
        ("''", ""),
    ],
)
def test_a_word_loses_its_quotes_and_keeps_those_of_the_other_kind(text: str, word: str) -> None:
    assert unquoted(text) == word


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([("size", False)], "bca"),
        ([("size", True)], "acb"),
        ([("name", True)], "cba"),
        ([("kind", False), ("size", True)], "cba"),
        ([("kind", True), ("name", False)], "abc"),
    ],
)
def test_a_table_is_sorted_by_keys_that_it_shows_or_not(
    keys: list[tuple[str, bool]], expected: str
) -> None:
    """``--sort-by``: "a comma-separated list of resource field key names to sort by"."""
    records = [
        {"name": "a", "size": 3, "kind": "y"},
        {"name": "b", "size": 1, "kind": "x"},
        {"name": "c", "size": 2, "kind": "x"},
    ]
    form = parse_format("table[no-heading](name,size)")
    drawn = sorted_by(form, [(parse_key(key), reverse) for key, reverse in keys])
    assert [each.heading for each in drawn.fields] == ["NAME", "SIZE"]
    assert "".join(line[0] for line in render(records, drawn).splitlines()) == expected


@pytest.mark.parametrize(
    ("title", "columns", "drawn"),
    [
        ("", "a,b", ["┌───┬───┐", "│ A │ B │", "├───┼───┤", "│ 1 │ 2 │", "└───┴───┘"]),
        ("12", "a,b", ["┌───────┐", "│   12  │"]),
        ("123", "a,b", ["┌───────────┐", "│    123    │"]),
        ("1234", "a,b", ["┌───────────┐", "│    1234   │"]),
        ("1", "a", ["┌───┐", "│ 1 │"]),
        ("12", "a", ["┌─────┐", "│  12 │"]),
    ],
)
def test_a_box_is_wide_enough_for_its_title(title: str, columns: str, drawn: list[str]) -> None:
    """As gcloud draws it: each column gets an equal part of the title."""
    given = f"[box,title='{title}']" if title else "[box]"
    lines = render([{"a": "1", "b": "2"}], parse_format(f"table{given}({columns})")).splitlines()
    assert lines[: len(drawn)] == drawn
    assert len(set(map(len, lines))) == 1


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("\x00", "\\x00"),
        ("\xff\x9b", "ÿ\\x9b"),
        ("\u0100", "Ā"),
        ("\u202e", "\\u202e"),
        ("\uffff", "\\uffff"),
        ("\U00010000", "\U00010000"),
        ("\U0010ffff", "\\U0010ffff"),
    ],
)
def test_what_cannot_be_shown_is_escaped_with_as_many_digits_as_it_needs(
    text: str, written: str
) -> None:
    from pubsub_delta.cli.documents import _in_quotes
    from pubsub_delta.cli.terminal import escaped

    assert escaped(text, _in_quotes) == written


@pytest.mark.parametrize("text", ["multi(labels)", "multi(name:format=json,labels)", "multi()"])
def test_the_error_of_a_format_shows_the_format(text: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        parse_format(text)
    assert str(error.value).startswith(f"format: {text!r}: ")


def test_a_format_without_a_kind_is_told_as_it_is_given() -> None:
    for text in ("(name)", "[box](name)"):
        with pytest.raises(InvalidArgument) as error:
            parse_format(text)
        assert str(error.value).startswith(f"format: {text!r}: no kind is named; config, default")
