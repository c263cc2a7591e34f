"""The rows of schemas: one for each schema, with all revisions, so that a change is one commit.

A topic refers to its schema by uid: a schema that was deleted and created again is another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pubsub_delta.policy.schemas.revisions import Revision, living
from pubsub_delta.resources import Topic
from pubsub_delta.schemas import DELETED_SCHEMA, Schema, SchemaType
from pubsub_delta.tables.ack_state.rows import utc
from pubsub_delta.tables.lanes.protocol import Lane
from pubsub_delta.tables.registry.predicates import TAKEN, with_prefix
from pubsub_delta.tables.registry.resource_table import ResourceTable, Row
from pubsub_delta.tables.schemas import SCHEMAS


@dataclass(frozen=True)
class StoredSchema:
    """A schema with its revisions, the earliest first, deleted ones too."""

    name: str
    uid: str
    type: SchemaType
    create_time: datetime
    revisions: tuple[Revision, ...]

    @property
    def newest(self) -> Revision:
        """The newest revision; there is always one."""
        return living(self.revisions)[-1]

    def schema(self, revision: Revision) -> Schema:
        """Return a revision as the public value."""
        assert revision.definition is not None
        return Schema(
            name=self.name,
            type=self.type,
            definition=revision.definition,
            revision_id=revision.revision_id,
            revision_create_time=revision.create_time,
            uid=self.uid,
        )


class SchemaRows:
    """Reads and writes the schemas of a store.

    Args:
        lane: reads and writes the table.
        table: its name in SQL.
        new_id: makes unique ids.
        create_all: creates the tables of the registry, before the first row of any.
        is_named: returns whether a topic names a schema.
    """

    def __init__(
        self,
        lane: Lane,
        table: str,
        new_id: Callable[[], str],
        create_all: Callable[[], None],
        is_named: Callable[[], bool],
    ) -> None:
        self._table = ResourceTable(lane, table, SCHEMAS, new_id, create_all, is_named=is_named)

    def find(self, name: str) -> StoredSchema | None:
        """Return the schema of that full name, or None."""
        found = (row for row in self._table.rows() if row["name"] == name)
        return next(map(_stored, found), None)

    def of_uid(self, uid: str) -> StoredSchema | None:
        """Return the schema of that uid, or None if it was deleted."""
        row = self._table.row(uid)
        return None if row is None else _stored(row)

    def with_prefix(self, prefix: str) -> list[StoredSchema]:
        """Return the schemas whose full names begin with a prefix."""
        return [_stored(row) for row in with_prefix(prefix, self._table.rows())]

    def with_stored_schema(self, topic: Topic, schema_uid: str | None) -> Topic:
        """Return a topic with ``_deleted-schema_`` if its schema was deleted."""
        settings = topic.schema_settings
        if settings is None or (schema_uid and self._table.row(schema_uid) is not None):
            return topic
        return replace(topic, schema_settings=replace(settings, schema=DELETED_SCHEMA))

    def add(self, schema: StoredSchema) -> bool:
        """Add a schema unless its name is taken; return whether it was added."""
        row = {
            "name": schema.name,
            "uid": schema.uid,
            "create_time": schema.create_time,
            "type": schema.type.value,
            "revisions": _rows(schema.revisions),
        }
        return self._table.add(row, TAKEN)

    def change(
        self, uid: str, decide: Callable[[StoredSchema], Sequence[Revision]]
    ) -> StoredSchema | None:
        """Change the revisions of a schema; return it, or None if it was deleted.

        ``decide`` is called again if another writer has changed them meanwhile.
        """
        changed: StoredSchema | None = None

        def columns(row: Row) -> Row:
            nonlocal changed
            before = _stored(row)
            changed = replace(before, revisions=tuple(decide(before)))
            return {"revisions": _rows(changed.revisions)}

        return changed if self._table.change(uid, columns) else None

    def remove(self, uid: str) -> bool:
        """Delete a schema with its revisions; return whether it was still there."""
        return self._table.remove(uid)

    def version(self) -> int | None:
        """Return the version of the table, None without a table; DataLoss if it is damaged."""
        return self._table.version()

    def create(self) -> None:
        """Create the table unless it exists."""
        self._table.create()

    def vacuum(self) -> None:
        """Join small files, and VACUUM unneeded ones."""
        self._table.vacuum()


def _stored(row: Row) -> StoredSchema:
    return StoredSchema(
        name=row["name"],
        uid=row["uid"],
        type=SchemaType(row["type"]),
        create_time=utc(row["create_time"]),
        revisions=tuple(
            Revision(
                each["revision_id"],
                utc(each["create_time"]),
                each["definition"],
                each["compiled"],
            )
            for each in row["revisions"]
        ),
    )


def _rows(revisions: Sequence[Revision]) -> list[dict[str, object]]:
    return [
        {
            "revision_id": each.revision_id,
            "create_time": each.create_time,
            "definition": each.definition,
            "compiled": each.compiled,
        }
        for each in revisions
    ]
