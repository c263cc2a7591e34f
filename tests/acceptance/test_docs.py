"""The walk-throughs of the documentation, run as they stand there, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pubsub_delta import ManualClock
from tests.conftest import REPOSITORY

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"^print\(.*\)(?:  |\n)# (.+)$", re.MULTILINE)


@pytest.mark.trial
@pytest.mark.parametrize("page", ["replay", "streaming"])
def test_the_walk_throughs_of_a_page_run_as_they_stand(
    page: str,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    blocks = BLOCK.findall((REPOSITORY / f"docs/{page}.md").read_text())
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"docs/{page}.md, block {number}", "exec"), names)
    assert names["spark"] is spark
    assert isinstance(names["clock"], ManualClock)
    promised = [output for block in blocks for output in OUTPUT.findall(block)]
    assert capsys.readouterr().out.splitlines() == promised
