"""The project as its users get it: a wheel, installed where there is no checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import REPOSITORY


@dataclass(frozen=True)
class Installed:
    """The wheel, and an environment with nothing but it and what it needs."""

    wheel: Path
    venv: Path

    @property
    def python(self) -> Path:
        """The Python of the environment."""
        return self.venv / "bin" / "python"

    @property
    def jobs(self) -> Path:
        """Where the wheel has put the jobs, as it tells itself."""
        return Path(self.run("python", "-m", "pubsub_delta.jobs").stdout.strip())

    def run(
        self, command: str, *args: str, check: bool = True, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment, outside the checkout."""
        done = subprocess.run(
            [str(self.venv / "bin" / command), *args],
            capture_output=True,
            text=True,
            cwd=self.venv,
            env={**outside(), "PYSPARK_PYTHON": str(self.python), **variables},
            check=False,
            timeout=600,
        )
        if check and done.returncode:
            raise AssertionError(f"{command} {args}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done


def outside() -> dict[str, str]:
    """Return the environment of this process without what would lead to the checkout."""
    kept = {
        key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "VIRTUAL_ENV"}
    }
    return {
        key: value
        for key, value in kept.items()
        if not key.startswith(("PUBSUB_", "SPARK_", "PYSPARK_"))
    }


def install(directory: Path, extras: str = "[cli,spark]") -> Installed:
    """Build the wheel, and install it with some extras in an environment of its own."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    built = [*pip, "wheel", "--no-deps", "--wheel-dir", str(directory), str(REPOSITORY)]
    subprocess.run(built, check=True, env=outside())
    (wheel,) = directory.glob("pubsub_delta-*.whl")
    venv = directory / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True, env=outside())
    installed = Installed(wheel, venv)
    constraints = str(REPOSITORY / "constraints.txt")
    wanted = ["install", "--quiet", "--disable-pip-version-check", "--constraint", constraints]
    installed.run("pip", *wanted, f"{wheel}{extras}")
    return installed
