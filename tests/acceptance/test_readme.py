"""The README's example, run as it stands there by somebody without Spark."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import REPOSITORY

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"^print\(.*\)  # (.+)$", re.MULTILINE)


def test_the_example_of_the_readme_runs_as_it_stands_and_starts_no_spark(tmp_path: Path) -> None:
    (program,) = BLOCK.findall(README)
    checked = f"{program}\nimport sys\nassert 'pyspark' not in sys.modules\n"
    done = subprocess.run(
        [sys.executable, "-c", checked],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    promised = OUTPUT.findall(program)
    assert promised
    assert done.stdout.splitlines()[-1] == promised[-1]
