"""Seeded bugs of ``console/overview.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_texts.py",
    "tests/unit/test_console_pages.py",
    "tests/unit/test_console_lists.py",
    "tests/lanes/test_reads_on_disk.py",
    "tests/unit/test_console_mistakes.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "foreign-topic-does-not-exist",
        "The overview says that a dead-letter topic of another project does not exist.",
        'if letters not in names and letters.split("/")[1:2] == [console.project]:',
        "if letters not in names:",
    ),
    Bug(
        "maintenance-oldest",
        "The overview shows the first maintenance that is known, and not the last.",
        "if what not in last or last[what].time < commit.time:",
        "if what not in last or last[what].time > commit.time:",
    ),
    Bug(
        "vacuum-begun-is-over",
        "The first page tells of a VACUUM that has begun only.",
        '"vacuum end": "Files',
        '"vacuum start": "Files',
    ),
    Bug(
        "steps-of-another-project",
        "The first steps on the page of an empty project put a message into another one.",
        'if console.project != "local" else []',
        "if False else []",
    ),
)
