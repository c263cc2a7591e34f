"""Revisions of a schema: which a topic accepts, and how they come and go (Pub/Sub's rules).

They stand in the order in which they were committed. One that was deleted leaves its id behind, so
that a range that it bounds still says where it begins or ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pubsub_delta.errors import FailedPrecondition, InvalidArgument, NotFound
from pubsub_delta.schemas import Encoding, SchemaSettings, SchemaType

MOST_REVISIONS = 20
"""Of a schema at a time."""
LARGEST_DEFINITION = 300_000
"""Bytes of a definition."""
REVISION_ID_DIGITS = 8


@dataclass(frozen=True)
class Revision:
    """A revision: its definition, and with Protocol Buffers what was compiled from it.

    ``definition``: None once the revision is deleted.
    """

    revision_id: str
    create_time: datetime
    definition: str | None
    compiled: bytes | None = None


def living(revisions: Sequence[Revision]) -> list[Revision]:
    """Return the revisions that are not deleted."""
    return [each for each in revisions if each.definition is not None]


def accepted(revisions: Sequence[Revision], first: str, last: str) -> list[Revision]:
    """Return the revisions from one to another, the newest first, as a message is held against.

    Where the first one is deleted the next one counts, where the last one is the one before it.

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
    """Raise NotFound for a bound that is no revision, InvalidArgument for an empty range.

    A bound that is stored already may name a revision that was deleted since.
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
    """Return the revision of that id, the newest without one; NotFound."""
    there = living(revisions)
    if not revision_id:
        return there[-1]
    found = next((each for each in there if each.revision_id == revision_id), None)
    if found is None:
        raise NotFound(
            f"schema {name} has no revision {revision_id!r}; "
            f"{', '.join(each.revision_id for each in there)} are there"
        )
    return found


def added(revisions: Sequence[Revision], name: str, revision: Revision) -> list[Revision]:
    """Return the revisions with a new one; FailedPrecondition where there are 20 already."""
    if len(living(revisions)) >= MOST_REVISIONS:
        raise FailedPrecondition(
            f"schema {name} has {MOST_REVISIONS} revisions, and more are not accepted; "
            "delete_schema_revision deletes one"
        )
    return [*revisions, revision]


def deleted(revisions: Sequence[Revision], name: str, revision_id: str) -> list[Revision]:
    """Return the revisions without the definition of one; FailedPrecondition for the only one."""
    gone = find(revisions, name, revision_id)
    if len(living(revisions)) == 1:
        raise FailedPrecondition(
            f"revision {revision_id} is the only one of schema {name}; delete_schema deletes both"
        )
    emptied = replace(gone, definition=None, compiled=None)
    return [emptied if each is gone else each for each in revisions]


def new_revision_id(revisions: Sequence[Revision], new_id: Callable[[], str]) -> str:
    """Return the id of a new revision: 8 hexadecimal digits that no other one had."""
    taken = {each.revision_id for each in revisions}
    while (found := new_id()[-REVISION_ID_DIGITS:]) in taken:
        pass
    return found


def check_type(value: object) -> SchemaType:
    """Return the type of a definition; InvalidArgument for what is none."""
    try:
        return SchemaType(value)
    except ValueError:
        raise InvalidArgument(
            f"type: {value!r} is not a type of schema; AVRO and PROTOCOL_BUFFER are accepted"
        ) from None


def check_definition(text: object) -> str:
    """Return a definition that is text of at most 300 KB; InvalidArgument."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidArgument(
            f"definition: {text!r} is no definition; an Avro schema as JSON, or the text of a "
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
    """Return how data is written; InvalidArgument for what is none."""
    try:
        return Encoding(value)
    except ValueError:
        raise InvalidArgument(
            f"{field}: {value!r} is not an encoding; JSON and BINARY are accepted"
        ) from None


def check_settings(settings: object) -> SchemaSettings | None:
    """Return schema settings with their encoding as an Encoding; None means no schema."""
    if settings is None:
        return None
    if not isinstance(settings, SchemaSettings):
        raise InvalidArgument(
            f"schema_settings: {settings!r} is not a SchemaSettings; or None for no schema"
        )
    for field in ("first_revision_id", "last_revision_id"):
        if not isinstance(getattr(settings, field), str):
            raise InvalidArgument(
                f"schema_settings.{field}: {getattr(settings, field)!r} is no text; "
                "the id of a revision is accepted, or '' for no bound"
            )
    return replace(settings, encoding=check_encoding(settings.encoding, "schema_settings.encoding"))
