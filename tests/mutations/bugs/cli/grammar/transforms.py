"""Seeded bugs of ``cli/grammar/transforms.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_transforms.py",
    "tests/unit/test_gcloud_listings.py",
    "tests/unit/test_cli_formats.py",
    "tests/unit/test_cli_values.py",
)

BUGS = (
    Bug(
        "scope-takes-what-is-before",
        "name.scope(topics) is what stands before the topic's id.",
        'return text.split(f"/{name}/")[-1]',
        'return text.split(f"/{name}/")[0]',
    ),
    Bug(
        "billions-in-full",
        "A float from a billion on is written in full.",
        "int(exponent[1]) < 9 and",
        "int(exponent[1]) <= 9 and",
    ),
    Bug(
        "a-text-with-an-equals-sign-is-a-name",
        "The arguments of sub() cannot contain an equals sign.",
        "if equals and (any_name or (named and word in {each.name for each in parameters})):",
        "if equals and (any_name or word in {each.name for each in parameters}):",
    ),
)
