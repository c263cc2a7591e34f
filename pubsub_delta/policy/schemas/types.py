"""Types of message fields, independent of an engine: the types of typed columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pubsub_delta.errors import FailedPrecondition, as_utf8


@dataclass(frozen=True)
class DecimalOf:
    """Decimal numbers of ``precision`` digits, ``scale`` of them after the decimal point."""

    precision: int
    scale: int


@dataclass(frozen=True)
class ListOf:
    """Lists with items of a type."""

    item: FieldType


@dataclass(frozen=True)
class MapOf:
    """Maps from strings to values of a type."""

    value: FieldType


@dataclass(frozen=True)
class RecordOf:
    """Records: field names with their types, in order."""

    fields: tuple[tuple[str, FieldType], ...]


FieldType: TypeAlias = "str | DecimalOf | ListOf | MapOf | RecordOf"
"""A string names a primitive type: ``timestamp`` is an instant in microseconds, ``int`` has 32
bits, ``long`` has 64.
"""

TEXT = "string"
MOST_FIELDS = 10_000
"""The most fields of a definition, where each use of a named type counts with its fields."""
MOST_DIGITS = 38
"""The most digits of a decimal in Delta; a column of larger decimals is text."""


class FieldCount:
    """Counts the fields of columns, so that types that use each other do not fill the memory."""

    def __init__(self) -> None:
        self._count = 0

    def add(self) -> None:
        """Count another field; FailedPrecondition beyond ``MOST_FIELDS``."""
        self._count += 1
        if self._count > MOST_FIELDS:
            raise FailedPrecondition(
                f"the schema has more than {MOST_FIELDS:,} fields, with those of each use of a "
                "type; fewer can be read as columns"
            )


def check_digits(schema: object, raw: bytes) -> None:
    """Raise SchemaMismatch for an Avro decimal with more digits than its precision.

    A reader would round it. Avro: ``raw`` is the unscaled value in two's complement, big-endian.

    >>> check_digits({"type": "bytes", "logicalType": "decimal", "precision": 2}, b"c")
    """
    if isinstance(schema, dict) and schema.get("logicalType") == "decimal":
        precision = schema["precision"]
        if abs(int.from_bytes(raw, "big", signed=True)) >= 10**precision:
            raise SchemaMismatch(f"a decimal has more than {precision} digits")


class SchemaMismatch(Exception):
    """The data of a message does not fit its schema; the text says why."""

    def __init__(self, why: str) -> None:
        super().__init__(as_utf8(why))
