"""MERGE of a row into a table: in memory for few rows, by ``deltalake`` for many.

A MERGE of ``deltalake`` plans a query and reads the file of the row, which is three requests in
object storage. The rows of a small table are cached instead: the table is overwritten by a commit
that lands only as the next version.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from pubsub_delta.tables.lanes.direct.commits import NO_CLEANUP, completed
from pubsub_delta.tables.lanes.protocol import Match, Merge

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}


def merged(old: pa.Table, new: pa.Table, merge: Merge) -> tuple[pa.Table, int]:
    """Return the rows of a table after a MERGE of one row, and how many were affected.

    >>> old = pa.table({"name": ["a", "b"], "etag": ["1", "2"]})
    >>> new = pa.table({"name": ["b"], "expected": ["2"], "etag": ["3"]})
    >>> swap = Merge([("name", "=", "name"), ("etag", "=", "expected")], update=["etag"])
    >>> rows, changed = merged(old, new, swap)
    >>> rows["etag"].to_pylist(), changed
    (['1', '3'], 1)
    """
    matches = _matches(old, new, merge.on)
    count = sum(matches)
    if not count and merge.insert:
        return pa.concat_tables([old, completed(new, old.schema)]), 1
    if not count or not (merge.update or merge.delete):
        return old, 0
    kept = old.filter(pa.array([not each for each in matches]))
    if merge.delete:
        return kept, count
    changed = old.filter(pa.array(matches))
    for name in merge.update:
        field = old.schema.field(name)
        column = new[name].take(pa.array([0] * count)).cast(field.type)
        changed = changed.set_column(old.column_names.index(name), field, column)
    return pa.concat_tables([kept, changed]), count


def _matches(old: pa.Table, new: pa.Table, on: Sequence[Match]) -> list[bool]:
    """Return for each stored row whether it matches the new one. SQL: no match with null."""
    found = [True] * old.num_rows
    for name, how, new_name in on:
        column = old[name].to_pylist()
        if new_name is None:
            holds = [each is None for each in column]
        else:
            compare, value = _OPERATORS[how], new[new_name][0].as_py()
            holds = [None not in (each, value) and compare(each, value) for each in column]
        found = [both and each for both, each in zip(found, holds, strict=True)]
    return found


def merge_by_query(opened: DeltaTable, rows: pa.Table, merge: Merge) -> int:
    """MERGE rows by a query of ``deltalake``; return how many were affected."""
    merger = opened.merge(
        rows,
        merge.on_in_sql(),
        source_alias="new",
        target_alias="old",
        streamed_exec=False,
        post_commithook_properties=NO_CLEANUP,
    )
    if merge.update:
        merger = merger.when_matched_update({name: f"new.{name}" for name in merge.update})
    if merge.delete:
        merger = merger.when_matched_delete()
    if merge.insert:
        columns = pa.schema(opened.schema().to_arrow()).names
        given = [name for name in columns if name in rows.column_names]
        merger = merger.when_not_matched_insert({name: f"new.{name}" for name in given})
    counts = merger.execute()
    return sum(
        int(counts[f"num_target_rows_{what}"]) for what in ("updated", "inserted", "deleted")
    )
