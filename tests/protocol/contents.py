"""What tables hold in a state of the search: a table is never changed, a call makes another one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from pubsub_delta.tables.lanes.protocol import Conflict, TableMissing
from tests.model.memory_lane import MemoryLane, MemoryTable
from tests.protocol.stepping import Answer, Call, answer_of


@dataclass(frozen=True)
class Stored:
    """A table with all its versions. ``key``: the same for two that were written alike."""

    table: MemoryTable
    key: str


Contents = Mapping[str, Stored]


def copied(table: MemoryTable) -> MemoryTable:
    return MemoryTable(table.schema, [*table.versions], [*table.commits], {**table.transactions})


def stored_of(table: MemoryTable, before: str = "") -> Stored:
    """Return a table with its key, which follows from that before its last commit."""
    rows = table.versions[-1].to_pylist()
    told = repr((before, len(table.versions), rows, table.commits, table.transactions))
    return Stored(table, hashlib.blake2b(told.encode(), digest_size=12).hexdigest())


def execute(call: Call, contents: Contents) -> tuple[Contents, Answer]:
    """Make a call on tables; return those that it has changed, and the answer."""
    lane = MemoryLane()
    before = contents.get(call.table)
    if before is not None:
        lane.tables = {call.table: copied(before.table) if call.may_write else before.table}
    try:
        answer = answer_of(getattr(lane, call.method)(*call.args, **call.named))
    except (Conflict, TableMissing) as error:
        answer = answer_of(error, True)
    table = lane.tables.get(call.table)
    if table is None or not (before is None or _differs(before.table, table)):
        return {}, answer
    return {call.table: stored_of(table, before.key if before else "")}, answer


def _differs(before: MemoryTable, after: MemoryTable) -> bool:
    return (len(before.versions), len(before.commits), before.transactions) != (
        len(after.versions),
        len(after.commits),
        after.transactions,
    )


def described(call: Call) -> str:
    mark = "" if call.may_write else "  "
    return f"{mark}{call.method} {_table(call.table)}  <- {call.step}"


def _table(table: str) -> str:
    return table.removeprefix("delta.`/memory/").rstrip("`")


def names_of(contents: Contents) -> dict[str, str]:
    """Return the names of resources by uid, as the registry has them."""
    rows = [
        row
        for name, each in contents.items()
        if _table(name) in ("topics", "subscriptions", "snapshots")
        for version in each.table.versions
        for row in version.to_pylist()
    ]
    return {row["uid"]: row["name"].rpartition("/")[2] for row in rows}


def named(step: str, names: Mapping[str, str]) -> str:
    for uid, name in names.items():
        step = step.replace(uid, name)
    return step
