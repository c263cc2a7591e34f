"""Submits programs to a standalone cluster, as users of the wheel do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.installed import Installed


class Submits:
    """Submits jobs of the wheel to a cluster, and reads what Spark noted of each."""

    def __init__(
        self,
        installed: Installed,
        master: str,
        directory: Path,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._installed = installed
        self._master = master
        self._directory = directory
        self._settings = dict(settings or {})

    def __call__(self, name: str, cores: int, job: str, *args: str, check: bool = True) -> str:
        """Run a job of the wheel, or another program, in client mode; return what it printed.

        ``check``: whether it must succeed.
        """
        events = self._directory / "events" / name
        events.mkdir(parents=True)
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
            **self._settings,
        }
        jobs = self._installed.jobs
        done = self._installed.run(
            *("spark-submit", "--master", self._master, "--deploy-mode", "client"),
            *("--properties-file", str(jobs / "spark-defaults.conf")),
            *("--driver-memory", "1g", "--executor-memory", "700m"),
            *("--executor-cores", "1", "--total-executor-cores", str(cores)),
            *(part for key, value in settings.items() for part in ("--conf", f"{key}={value}")),
            *("--py-files", str(self._installed.wheel), str(jobs / job), *args),
            check=check,
        )
        return done.stdout

    def events(self, name: str, kind: str) -> list[dict[str, Any]]:
        """Return the events of a kind from a job's event log."""
        (log,) = (self._directory / "events" / name).iterdir()
        noted = map(json.loads, log.read_text().splitlines())
        return [event for event in noted if event["Event"] == f"SparkListener{kind}"]
