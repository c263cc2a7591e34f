"""Revisions of a schema: adds, deletes and finds them, and selects those that a topic accepts.

They are in the order of their commits. A deleted revision keeps its place and its id, because the
range of a topic's schema settings can begin or end there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pubsub_delta.errors import FailedPrecondition, InvalidArgument, NotFound
from pubsub_delta.policy.arguments import is_given
from pubsub_delta.schemas import Encoding, SchemaSettings, SchemaType

MOST_REVISIONS = 20
"""The most revisions of a schema."""
LARGEST_DEFINITION = 300_000
"""The most bytes of a definition."""
REVISION_ID_DIGITS = 8


@dataclass(frozen=True)
class Revision:
    """A revision of a schema.

    ``definition``: None after the revision was deleted. ``compiled``: the compiled definition of
    Protocol Buffers, as a FileDescriptorProto; None with Avro.
    """

    revision_id: str
    create_time: datetime
    definition: str | None
    compiled: bytes | None = None


def living(revisions: Sequence[Revision]) -> list[Revision]:
    """Return the revisions that are not deleted."""
    return [each for each in revisions if each.definition is not None]


def accepted(revisions: Sequence[Revision], first: str, last: str) -> list[Revision]:
    """Return the revisions from ``first`` to ``last``, newest first: the order of validation.

    If a bound is deleted, the range begins with the next revision, or ends with the one before.

    >>> from pubsub_delta.clock import UTC
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> a, b, c = (Revision(each, at, "...") for each in ("a", "b", "c"))
    >>> [each.revision_id for each in accepted([a, b, c], "b", "")]
    ['c', 'b']
    >>> [each.revision_id for each in accepted([a, replace(b, definition=None), c], "b", "")]
    ['c']
    """
    ids = [each.revision_id for each in revisions]
    begin = ids.index(first) if first in ids else 0
    end = ids.index(last) if last in ids else len(ids) - 1
    return living(revisions[begin : end + 1])[::-1]


def check_range(
    revisions: Sequence[Revision], settings: SchemaSettings, of_stored: SchemaSettings | None = None
) -> None:
    """Check the bounds of schema settings: NotFound for an unknown one, InvalidArgument if empty.

    A bound that is already stored can name a revision that was deleted later.
    """
    ids = [each.revision_id for each in revisions]
    there = {each.revision_id for each in living(revisions)}
    for field in ("first_revision_id", "last_revision_id"):
        wanted = getattr(settings, field)
        kept = of_stored is not None and wanted == getattr(of_stored, field) and wanted in ids
        if wanted and wanted not in there and not kept:
            raise NotFound(
                f"schema_settings.{field}: {wanted!r} is not a revision of {settings.schema}; "
                f"{', '.join(each for each in ids if each in there)} are accepted"
            )
    first, last = settings.first_revision_id, settings.last_revision_id
    if first and last and ids.index(first) > ids.index(last):
        raise InvalidArgument(
            f"schema_settings.first_revision_id: {first!r} is later than the last_revision_id "
            f"{last!r}; an earlier one, or the same, is accepted"
        )


def find(revisions: Sequence[Revision], name: str, revision_id: str) -> Revision:
    """Return the revision with an id, or the newest for an empty id; NotFound."""
    there = living(revisions)
    if not revision_id:
        return there[-1]
    found = next((each for each in there if each.revision_id == revision_id), None)
    if found is None:
        raise NotFound(
            f"schema {name} has no revision {revision_id!r}; "
            f"its revisions are {', '.join(each.revision_id for each in there)}"
        )
    return found


def added(revisions: Sequence[Revision], name: str, revision: Revision) -> list[Revision]:
    """Add a revision to a list; FailedPrecondition if it has 20 already."""
    if len(living(revisions)) >= MOST_REVISIONS:
        raise FailedPrecondition(
            f"schema {name} has {MOST_REVISIONS} revisions, and more are not accepted; "
            "delete_schema_revision deletes one"
        )
    return [*revisions, revision]


def deleted(revisions: Sequence[Revision], name: str, revision_id: str) -> list[Revision]:
    """Remove the definition of a revision; FailedPrecondition for the only revision."""
    gone = find(revisions, name, revision_id)
    if len(living(revisions)) == 1:
        raise FailedPrecondition(
            f"revision {revision_id} is the only one of schema {name}; delete_schema deletes both"
        )
    emptied = replace(gone, definition=None, compiled=None)
    return [emptied if each is gone else each for each in revisions]


def new_revision_id(revisions: Sequence[Revision], new_id: Callable[[], str]) -> str:
    """Return an unused revision id of 8 hexadecimal digits."""
    taken = {each.revision_id for each in revisions}
    while (found := new_id()[-REVISION_ID_DIGITS:]) in taken:
        pass
    return found


def check_type(value: object) -> SchemaType:
    """Convert a value to a SchemaType, or raise InvalidArgument."""
    try:
        return SchemaType(value)
    except ValueError:
        raise InvalidArgument(
            f"type: {value!r} is not a type of schema; AVRO and PROTOCOL_BUFFER are accepted"
        ) from None


def check_definition(text: object) -> str:
    """Return a definition, or raise InvalidArgument for an empty or long one."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidArgument(
            f"definition: {text!r} is not a definition; an Avro schema as JSON, or the text of a "
            ".proto file, is accepted"
        )
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidArgument(
            "definition: it cannot be written as UTF-8; text without lone surrogates is accepted"
        ) from None
    if size > LARGEST_DEFINITION:
        raise InvalidArgument(
            f"definition: {size:,} bytes; at most {LARGEST_DEFINITION:,} are accepted"
        )
    return text


def check_encoding(value: object, field: str) -> Encoding:
    """Convert a value to an Encoding, or raise InvalidArgument."""
    try:
        return Encoding(value)
    except ValueError:
        raise InvalidArgument(
            f"{field}: {value!r} is not an encoding; JSON and BINARY are accepted"
        ) from None


def check_settings(settings: object) -> SchemaSettings | None:
    """Return checked schema settings, or None for no schema; InvalidArgument."""
    if not is_given(settings, SchemaSettings, "schema_settings", "no schema"):
        return None
    for field in ("first_revision_id", "last_revision_id"):
        if not isinstance(getattr(settings, field), str):
            raise InvalidArgument(
                f"schema_settings.{field}: {getattr(settings, field)!r} is not a string; "
                "the id of a revision is accepted, or '' for no bound"
            )
    return replace(settings, encoding=check_encoding(settings.encoding, "schema_settings.encoding"))
