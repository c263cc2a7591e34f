"""Table subscriptions: where messages are written to, and what keeps them from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class TableState(str, Enum):
    """Whether messages can be written to a table (Pub/Sub: the states of a BigQuery subscription).

    ``NOT_FOUND``: there is no Delta table. ``SCHEMA_MISMATCH``: its columns are not those that the
    configuration needs. ``PERMISSION_DENIED``: the storage refuses it, or it is not below the
    directory in which tables may be written.
    """

    ACTIVE = "ACTIVE"
    NOT_FOUND = "NOT_FOUND"
    SCHEMA_MISMATCH = "SCHEMA_MISMATCH"
    PERMISSION_DENIED = "PERMISSION_DENIED"


@dataclass(frozen=True)
class TableConfig:
    """The Delta table that the messages of a subscription are written to.

    It is Google's ``bigquery_config``. ``table``: a name (``project.dataset.table``), which is a
    path below the store's ``tables_root``, or a whole path or URL below that. The table must exist.

    Without a schema its column ``data`` (BINARY, or STRING for data that is text) takes the data.
    ``use_topic_schema``: the fields of the topic's schema are the columns. ``use_table_schema``:
    data is a JSON object, whose members are the columns. ``drop_unknown_fields``: fields without a
    column are left out; otherwise a message that has one is not written. ``write_metadata``: the
    columns ``subscription_name``, ``message_id``, ``publish_time`` and ``attributes`` are written,
    too. ``state``: whether the table could be written to when the subscription was looked up.
    """

    table: str
    use_topic_schema: bool = False
    use_table_schema: bool = False
    write_metadata: bool = False
    drop_unknown_fields: bool = False
    state: TableState | None = field(default=None, compare=False)

    @property
    def is_refused(self) -> bool:
        """Whether nothing could be written to the table when the subscription was read."""
        return self.state not in (None, TableState.ACTIVE)
