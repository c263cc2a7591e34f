"""Seeded bugs of ``resources.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_resources.py",
    "tests/unit/test_fields.py",
    "tests/lanes/test_pickling.py",
)

BUGS = (
    Bug(
        "completion-of-the-first-page",
        "A listing is read to the end of its first page only.",
        "        page = fetch(page.next_page_token)\n        yield from page\n",
        "        break\n",
    ),
    Bug(
        "lists-end-after-two-pages",
        "A console of more than 2,000 resources lists the first ones.",
        "    while page.next_page_token:",
        "    if page.next_page_token:",
    ),
    Bug(
        "batches-of-no-bytes",
        "A publisher accepts batches of at most 0 bytes.",
        '        _must_be_positive("batch_settings.max_bytes", self.max_bytes)\n',
        "",
    ),
)
