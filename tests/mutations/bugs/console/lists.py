"""Seeded bugs of ``console/lists.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_lists.py",
    "tests/unit/test_console_pages.py",
    "tests/unit/test_console_columns.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "only-ids-are-searched",
        "The search of a list does not look at topics, filters and labels.",
        "if each.is_searched or each is first]",
        "if each is first]",
    ),
    Bug(
        "page-beyond-the-end",
        "A page after the last one of a list is empty.",
        "page = min(int(number), made.pages) if is_number else 1",
        "page = int(number) if is_number else 1",
    ),
    Bug(
        "a-last-page-is-missing",
        "The last page of a list in the console cannot be reached.",
        "return max(1, -(-self.total // PAGE_SIZE))",
        "return max(1, self.total // PAGE_SIZE)",
    ),
    Bug(
        "empty-page-after-full-ones",
        "A list of exactly a page of rows has an empty page behind it.",
        "return max(1, -(-self.total // PAGE_SIZE))",
        "return self.total // PAGE_SIZE + 1",
    ),
    Bug(
        "page-zero",
        "Page 0 of a list is empty.",
        "    page = max(1, page)\n",
        "",
    ),
    Bug(
        "sort-stays-on-its-page",
        "A click on a column shows the third page of the new order.",
        'reverse="on" if again else "", page=1)',
        'reverse="on" if again else "")',
    ),
    Bug(
        "unknown-rows-dropped",
        "A list hides resources that are not measured yet.",
        "found = known + [row for row in found if sort.key(row) is None]",
        "found = known",
    ),
    Bug(
        "first-column-alone-is-forgotten",
        "Links of a list that shows its first column alone show the usual columns.",
        "        names = [each.name for each in self.columns]\n",
        "        names = [each.name for each in self.columns[1:]]\n",
    ),
)
