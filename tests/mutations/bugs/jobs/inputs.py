"""Seeded bugs of ``jobs/inputs.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/acceptance/test_job_inputs.py",)

BUGS = (
    Bug(
        "null-attributes-are-published",
        "jobs/publish.py ends where a column of an attribute has a null.",
        "present = F.map_filter(F.create_map(*pairs), lambda _, value: value.isNotNull())",
        "present = F.create_map(*pairs)",
        needs_spark=("tests/delta/test_job_rows.py",),
    ),
    Bug(
        "times-in-the-zone-of-the-session",
        "The jobs write times as the session's time zone has them.",
        '    "timeZone": "UTC",\n',
        "",
        needs_spark=("tests/delta/test_job_rows.py",),
    ),
    Bug(
        "attribute-twice",
        "jobs/publish.py ends in a traceback where an attribute is asked for twice.",
        "dict.fromkeys(attributes)",
        "attributes",
        needs_spark=("tests/delta/test_job_rows.py",),
    ),
)
