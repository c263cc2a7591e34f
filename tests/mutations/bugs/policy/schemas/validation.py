"""Seeded bugs of ``policy/schemas/validation.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_schema_typing.py",
    "tests/unit/test_schema_publishing.py",
    "tests/unit/test_schema_calls.py",
)

BUGS = (
    Bug(
        "oldest-revision-first",
        "A message is told the oldest revision that it fits.",
        "        for revision in self.revisions:",
        "        for revision in reversed(self.revisions):",
    ),
    Bug(
        "read-by-the-newest",
        "A message is read by the newest revision and not by its own.",
        "codec_of(self.type, own), codec_of(self.type, self.newest)",
        "codec_of(self.type, self.newest), codec_of(self.type, self.newest)",
    ),
    Bug(
        "fields-of-another-schema",
        "Messages that were published under another schema are read by the topic's new one.",
        "        if name != self.schema:\n"
        '            raise SchemaMismatch(f"it was published under {name}")\n',
        "",
    ),
    Bug(
        "reason-of-the-oldest",
        "A refused message is told why it does not fit the oldest revision, under the newest's id.",
        "reason = reason or why",
        "reason = why",
    ),
)
