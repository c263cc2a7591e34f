"""Seeded bugs of ``cli/formats.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_cli_listings.py",
    "tests/unit/test_cli_transforms.py",
    "tests/unit/test_gcloud_listings.py",
    "tests/unit/test_cli_formats.py",
    "tests/unit/test_command_transcripts.py",
    "tests/unit/test_cli_values.py",
)

BUGS = (
    Bug(
        "usual-transforms-are-lost",
        "value(message.data) shows base64, and not what the usual table shows.",
        "merged = new if known is None else _merged(known, new)",
        "merged = new",
    ),
    Bug(
        "no-box-does-not-undo-box",
        "table[box,no-box] draws a box.",
        "            self.attributes.pop(opposite, None)\n",
        "",
    ),
    Bug(
        "optional-of-a-later-column",
        "The setting optional that follows the columns is dropped.",
        '"align", "optional", "width", "wrap", "nested")',
        '"align", "width", "wrap", "nested")',
    ),
    Bug(
        "sort-key-that-is-not-shown-has-no-direction",
        "--sort-by=~KEY sorts the wrong way where no column shows the key.",
        '            columns.append(Column(key, "", order=order, reverse=reverse, hidden=True))',
        '            columns.append(Column(key, "", order=order, hidden=True))',
    ),
    Bug(
        "a-listing-sorted-by-what-it-shows-only",
        "A listing is not sorted by a key that is no column of it.",
        '            columns.append(Column(key, "", order=order, reverse=reverse, hidden=True))',
        "            continue",
    ),
)
