"""The entry points of the jobs in the wheel, for terminals and the tasks of a platform.

For example, ``pubsub-delta-publish`` is a command, and the ``entry_point`` of a
``python_wheel_task``.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module

_EXTRAS = {
    "pyspark": "spark",
    "delta": "spark",
    "click": "cli",
    "rich": "cli",
    "prometheus_client": "prometheus",
}
"""Packages of jobs, and the extra that installs each."""
REFUSED = 3


def _run(job: str) -> None:
    """Run a job with the arguments of this process.

    It returns after success, and exits with the job's exit code after a failure. A platform that
    calls the function takes every SystemExit as a failure, even with code 0.
    """
    program = f"pubsub-delta-{job.replace('_', '-')}"
    try:
        command = getattr(import_module(f"pubsub_delta.jobs.{job}"), job)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRAS:
            raise
        print(
            f"ERROR: ({program}) FAILED_PRECONDITION: {package} is not installed; "
            f"pip install 'pubsub-delta[{_EXTRAS[package]}]' installs it",
            file=sys.stderr,
        )
        sys.exit(REFUSED)
    try:
        command(prog_name=program)
    except SystemExit as left:
        if left.code not in (None, 0):
            raise


publish = partial(_run, "publish")
consume = partial(_run, "consume")
stream_publish = partial(_run, "stream_publish")
stream_consume = partial(_run, "stream_consume")
maintain = partial(_run, "maintain")
create_views = partial(_run, "create_views")
export_metrics = partial(_run, "export_metrics")
