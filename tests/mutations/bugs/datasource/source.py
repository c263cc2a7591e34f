"""Seeded bugs of ``datasource/source.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/lanes/test_data_source_filters.py",)

BUGS = (
    Bug(
        "columns-of-any-type",
        "A schema with another type for a column of the data source is taken.",
        "if field.name not in accepted.names or accepted[field.name].dataType != field.dataType:",
        "if field.name not in accepted.names:",
    ),
    Bug(
        "column-twice-in-a-schema",
        "A schema with a column twice ends in an error of the JVM.",
        "if schema.names.count(field.name) > 1:",
        "if False:",
    ),
    Bug(
        "column-not-null-in-a-schema",
        "A schema with NOT NULL ends in an error of Spark's Python worker.",
        "if accepted[field.name].nullable and not field.nullable:",
        "if False:",
    ),
)
