"""Seeded bugs of ``cli/documents.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_formats.py",
    "tests/unit/test_cli_listings.py",
    "tests/unit/test_gcloud_listings.py",
    "tests/unit/test_cli_values.py",
)

BUGS = (
    Bug(
        "attribute-is-a-command-of-a-shell",
        "Who publishes gives an attribute a name that a shell runs which evaluates config[export].",
        'yield _OF_NO_VARIABLE.sub("_", f"{prefix}{name}"),',
        'yield f"{prefix}{name}",',
    ),
    Bug(
        "yaml-cannot-be-read",
        "A soft hyphen makes YAML that nobody reads.",
        '        return f"\\\\x{code:02x}"',
        '        return f"\\\\u{code:02x}"',
    ),
)
