"""Seeded bugs of ``cli/printing.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_gcloud_listings.py",
    "tests/unit/test_cli_formats.py",
    "tests/unit/test_cli_listings.py",
    "tests/unit/test_cli_watch.py",
    "tests/unit/test_command_transcripts.py",
)

BUGS = (
    Bug(
        "get-transforms",
        "get() shows values with their transforms.",
        'bare = form.kind == "get" and',
        'bare = form.kind == "set" and',
    ),
    Bug(
        "nested-wider-than-a-terminal",
        "A nested table is as wide as the terminal, and its indentation besides.",
        "max(width - INDENTED, 1)",
        "width",
    ),
    Bug(
        "line-breaks-not-quoted",
        "A value with a line break makes two rows of CSV.",
        "for mark in (delimiter, '\"', separator, end))",
        "for mark in (delimiter, '\"', separator))",
    ),
    Bug(
        "a-header-for-each-sample",
        "watch --format=csv prints the header before each sample.",
        "        self._has_begun = True\n",
        "",
    ),
    Bug(
        "heading-without-rows",
        "CSV of no records has a heading.",
        'if csv and "no-heading" not in given and records and any(headings):',
        'if csv and "no-heading" not in given and any(headings):',
    ),
    Bug(
        "title-on-every-page",
        "The title of a table is printed above every page.",
        '        attributes.pop("title", None)\n',
        "",
    ),
)
