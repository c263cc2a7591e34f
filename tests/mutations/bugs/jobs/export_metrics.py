"""Seeded bugs of ``jobs/export_metrics.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/lanes/test_jobs.py",
    "tests/lanes/test_damaged_metrics.py",
)

BUGS = (
    Bug(
        "once-prints-nothing-beside-damage",
        "export-metrics --once prints nothing where one resource is damaged.",
        "if exporter.measurement.time is not None:",
        "if exporter.measurement.error is None:",
    ),
    Bug(
        "metrics-on-a-full-disk-are-unexpected",
        "Metrics that a full disk does not take end the job with a traceback.",
        "            with writing_stdout():\n",
        "            with suppress(ValueError):\n",
    ),
    Bug(
        "url-of-metrics-without-brackets",
        "The printed URL of metrics has an IPv6 address without brackets.",
        'f"[{address}]" if ":" in address else address',
        "address",
    ),
    Bug(
        "exact-not-passed-to-exporter",
        "export-metrics --exact estimates sizes.",
        "interval=interval, exact=exact)",
        "interval=interval)",
    ),
    Bug(
        "no-names-are-none",
        "export-metrics without --name exports nothing.",
        "store.metrics_exporter(names or None,",
        "store.metrics_exporter(names,",
    ),
)
