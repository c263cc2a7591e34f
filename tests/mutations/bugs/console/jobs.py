"""Seeded bugs of ``console/jobs.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_console_jobs.py",
    "tests/unit/test_console_whole_pages.py",
)

BUGS = (
    Bug(
        "forms-kept-by-number",
        "The console keeps a hundred forms, however large they are.",
        "if len(self._jobs) < KEPT and form_bytes + self._form_bytes() <= KEPT_BYTES:",
        "if len(self._jobs) < KEPT:",
    ),
    Bug(
        "form-kept-after-success",
        "The console keeps a form that was accepted.",
        "            self._failed, self.form_bytes = None, 0",
        "            pass",
    ),
    Bug(
        "forms-wait-in-any-number",
        "Forms of jobs that go on are taken however many bytes they have.",
        "if waiting and form_bytes and form_bytes + waiting > KEPT_BYTES:",
        "if waiting and form_bytes and form_bytes > KEPT_BYTES:",
    ),
    Bug(
        "forms-of-done-jobs-count",
        "The forms of jobs that are done take the room of others.",
        "self._failed, self.form_bytes = None, 0",
        "self._failed = None",
    ),
    Bug(
        "done-jobs-by-size-or-number",
        "Done jobs of the console are kept beyond one of their two limits.",
        "if len(self._jobs) < KEPT and form_bytes + self._form_bytes() <= KEPT_BYTES:",
        "if len(self._jobs) < KEPT or form_bytes + self._form_bytes() <= KEPT_BYTES:",
    ),
)
