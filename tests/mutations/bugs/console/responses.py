"""Seeded bugs of ``console/responses.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_texts.py",
    "tests/unit/test_console_jobs.py",
    "tests/unit/test_console_messages.py",
    "tests/unit/test_console_pages.py",
    "tests/unit/test_console_security.py",
    "tests/unit/test_console_successors.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "answered-job-kept",
        "The console keeps work whose page was the answer.",
        "    console.jobs.forget(job)\n",
        "",
    ),
    Bug(
        "forms-in-read-only",
        "A console that is read-only shows forms for changes.",
        "    if console_of(request).access.read_only:\n",
        "    if False:\n",
    ),
    Bug(
        "error-hidden-by-the-next-one",
        "A page tells that a resource is gone, and not why the change of it had failed before.",
        "failure_page if failed is None else partial(_failed, failed)",
        "failed or failure_page",
    ),
    Bug(
        "failure-looks-done",
        "A page tells what was not done as if it had been done.",
        "Flash(readable(text), is_problem=True)",
        "Flash(readable(text))",
    ),
    Bug(
        "times-for-machines-as-for-people",
        "The times of a page are no dates to what reads the page aloud.",
        "iso_time=rfc3339",
        "iso_time=formatting.timestamp",
    ),
    Bug(
        "until-from",
        "The labels of the times of a search are each other's.",
        '"earliest": "Published from",\n    "latest": "Published until",',
        '"earliest": "Published until",\n    "latest": "Published from",',
    ),
)
