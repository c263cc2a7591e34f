"""The README's examples, run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

from tests.acceptance.processes import python
from tests.conftest import REPOSITORY

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_readme_run_as_they_stand(tmp_path: Path) -> None:
    blocks = BLOCK.findall((REPOSITORY / "README.md").read_text())
    assert len(blocks) >= 2
    finished = python("\n".join(blocks), cwd=tmp_path)
    told, _ = finished.communicate(timeout=240)
    assert finished.returncode == 0, told
