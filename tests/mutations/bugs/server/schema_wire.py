"""Seeded bugs of ``server/schema_wire.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_odd_calls.py",
    "tests/unit/test_server_schemas.py",
    "tests/unit/test_rest_transcripts.py",
    "tests/unit/test_server_values.py",
)

BUGS = (
    Bug(
        "compiled-schema-is-left-out",
        "A compiled schema is taken for an empty definition.",
        'if schema.HasField("compiled_proto_schema"):',
        "if False:",
    ),
    Bug(
        "schema-settings-need-no-schema",
        "Who forgets the name of a schema is told that '' is no name, and not of which field.",
        "    if not settings.schema:\n        raise",
        "    if settings.schema is None:\n        raise",
    ),
    Bug(
        "revisions-to-the-second",
        "The time of a revision of a schema lacks its fraction.",
        "Timestamp(seconds=seconds, nanos=micros * 1000)",
        "Timestamp(seconds=seconds)",
    ),
)
