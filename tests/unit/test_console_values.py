"""How the console writes figures, texts and the data of messages, at the rims of each form."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

pytest.importorskip("fastapi")
from pubsub_delta import SchemaSettings
from pubsub_delta.console import formatting, message_data
from pubsub_delta.console.message_data import data_views, json_tree
from pubsub_delta.console.message_search import summary

FIGURES: list[tuple[Callable[[Any], str], Any, str]] = [
    (formatting.count, 0, "0"),
    (formatting.count, 999, "999"),
    (formatting.count, 1_000, "1,000"),
    (formatting.size, 0, "0 B"),
    (formatting.size, 999, "999 B"),
    (formatting.size, 1_000, "1.0 kB"),
    (formatting.size, 999_900, "999.9 kB"),
    (formatting.size, 1_000_000, "1.0 MB"),
    (formatting.size, 1_000_000_000, "1.0 GB"),
    (formatting.size, 10**12, "1.0 TB"),
    (formatting.size, 10**15, "1000.0 TB"),
    (formatting.rate, 0.0001, "0.4 /h"),
    (formatting.rate, 0.0016, "5.8 /h"),
    (formatting.rate, 0.1 / 60, "0.1 /min"),
    (formatting.rate, 0.49, "29.4 /min"),
    (formatting.rate, 0.5, "0.5 /s"),
    (formatting.rate, 1.2, "1.2 /s"),
    (formatting.rate, 9.9, "9.9 /s"),
    (formatting.rate, 10, "10 /s"),
    (formatting.rate, 999.6, "1,000 /s"),
    (formatting.duration, 0, "0 s"),
    (formatting.duration, 0.04, "0.0 s"),
    (formatting.duration, 0.96, "1.0 s"),
    (formatting.duration, 1, "1 s"),
    (formatting.duration, 60, "1 min"),
    (formatting.duration, 86_400 + 59, "1 d"),
    (formatting.duration, timedelta(hours=25, minutes=1), "1 d 1 h"),
    (formatting.visible, "a\tb\nc", "a\tb\nc"),
    (formatting.visible, "\x00\x1f\x7f\x9f", "\\x00\\x1f\\x7f\\x9f"),
    (formatting.visible, "\ud800", "\\ud800"),  # JSON may have it, and no page in UTF-8
    (formatting.visible, "\u2028\u2029\u202e\u2066", "\\u2028\\u2029\\u202e\\u2066"),
    (formatting.visible, "\xff\u0100", "ÿĀ"),
    (formatting.schema, None, "none"),
    (formatting.schema, SchemaSettings("s", "BINARY"), "s, in BINARY"),
    (
        formatting.schema,
        SchemaSettings("s", "JSON", first_revision_id="a", last_revision_id="b"),
        "s, in JSON, revisions a to b",
    ),
    (
        formatting.schema,
        SchemaSettings("s", "JSON", last_revision_id="b"),
        "s, in JSON, revisions the first to b",
    ),
]


@pytest.mark.parametrize(("write", "value", "text"), FIGURES)
def test_a_value_is_written_in_the_unit_that_suits_it(
    write: Callable[[Any], str], value: Any, text: str
) -> None:
    assert write(value) == text


@pytest.mark.parametrize(
    ("name", "project", "short"),
    [
        ("projects/local/topics/a", "local", "a"),
        ("projects/other/topics/a", "local", "projects/other/topics/a"),
        ("_deleted-topic_", "local", "_deleted-topic_"),
    ],
)
def test_a_name_is_short_in_its_own_project_alone(name: str, project: str, short: str) -> None:
    assert formatting.short_id(name, project) == short


def names(data: bytes, whole: int | None = None) -> list[str]:
    return [view.name for view in data_views(data, len(data) if whole is None else whole)]


@pytest.mark.parametrize(
    ("data", "views"),
    [
        (b"", ["text", "hex"]),
        (b"a", ["text", "hex"]),
        (b"7", ["text", "hex"]),
        (b'"a"', ["text", "hex"]),
        (b" [1]", ["json", "text", "hex"]),
        (b"\n{}", ["json", "text", "hex"]),
        (b"{", ["text", "hex"]),
        (b"[" * 100_000, ["text", "hex"]),
        ("é".encode(), ["text", "hex"]),
        ("é".encode()[:1], ["hex"]),
        (b"a\xff", ["hex"]),
    ],
)
def test_data_is_shown_in_each_way_that_it_can_be_read(data: bytes, views: list[str]) -> None:
    assert names(data) == views


@pytest.mark.parametrize("letter", ["é", "€", "😀"])
def test_a_letter_that_was_cut_does_not_make_bytes_of_a_text(letter: str) -> None:
    """A page shows the beginning of large data, which may end within a letter."""
    whole = f"text {letter}".encode()
    for cut in range(1, len(letter.encode())):
        data = whole[: len(whole) - cut]
        assert names(data, len(whole)) == ["text", "hex"]
        assert data_views(data, len(whole))[0].text == "text "
        assert names(data) == ["hex"], "the message itself is no text"
    assert names(b"text \xff\xff\xff\xff", 100) == ["hex"]


def test_a_note_tells_what_a_page_leaves_out_and_is_missing_where_all_is_shown() -> None:
    text, hex_ = data_views(b"abc", 3)
    assert (text.note, hex_.note) == ("", "")
    text, hex_ = data_views(b"abc", 2_000_000)
    assert text.note == "The beginning of 2,000,000 bytes; a download has all of them"
    assert "of 2,000,000 bytes" in hex_.note
    full = b"a" * message_data.MAX_TEXT_BYTES
    assert data_views(full, len(full))[0].note == ""
    assert "a download has all" in data_views(full + b"a", len(full) + 1)[0].note
    first = b"a" * message_data._HEX_BYTES
    assert data_views(first, len(first))[-1].note == ""
    assert data_views(first + b"a", len(first) + 1)[-1].note != ""


def test_of_a_deep_or_long_value_the_rest_is_told_and_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(message_data, "MAX_NODES", 4)
    tree = json_tree(b"[1, 2, 3, 4, 5]")
    assert tree is not None
    assert [each.text for each in tree.parts][:3] == ["1", "2", "3"]
    assert tree.parts[-1].name == "…"
    assert len(tree.parts) == 4
    assert tree.text == "5 items"
    monkeypatch.setattr(message_data, "_DEEPEST", 1)
    tree = json_tree(b'{"a": {"b": 1}}')
    assert tree is not None
    (inner,) = tree.parts
    assert [each.name for each in inner.parts] == ["…"]
    assert (tree.text, inner.kind) == ("1 field", "object")


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (("ä" * 200).encode(), "ä" * 80),
        (b"x" + ("ä" * 200).encode(), "x" + "ä" * 79),
        (b"\xff" * 60, " ".join(["ff"] * 48)),
        (b"ok \xff", "ok"),
    ],
)
def test_a_row_shows_the_beginning_of_texts_and_bytes(data: bytes, line: str) -> None:
    """A character that the cut divides makes no bytes of a text."""
    message: Any = type("Found", (), {"data": data})()
    assert summary(message)["line"] == line
