"""Running the project as its users do: in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import QUIET, REPOSITORY, SHORT


def environment() -> dict[str, str]:
    """Return an environment in which Spark finds this Python, and this package."""
    return {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONUNBUFFERED": "1",
    }


def python(script: str, *args: str, cwd: Path) -> subprocess.Popen[str]:
    """Start a Python program, to which its standard input stays open."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=cwd,
        env={**environment(), "JAVA_TOOL_OPTIONS": SHORT},
    )


def spark_submit(job: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Run a job by spark-submit with the project's own configuration."""
    return subprocess.run(
        [
            str(Path(sys.executable).parent / "spark-submit"),
            *("--master", "local[2]", "--driver-memory", "1g"),
            *("--properties-file", str(REPOSITORY / "conf/spark-defaults.conf")),
            *("--driver-java-options", f"{QUIET} {SHORT}"),
            str(REPOSITORY / "pubsub_delta/jobs" / job),
            *args,
        ],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
        timeout=240,
    )
