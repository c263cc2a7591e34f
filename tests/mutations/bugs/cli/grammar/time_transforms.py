"""Seeded bugs of ``cli/grammar/time_transforms.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_transforms.py",
    "tests/unit/test_gcloud_listings.py",
    "tests/unit/test_cli_times.py",
    "tests/unit/test_cli_formats.py",
    "tests/unit/test_cli_values.py",
)

BUGS = (
    Bug(
        "unknown-time-zone-is-local",
        "date(tz=Mars) shows the local time.",
        '    if found is None:\n        raise InvalidArgument(\n            f"tz:',
        '    if found is None and not name:\n        raise InvalidArgument(\n            f"tz:',
    ),
)
