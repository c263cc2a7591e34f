"""The IAM policies of resources. Each is in the row of its resource, and deleted with it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from pubsub_delta.errors import Unimplemented
from pubsub_delta.names import ResourceName
from pubsub_delta.policy.iam import IamPolicy, as_text, of_text
from pubsub_delta.tables.registry.expirations import is_in_use
from pubsub_delta.tables.registry.predicates import is_live, is_living
from pubsub_delta.tables.registry.resource_table import ResourceTable, Row

COLUMN = "iam_policy"


class IamPolicies:
    """Reads and replaces IAM policies."""

    def __init__(
        self, topics: ResourceTable, subscriptions: ResourceTable, snapshots: ResourceTable
    ) -> None:
        self._tables = {"topics": topics, "subscriptions": subscriptions, "snapshots": snapshots}

    def read(self, name: ResourceName, now: datetime) -> IamPolicy | None:
        """Return the policy of a resource, empty if none was set; None without the resource."""
        found = self._row(name, now)
        return None if found is None else of_text(found[COLUMN])

    def all(self, now: datetime) -> dict[str, IamPolicy]:
        """Return all policies that were set, by the name of their resource."""
        return {
            row["name"]: of_text(row[COLUMN])
            for collection, table in self._tables.items()
            for row in table.rows()
            if row[COLUMN] is not None and _is_there(collection, row, now)
        }

    def change(
        self, name: ResourceName, now: datetime, decide: Callable[[IamPolicy], IamPolicy]
    ) -> bool:
        """Replace the policy of a resource by ``decide``'s; return whether the resource exists."""
        found = self._row(name, now)
        if found is None:
            return False
        return self._table(name).change(
            found["uid"],
            lambda row: {COLUMN: as_text(decide(of_text(row[COLUMN])))},
            lambda row: _is_there(name.collection, row, now),
        )

    def _row(self, name: ResourceName, now: datetime) -> Row | None:
        rows = self._table(name).rows()
        named = (row for row in rows if row["name"] == str(name))
        return next((row for row in named if _is_there(name.collection, row, now)), None)

    def _table(self, name: ResourceName) -> ResourceTable:
        found = self._tables.get(name.collection)
        if found is None:
            raise Unimplemented(
                f"resource: {name}: {name.collection} have no IAM policies; topics, subscriptions "
                "and snapshots have them"
            )
        return found


def _is_there(collection: str, row: Row, now: datetime) -> bool:
    if collection == "topics":
        return is_living(row)
    return is_in_use(row) if collection == "subscriptions" else is_live(row, now)
