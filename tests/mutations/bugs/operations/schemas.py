"""Seeded bugs of ``operations/schemas.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_changed_at_that_moment.py",
    "tests/unit/test_schema_calls.py",
    "tests/unit/test_console_schemas.py",
    "tests/unit/test_wrong_arguments.py",
)

BUGS = (
    Bug(
        "fields-of-what-is-no-mapping",
        "The fields of a message without attributes end in an error of no documented class.",
        "if not isinstance(attributes, Mapping):",
        "if attributes == 0:",
    ),
    Bug(
        "held-against-the-newest-alone",
        "A revision is held against the newest one only.",
        "        for each in reversed(living(stored.revisions)):",
        "        for each in living(stored.revisions)[-1:]:",
    ),
    Bug(
        "checked-before-the-race",
        "A revision that came in between is not looked at.",
        "        for each in reversed(living(stored.revisions)):",
        "        for each in reversed(living(schema.revisions)):",
    ),
    Bug(
        "fields-by-the-newest-revision",
        "The fields of a message are read by the newest revision of its schema.",
        'revision_id = attributes.get(validation.REVISION_ATTRIBUTE, "")',
        'revision_id = ""',
    ),
    Bug(
        "rollback-has-the-old-time",
        "A revision by rollback has the create time of the revision that it repeats.",
        "_with(stored, replace(wanted, create_time=now), tables)",
        "_with(stored, wanted, tables)",
    ),
    Bug(
        "schema-is-deleted-twice",
        "Of two that delete a schema at the same time both are told that they have.",
        "    if not tables.registry.schemas.remove(tables.schema(name).uid):",
        "    if tables.registry.schemas.remove(tables.schema(name).uid) is None:",
    ),
    Bug(
        "revision-of-a-deleted-schema-is-an-error-of-ours",
        "Who deletes a revision while another deletes the schema sees an AttributeError.",
        "    if tables.registry.schemas.change(schema.uid, decide) is None or gone is None:",
        "    if tables.registry.schemas.change(schema.uid, decide) is not None and gone is None:",
    ),
)
