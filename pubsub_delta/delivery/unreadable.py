"""Finds rows that are not valid messages, and sets them aside, so that other messages go on.

Damage and other writers leave such rows: texts that are not UTF-8, an attribute without a value, a
publish time that is missing or differs from the commit's. No consumer receives such a message, and
its lease is not extended, so its delivery fails when the lease is over.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pubsub_delta.clock import FIRST_TIME, LAST_TIME, to_micros
from pubsub_delta.errors import DataLoss, UnreadableMessageWarning
from pubsub_delta.policy.positions import Positions
from pubsub_delta.resources import Subscription

STRAY = "its publish_time is not that of its commit"
LOST = "it is not stored any more"
_MAX_NAMED = 5
"""The largest number of messages that a warning names."""


def missing_messages(table: str, lost: int, leased: int) -> DataLoss:
    """Return the error that a reader of a lease raises where some of its messages are missing."""
    return DataLoss(
        f"{table}: {lost:,} of {leased:,} leased messages are missing; they were deleted after the "
        "lease was over, or a file or a commit of the table is gone: restore it, or publish the "
        "messages again"
    )


def find_unreadable(rows: pa.Table) -> dict[int, str]:
    """Return why rows cannot be read, by their index. It is fast if all rows can be read."""
    if _are_readable(rows):
        return {}
    return {place: why for place in range(rows.num_rows) if (why := _fault(rows, place))}


def python_values(rows: pa.Table) -> list[dict[str, Any]]:
    r"""Return rows as Python values, also those that cannot be read.

    Bytes that are not UTF-8 become ``\xNN``, an attribute without a value is empty, and a publish
    time that is missing or out of range is None.
    """
    if _are_readable(rows):
        found: list[dict[str, Any]] = rows.to_pylist()
        return found
    return [_python_values(rows, place) for place in range(rows.num_rows)]


class SetAside:
    """The messages of a lease that cannot be read, which no consumer receives.

    With ordering they include the later messages of their keys: a failed message returns with the
    later ones of its key, in order.
    """

    def __init__(self, *, ordered: bool) -> None:
        self.positions = Positions()
        self._ordered = ordered
        self._first_unreadable: dict[bytes, int] = {}

    def remove_unreadable(
        self, rows: pa.Table, stray: pa.Table | None = None
    ) -> tuple[pa.Table, dict[int, str]]:
        """Return rows without those that are set aside, and why they cannot be read, by position.

        ``stray``: rows whose publish time is not that of their commit.
        """
        reasons = self._note(rows, find_unreadable(rows))
        if stray is not None:
            why = dict.fromkeys(range(stray.num_rows), STRAY)
            reasons |= self._note(stray, why | find_unreadable(stray))
        if not reasons and not self._first_unreadable:
            return rows, {}
        kept = [
            position not in reasons and self._first_unreadable.get(key, position) >= position
            for position, key in zip(rows["position"].to_pylist(), _raw_keys(rows), strict=True)
        ]
        left = rows.filter(pa.array(kept, pa.bool_()))
        self.positions |= Positions.of(reasons) | (positions_of(rows) - positions_of(left))
        return left, reasons

    def _note(self, rows: pa.Table, wrong: Mapping[int, str]) -> dict[int, str]:
        """Return the reasons by position instead of index, and note the ordering keys."""
        if not wrong:
            return {}
        positions = rows["position"].to_pylist()
        keys = _raw_keys(rows) if self._ordered else []
        for place in wrong if keys else ():
            if keys[place]:
                first = self._first_unreadable.get(keys[place], positions[place])
                self._first_unreadable[keys[place]] = min(first, positions[place])
        return {positions[place]: why for place, why in wrong.items()}


def warn_unreadable(reasons: Mapping[int, str], subscription: Subscription) -> None:
    """Warn that messages of a topic cannot be read, and why."""
    if not reasons:
        return
    named = [f"{position} ({reasons[position]})" for position in sorted(reasons)[:_MAX_NAMED]]
    more = f" and {len(reasons) - _MAX_NAMED:,} more" if len(reasons) > _MAX_NAMED else ""
    warnings.warn(
        f"message{'s' * (len(reasons) > 1)} {', '.join(named)}{more} of {subscription.topic} "
        f"cannot be read; the delivery to {subscription.name} fails, and other messages go on",
        UnreadableMessageWarning,
        stacklevel=5,
    )


def _are_readable(rows: pa.Table) -> bool:
    times = rows["publish_time"]
    if times.null_count or any(maps.items.null_count for maps in rows["attributes"].chunks):
        return False
    bounds = pc.min_max(times.cast(pa.int64())).as_py()
    if rows.num_rows and not _FIRST <= bounds["min"] <= bounds["max"] <= _LAST:
        return False
    try:
        rows.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


_FIRST, _LAST = to_micros(FIRST_TIME), to_micros(LAST_TIME)


def _fault(rows: pa.Table, place: int) -> str | None:
    """Return why a row cannot be read, or None."""
    try:
        pairs = rows["attributes"][place].as_py() or ()
    except UnicodeDecodeError:
        return "its attributes are no valid UTF-8"
    if any(value is None for _, value in pairs):
        return "an attribute has no value"
    try:
        rows["ordering_key"][place].as_py()
    except UnicodeDecodeError:
        return "its ordering_key is not valid UTF-8"
    try:
        time = rows["publish_time"][place].as_py()
    except OverflowError:
        return "its publish_time is not in the years 1 to 9999"
    return "it has no publish_time" if time is None else None


def _python_values(rows: pa.Table, place: int) -> dict[str, Any]:
    return {name: _value(rows[name], name, place) for name in rows.column_names}


def _value(column: pa.ChunkedArray, name: str, place: int) -> Any:
    if name == "ordering_key":
        return _texts(column.slice(place, 1))[0]
    if name == "attributes":
        pairs = column[place].values
        return (
            [] if pairs is None else [*zip(*(_texts(pairs.field(n)) for n in (0, 1)), strict=True)]
        )
    try:
        return column[place].as_py()
    except OverflowError:  # a time beyond the year 9999
        return None


def _texts(column: pa.Array | pa.ChunkedArray) -> list[str]:
    raw = column.cast(pa.binary()).to_pylist()
    return [(each or b"").decode("utf-8", "backslashreplace") for each in raw]


def _raw_keys(rows: pa.Table) -> list[bytes]:
    return [each or b"" for each in rows["ordering_key"].cast(pa.binary()).to_pylist()]


def positions_of(rows: pa.Table) -> Positions:
    """Return the positions of rows."""
    return Positions.from_array(rows["position"].to_numpy())
