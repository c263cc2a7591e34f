"""A change on condition: that a row of the registry is still what somebody has read.

The condition is part of the MERGE, so nobody can write in between.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Generic

from pyspark.sql.types import MapType, StructField, StructType

from pubsub_delta.policy.unchanged import R, check_unchanged
from pubsub_delta.resources import own_fields
from pubsub_delta.tables.commits import Conflict, plain, repeat_on_conflict
from pubsub_delta.tables.resource_rows import columns_of_fields

_SEEN = "seen_"


@dataclass(frozen=True)
class Seen(Generic[R]):
    """What a resource was when it was read.

    ``mark``: 32 hexadecimal digits that nobody else has. They stand in the condition of the MERGE,
    and so in the history of the table, by which a commit is known whose answer was lost.
    """

    resource: R
    mark: str

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that must be as they were."""
        return columns_of_fields(own_fields(self.resource))

    @property
    def row(self) -> dict[str, Any]:
        """The columns under the names that the row of the change has for them."""
        return {f"{_SEEN}{name}": value for name, value in self.columns.items()}

    def schema(self, columns: StructType) -> list[StructField]:
        """Return what ``row`` is made of, by the columns of the table."""
        return [StructField(f"{_SEEN}{name}", columns[name].dataType) for name in self.columns]

    def condition(self, columns: StructType, there: Collection[str]) -> str:
        """Return in SQL that the row (``old``) is what was seen (``new``).

        ``there``: the columns that the table has; one that it lacks is null.
        """
        compared: list[str] = [_same(columns[name], name in there) for name in self.columns]
        return " AND ".join([*compared, f"old.uid <> '{plain(self.mark)}'"])


def _same(column: StructField, is_there: bool) -> str:
    old, new = f"old.{column.name}" if is_there else "NULL", f"new.{_SEEN}{column.name}"
    if isinstance(column.dataType, MapType):  # Spark compares no maps
        old, new = (f"array_sort(map_entries({each}))" for each in (old, new))
    return f"{old} <=> {new}"


def change_as_seen(
    name: str,
    change: Callable[[Seen[R] | None], bool],
    seen: Seen[R] | None,
    read: Callable[[], R | None],
) -> bool:
    """Change a resource; tell whether it was still there. Aborted where it is not as seen.

    ``change``: changes its row where that is as it was seen, if this is asked for, and tells
    whether it did. ``read``: returns the resource that has the name now.
    """

    def attempt() -> bool:
        if change(seen):
            return True
        stored = None if seen is None else read()
        if seen is None or stored is None:
            return False
        check_unchanged(stored, seen.resource)
        raise Conflict(f"{name} was changed, and changed back")

    return repeat_on_conflict(attempt, name)
