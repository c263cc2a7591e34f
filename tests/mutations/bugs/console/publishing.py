"""Seeded bugs of ``console/publishing.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_schemas.py",
    "tests/unit/test_console_messages.py",
    "tests/unit/test_console_flows.py",
    "tests/unit/test_console_live_messages.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "copy-of-a-million-bytes",
        "A message of exactly a million bytes cannot be copied to a form.",
        "if found.data_size > MAX_COPIED_BYTES:",
        "if found.data_size >= MAX_COPIED_BYTES:",
    ),
    Bug(
        "misfit-beside-the-form",
        "What does not fit a schema is told above the console's form, and not at its field.",
        "form.add_error(_of_field(error), _FIELDS)",
        "form.add_error(error, _FIELDS)",
    ),
)
