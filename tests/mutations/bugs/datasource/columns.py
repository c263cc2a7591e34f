"""Seeded bugs of ``datasource/columns.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_data_source_options.py",)

BUGS = (
    Bug(
        "attempts-not-counted",
        "Delivery attempts are shown although they are not counted.",
        "[each.delivery_attempt if counted else None for each in spans]",
        "[each.delivery_attempt for each in spans]",
    ),
    Bug(
        "milliseconds-of-a-double",
        "Times after the year 2255 end a read with the columns of the other connector.",
        "    micros = times.cast(WHOLE)\n",
        "    micros = times.cast(WHOLE).cast(pa.float64()).cast(WHOLE)\n",
    ),
    Bug(
        "null-keys-shown",
        "A stored message without an ordering key is read with null, and not with the empty text.",
        'lambda: pc.fill_null(rows.column("ordering_key"), "")',
        'lambda: rows.column("ordering_key")',
    ),
)
