"""Seeded bugs of ``datasource/offsets.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_data_source_consumer.py",)

BUGS = (
    Bug(
        "reader-of-each-process",
        "A stream that is started again does not know its micro-batches any more.",
        "return Offset(self.subscription, self.reader or reader, self.batch + 1)",
        "return Offset(self.subscription, reader, self.batch + 1)",
    ),
)
