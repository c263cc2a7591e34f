"""Seeded bugs of ``cli/grammar/syntax.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_gcloud_listings.py",
    "tests/unit/test_cli_transforms.py",
    "tests/unit/test_cli_values.py",
    "tests/unit/test_fuzz_command_line.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "a-superscript-is-a-width",
        "A width that is a superscript, or has thousands of digits, ends in a stack trace.",
        'if re.fullmatch("[0-9]{1,6}", text) else None',
        "if text.isdigit() else None",
    ),
    Bug(
        "no-star-in-a-later-call",
        "A call with a star after another call is no format.",
        "MORE.3: /\\.\\**(?:{_NAME})\\(/",
        "MORE.3: /\\.(?:{_NAME})\\(/",
    ),
    Bug(
        "a-backslash-before-the-other-quote",
        "A backslash before a quote of the other kind is lost.",
        'escaped = following in ("\\\\", quote) or',
        'escaped = following in ("\\\\", quote, "\\"") or',
    ),
)
