"""The README's example and the first page of the guide, run by somebody without Spark."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"^print\(.*\)(?:  |\n)# (.+)$", re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "docs/guide/first-messages.md"])
def test_what_a_newcomer_reads_first_runs_as_it_stands_and_starts_no_spark(
    page: str, tmp_path: Path
) -> None:
    program = "\n".join(BLOCK.findall((REPOSITORY / page).read_text(encoding="utf-8")))
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
    assert done.stdout.splitlines()[-len(promised) :] == promised
