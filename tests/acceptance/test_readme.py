"""The README's examples, run as they stand there, one after the other in one program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.conftest import REPOSITORY

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"^print\(.*\)  # (.+)$", re.MULTILINE)


@pytest.mark.trial
def test_the_examples_of_the_readme_run_as_they_stand(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    program = "\n".join(BLOCK.findall((REPOSITORY / "README.md").read_text()))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(program, "README.md", "exec"), names)
    assert names["spark"] is spark
    told = capsys.readouterr().out.splitlines()
    for promised in OUTPUT.findall(program):
        assert promised in told
