"""Revisions of a schema: which ones a topic accepts, and how they come and go."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from pubsub_delta.errors import FailedPrecondition, InvalidArgument, NotFound
from pubsub_delta.policy.schemas import revisions as rules
from pubsub_delta.policy.schemas.revisions import Revision, accepted, added, check_range, deleted
from pubsub_delta.schemas import Encoding, SchemaSettings
from tests.unit.builders import at

NAME = "projects/local/schemas/states"


def made(*ids: str) -> list[Revision]:
    return [Revision(each, at(n), "...") for n, each in enumerate(ids)]


def without(*gone: str) -> list[Revision]:
    """Return the revisions a to d, of which some are deleted."""
    found = made("a", "b", "c", "d")
    for each in gone:
        found = deleted(found, NAME, each)
    return found


def settings(first: str = "", last: str = "") -> SchemaSettings:
    return SchemaSettings(NAME, Encoding.JSON, first, last)


@pytest.mark.parametrize(
    ("gone", "first", "last", "found"),
    [
        ("", "", "", "dcba"),
        ("", "b", "", "dcb"),
        ("", "", "b", "ba"),
        ("", "b", "c", "cb"),
        ("", "b", "b", "b"),
        ("b", "b", "", "dc"),
        ("c", "", "c", "ba"),
        ("b", "b", "b", ""),
        ("bc", "b", "c", ""),
        ("ad", "", "", "cb"),
        ("a", "a", "", "dcb"),
        ("d", "", "d", "cba"),
    ],
)
def test_a_range_holds_its_revisions_the_newest_first(
    gone: str, first: str, last: str, found: str
) -> None:
    """Pub/Sub: of a range whose bound was deleted, the next or the one before is used instead."""
    assert "".join(r.revision_id for r in accepted(without(*gone), first, last)) == found


def test_a_bound_must_be_a_revision_that_is_there() -> None:
    check_range(without("b"), settings("a", "d"))
    for bounds in (("b", ""), ("", "b"), ("x", "")):
        with pytest.raises(NotFound, match=r"is not a revision of .*states; a, c, d are accepted"):
            check_range(without("b"), settings(*bounds))


def test_a_bound_that_is_stored_may_be_deleted_by_now() -> None:
    check_range(without("b"), settings("b", "d"), settings("b", "c"))
    with pytest.raises(NotFound, match="first_revision_id: 'b'"):
        check_range(without("b"), settings("b"), settings("a"))


def test_a_range_does_not_end_before_it_begins() -> None:
    with pytest.raises(InvalidArgument, match="'c' is later than the last_revision_id 'b'"):
        check_range(without(), settings("c", "b"))


def test_a_schema_has_at_most_20_revisions_at_a_time() -> None:
    """Pub/Sub: "A single schema cannot have more than 20 revisions"."""
    twenty = made(*(f"{n:08x}" for n in range(20)))
    new = Revision("new", at(50), "...")
    with pytest.raises(FailedPrecondition, match="20 revisions, and more are not accepted"):
        added(twenty, NAME, new)
    assert added(deleted(twenty, NAME, "00000000"), NAME, new)[-1] == new


def test_the_only_revision_is_not_deleted() -> None:
    """Pub/Sub: "If a schema has only one revision, you cannot delete it"."""
    left = deleted(made("a", "b"), NAME, "a")
    assert left[0] == Revision("a", at(0), None)
    with pytest.raises(FailedPrecondition, match="revision b is the only one"):
        deleted(left, NAME, "b")
    with pytest.raises(NotFound, match="no revision 'a'; its revisions are b"):
        deleted(left, NAME, "a")


def test_no_two_revisions_ever_have_one_id() -> None:
    ids = iter(["9901234567", "8801234567", "77abcdef01"])
    assert rules.new_revision_id(made("01234567"), ids.__next__) == "abcdef01"


def test_an_id_has_8_digits() -> None:
    numbers = count(7)
    assert rules.new_revision_id((), lambda: f"{next(numbers):032x}") == "00000007"


@pytest.mark.parametrize("text", ["", " ", None, 1, "\ud800", "x" * 300_001, "é" * 150_001])
def test_a_definition_is_text_of_at_most_300_kb(text: Any) -> None:
    with pytest.raises(InvalidArgument, match="definition"):
        rules.check_definition(text)


def test_a_definition_may_have_300_kb() -> None:
    assert rules.check_definition("x" * 300_000)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("states", "is not a SchemaSettings"),
        (SchemaSettings("states", "XML"), "encoding: 'XML'"),
        (SchemaSettings("states", ""), "encoding: ''"),
        (SchemaSettings("states", "JSON", None), "first_revision_id: None"),  # type: ignore[arg-type]
    ],
)
def test_settings_have_an_encoding_and_ids_of_revisions(given: Any, told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        rules.check_settings(given)


def test_settings_take_an_encoding_as_text() -> None:
    found = rules.check_settings(SchemaSettings("states", "BINARY"))
    assert found is not None
    assert found.encoding is Encoding.BINARY


@pytest.mark.parametrize("type_", ["avro", "", None, 2])
def test_a_type_is_avro_or_protocol_buffer(type_: Any) -> None:
    with pytest.raises(InvalidArgument, match="AVRO and PROTOCOL_BUFFER are accepted"):
        rules.check_type(type_)
