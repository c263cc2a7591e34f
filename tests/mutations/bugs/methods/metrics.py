"""Seeded bugs of ``methods/metrics.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_exporter.py",
    "tests/unit/test_metrics_of_a_store.py",
    "tests/unit/test_wrong_arguments.py",
    "tests/lanes/test_absent_stores.py",
)

BUGS = (
    Bug(
        "exporter-fails-later",
        "An exporter of what is no name begins, and never measures.",
        "measuring.listed(names)",
        "names",
    ),
    Bug(
        "exact-is-any-text",
        'Metrics are measured exactly where a job gives the text "false".',
        '    check_switch(exact, "exact")\n    now = ',
        "    now = ",
    ),
    Bug(
        "names-measured-once",
        "An exporter of names that an iterator gives exports nothing after the first measurement.",
        "wanted = names if names is None else measuring.listed(names)",
        "wanted = names",
    ),
    Bug(
        "absent-store-has-metrics",
        "An exporter whose disk is not mounted tells that it is up, and that nothing waits.",
        "        if wanted is None:\n            self._tables.check_created()\n",
        "",
    ),
)
