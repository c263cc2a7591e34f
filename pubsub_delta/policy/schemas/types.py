"""The types of the fields of messages, apart from any engine: what typed columns are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class DecimalOf:
    """Decimal numbers of so many digits, some of them behind the point."""

    precision: int
    scale: int


@dataclass(frozen=True)
class ListOf:
    """Lists of values of a type."""

    item: FieldType


@dataclass(frozen=True)
class MapOf:
    """Values of a type by text."""

    value: FieldType


@dataclass(frozen=True)
class RecordOf:
    """Named fields with their types, in order."""

    fields: tuple[tuple[str, FieldType], ...]


FieldType: TypeAlias = "str | DecimalOf | ListOf | MapOf | RecordOf"
"""A text names a plain type: ``timestamp`` is an instant in microseconds, ``int`` has 32 bits,
``long`` has 64."""

TEXT = "string"
MOST_DIGITS = 38
"""Of a decimal that Delta stores; larger ones are text."""


def check_digits(schema: object, raw: bytes) -> None:
    """Raise Unfit for a decimal of Avro with more digits than its schema has room for.

    Avro's specification: an unscaled number, two's complement, big-endian. A reader would round it.

    >>> check_digits({"type": "bytes", "logicalType": "decimal", "precision": 2}, b"c")
    """
    if isinstance(schema, dict) and schema.get("logicalType") == "decimal":
        precision = schema["precision"]
        if abs(int.from_bytes(raw, "big", signed=True)) >= 10**precision:
            raise Unfit(f"a decimal has more than {precision} digits")


class Unfit(Exception):
    """The data of a message does not fit a schema; its text tells why."""
