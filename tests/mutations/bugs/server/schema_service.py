"""Seeded bugs of ``server/schema_service.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_schemas.py",
    "tests/unit/test_rest_transcripts.py",
)

BUGS = (
    Bug(
        "revisions-are-listed-in-full",
        "A list of revisions has their definitions, though its view is not given.",
        "view = schema_wire.FULL if request.view == schema_wire.FULL else BASIC",
        "view = BASIC if request.view == BASIC else schema_wire.FULL",
    ),
    Bug(
        "revision-in-the-name-gets-another",
        "The deprecated revision_id is added to a name that has a revision.",
        'if "@" not in name and request.revision_id:',
        "if request.revision_id:",
    ),
    Bug(
        "revision-of-another-type",
        "A revision of a schema is stored though it is said to be of another type.",
        "self._admin.commit_schema, name, definition, type_)",
        "self._admin.commit_schema, name, definition)",
    ),
)
