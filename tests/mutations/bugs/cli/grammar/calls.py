"""Seeded bugs of ``cli/grammar/calls.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_listings.py",
    "tests/unit/test_cli_transforms.py",
    "tests/unit/test_gcloud_listings.py",
    "tests/unit/test_cli_formats.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "transform-that-is-not-named",
        "A transform of gcloud that is absent is refused without its name.",
        "transform: {name}() of gcloud is not implemented; ",
        "{name}(): this transform of gcloud is not implemented; ",
    ),
    Bug(
        "map-reaches-one-list-deep",
        "map(2) applies the next transform to lists.",
        "                for _ in range(self.depth - 1):",
        "                for _ in range(self.depth - 2):",
    ),
)
