"""The longest text of a column: Spark keeps CHAR(n) and VARCHAR(n) in the metadata of a STRING.

Delta: who writes to the table holds to them; ``deltalake`` does not look.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

DECLARED = "__CHAR_VARCHAR_TYPE_STRING"
"""The key of the type that was declared, among the metadata of a column."""
_LONGEST = re.compile(r"(?:var)?char\((\d+)\)")


def longest(column: pa.Field) -> int | None:
    """Return how many characters a column takes; None for any number.

    >>> longest(pa.field("size", pa.string(), metadata={DECLARED: "varchar(3)"}))
    3
    """
    declared = (column.metadata or {}).get(DECLARED.encode(), b"").decode()
    found = _LONGEST.fullmatch(declared)
    return int(found[1]) if found else None


def broken_rule(column: pa.Field, value: Any) -> str | None:
    """Return why a text is too long for its column; None if it is not."""
    most = longest(column)
    if most is None or value is None or len(value) <= most:
        return None
    return f"column {column.name} takes {most:,} characters, and the value has {len(value):,}"
