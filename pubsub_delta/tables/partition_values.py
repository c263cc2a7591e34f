"""Values of partition columns: those with which ``deltalake`` would damage or fail a whole commit.

Delta keeps the value of a partition column as a text in its log; writers name a directory by it.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from urllib.parse import quote

import pyarrow as pa

LONGEST_NAME = 255
"""The most bytes in the name of a directory, in common file systems."""


def broken_rule(column: pa.Field, value: Any) -> str | None:
    """Return why a value cannot be that of a partition column; None if it can.

    >>> broken_rule(pa.field("price", pa.decimal128(9, 2)), Decimal("-0.05"))
    'column price is of the partition, where deltalake writes no negative fraction: -0.05'
    """
    if value is None:
        return None
    name, text = column.name, str(value)
    if pa.types.is_decimal(column.type) and value < 0 and value != int(value):
        return (
            f"column {name} is of the partition, where deltalake writes no negative fraction: "
            f"{text}"
        )
    if not text and not column.nullable:
        return f"column {name} is NOT NULL and of the partition, where Delta takes '' for NULL"
    if pa.types.is_floating(column.type):
        text = format(Decimal(repr(float(value))), "f")
    length = len(quote(f"{name}={text}", safe="="))
    if length > LONGEST_NAME:
        return (
            f"column {name} is of the partition, and its value makes a directory's name of "
            f"{length:,} bytes; {LONGEST_NAME} are accepted"
        )
    return None
