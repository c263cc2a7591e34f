"""Seeded bugs of ``cli/grammar/matching.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_gcloud_listings.py",
    "tests/unit/test_cli_values.py",
)

BUGS = (
    Bug(
        "a-star-is-passed-over",
        "name:my* finds what stands in the middle of a name, too.",
        "f\"{'^' * bool(before)}{before}.*",
        'f"{before}.*',
    ),
    Bug(
        "absent-is-not-different",
        "labels.env!=prod is false of what has no such label.",
        'return lambda value: matches(value) != (operator == "!=")',
        'return lambda value: value is not None and matches(value) != (operator == "!=")',
    ),
    Bug(
        "numbers-are-compared-as-texts",
        "ackDeadlineSeconds<60 is true of 100.",
        "if number is not None and (mine := number_of(value)) is not None:",
        "if number is None and (mine := number_of(value)) is not None:",
    ),
    Bug(
        "not-matching-what-is-nested",
        "A filter that excludes a pattern finds what has no text at all.",
        "            return False\n        found = pattern",
        '            return operator == "!~"\n        found = pattern',
    ),
    Bug(
        "times-turned-around",
        "A filter compares times the wrong way around.",
        "found, wanted = read_as_time(value, context), operand_time()",
        "found, wanted = operand_time(), read_as_time(value, context)",
    ),
)
