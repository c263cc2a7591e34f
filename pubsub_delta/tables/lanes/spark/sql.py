"""Writes SQL: literals, conditions, columns and properties.

Literals of text do not depend on ``spark.sql.parser.*`` and on ANSI mode.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from pubsub_delta.clock import to_micros
from pubsub_delta.tables.lanes.protocol import Condition, Where
from pubsub_delta.tables.lanes.spark.types import ddl, quoted
from pubsub_delta.tables.schemas import TableSchema

_HARMLESS = re.compile(r"[\w ./:\-]*", re.ASCII)


def literal(value: object) -> str:
    """Write a value: text, number, truth value, aware time or date.

    >>> literal("it's"), literal("a-1"), literal(7)
    ("CAST(X'69742773' AS STRING)", "'a-1'", '7')
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value:d}" if -(2**31) <= value < 2**31 else f"{value:d}L"
        case str():
            plain = _HARMLESS.fullmatch(value)
            return f"'{value}'" if plain else f"CAST(X'{value.encode().hex()}' AS STRING)"
        case datetime():
            return f"timestamp_micros({to_micros(value)})"
        case date():
            return f"DATE'{value.isoformat()}'"
    raise TypeError(f"{value!r} has no literal in SQL")


def condition(where: Where) -> str:
    """Write conditions joined by AND.

    >>> condition([("uid", "in", ["a", "b"]), ("position", ">=", 3)])
    "`uid` IN ('a', 'b') AND `position` >= 3"
    """
    return " AND ".join(map(_test, where)) or "true"


def _test(condition: Condition) -> str:
    name, operator, value = condition
    column = quoted(name)
    if operator == "in":
        values: Sequence[Any] = list(value)
        return f"{column} IN ({', '.join(map(literal, values))})" if values else "false"
    return f"{column} {operator} {literal(value)}"


def columns(schema: TableSchema) -> str:
    """Write the columns of a table for CREATE TABLE."""
    return ", ".join(f"{quoted(each.name)} {ddl(each.type)}" for each in schema.columns)


def partitioned(schema: TableSchema) -> str:
    """Write PARTITIONED BY for a table, or nothing."""
    names = ", ".join(map(quoted, schema.partitioned_by))
    return f"PARTITIONED BY ({names})" if names else ""


def properties(schema: TableSchema) -> str:
    """Write all properties of a table, so that the session's defaults do not apply.

    Nor do its defaults of features and protocols, by a property that Delta does not keep.
    """
    wanted = {**schema.properties, "delta.ignoreProtocolDefaults": "true"}
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in wanted.items())
    return f"TBLPROPERTIES ({pairs})"
