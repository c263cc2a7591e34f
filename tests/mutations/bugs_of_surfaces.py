"""Bugs of the server and the console."""

from __future__ import annotations

from tests.mutations.bug import Bug

_JOBS = "console/jobs.py"

BUGS_OF_SURFACES = (
    Bug(
        "forms-kept-by-number",
        "The console keeps a hundred forms, however large they are.",
        _JOBS,
        "if len(self._jobs) <= KEPT and kept <= KEPT_BYTES:",
        "if len(self._jobs) <= KEPT:",
    ),
    Bug(
        "form-kept-after-success",
        "The console keeps a form that was accepted.",
        _JOBS,
        "            self._failed, self.form_bytes = None, 0",
        "            pass",
    ),
    Bug(
        "answered-job-kept",
        "The console keeps work whose page was the answer.",
        "console/pages.py",
        "    console.jobs.forget(job)\n",
        "",
    ),
)
