"""Seeded bugs of ``cli/tables.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_gcloud_listings.py",
    "tests/unit/test_cli_formats.py",
    "tests/unit/test_cli_values.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "cells-steer-a-terminal",
        "Control characters of a cell reach the terminal.",
        'return "\\n".join(map(printable, _lines(text)))',
        'return "\\n".join(_lines(text))',
    ),
    Bug(
        "nested-under-another-row",
        "What is nested stands under the rows in the order of the records, not of the rows.",
        "[below(row).splitlines() for row in ordered]",
        "[below(row).splitlines() for row in rows]",
    ),
    Bug(
        "wrapped-columns-wait",
        "A column that may be wrapped gives no room before the others.",
        "widths = wrapped(widths, wraps, room - frame)",
        "widths = list(widths)",
    ),
    Bug(
        "table-of-no-columns",
        "A table without a column is an empty line for each row.",
        "if not rows or not shown:",
        "if not rows:",
    ),
    Bug(
        "a-box-as-wide-as-its-title-for-each-column",
        "Each column of a table with a title is as wide as the title.",
        "more = -(-cell_len(title) // len(widths))",
        "more = cell_len(title)",
    ),
)
