"""Seeded bugs of ``tables/partition_values.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/lanes/test_table_partitions.py",)

BUGS = (
    Bug(
        "negative-fractions-in-partitions",
        "A negative fraction is written to a decimal partition column, and destroys its table.",
        "value < 0 and value != int(value)",
        "value < 0 and value != value",
    ),
    Bug(
        "partitions-of-any-length",
        "A value that is too long for the name of a directory holds up a table subscription.",
        "    if length > LONGEST_NAME:",
        "    if length > LONGEST_NAME * 1000:",
    ),
    Bug(
        "partitions-measured-before-their-encoding",
        "The length of a partition's directory is that of the value as it is, not as it is named.",
        'len(quote(f"{name}={text}", safe="="))',
        'len(f"{name}={text}".encode())',
    ),
    Bug(
        "small-numbers-in-partitions",
        "The length of a number in a directory's name is measured with an exponent.",
        '        text = format(Decimal(repr(float(value))), "f")\n',
        "        text = repr(float(value))\n",
    ),
    Bug(
        "empty-texts-in-partitions",
        "An empty text is written to a partition column that is NOT NULL.",
        "if not text and not column.nullable:",
        "if not text and column.nullable is None:",
    ),
)
