"""Evaluates conditions (``Where``) on rows and on statistics of files, and writes them in SQL."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pubsub_delta.tables.lanes.protocol import Condition, Where

_NAME = re.compile(r"[a-z_]\w*", re.ASCII)
_COMPARED = {"=": pc.equal, "<": pc.less, "<=": pc.less_equal,
             ">": pc.greater, ">=": pc.greater_equal}  # fmt: skip
_CUT_OFF = timedelta(milliseconds=1)
"""Statistics are cut to milliseconds: a time may be later than their maximum."""


def passing(rows: pa.Table, where: Where) -> pa.Table:
    """Return the rows for which all conditions hold. A comparison with null does not hold."""
    if not where:
        return rows
    return rows.filter(reduce(pc.and_, (_holds(rows[name], op, v) for name, op, v in where)))


def _holds(column: pa.ChunkedArray, operator: str, value: Any) -> pa.ChunkedArray:
    if operator == "in":
        return pc.is_in(column, value_set=pa.array(list(value), column.type), skip_nulls=True)
    return pc.fill_null(_COMPARED[operator](column, pa.scalar(value, column.type)), False)


def may_hold(actions: pa.Table, where: Where) -> pa.Table:
    """Return the files of ``get_add_actions`` that may have rows for which conditions hold."""
    kept = [
        mask for condition in where for mask in _left_by(actions, condition) if mask is not None
    ]
    return actions.filter(reduce(pc.and_, kept)) if kept else actions


def _left_by(actions: pa.Table, condition: Condition) -> list[pa.ChunkedArray | None]:
    name, operator, value = condition
    if operator not in _COMPARED:
        return []
    if f"partition.{name}" in actions.column_names:
        return [_or_unknown(actions, f"partition.{name}", operator, value)]
    bounds = []
    if operator in ("=", "<", "<="):
        bounds.append(_or_unknown(actions, f"min.{name}", "<=", value))
    if operator in ("=", ">", ">="):
        earlier = value - _CUT_OFF if isinstance(value, datetime) else value
        bounds.append(_or_unknown(actions, f"max.{name}", ">=", earlier))
    return bounds


def _or_unknown(
    actions: pa.Table, column: str, operator: str, value: Any
) -> pa.ChunkedArray | None:
    if column not in actions.column_names:
        return None
    values = actions[column]
    return pc.fill_null(_COMPARED[operator](values, pa.scalar(value, values.type)), True)


def in_sql(where: Where) -> str | None:
    """Write conditions in DataFusion's SQL; None if there are none.

    >>> in_sql([("publish_date", "<", date(2025, 1, 2)), ("uid", "in", ["a", "it's"])])
    "publish_date < DATE '2025-01-02' AND uid IN ('a', 'it''s')"
    """
    return " AND ".join(_condition_in_sql(*condition) for condition in where) or None


def _condition_in_sql(name: str, operator: str, value: Any) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"not a column: {name!r}")
    if operator == "in":
        return f"{name} IN ({', '.join(map(_literal, value))})" if value else "FALSE"
    return f"{name} {operator} {_literal(value)}"


def _literal(value: Any) -> str:
    if isinstance(value, datetime):
        moment = value.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return f"""arrow_cast('{moment}', 'Timestamp(Microsecond, Some("UTC"))')"""
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, int):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"
