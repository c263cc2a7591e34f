"""The notebooks, run from their source files; each checks its own outputs."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.conftest import REPOSITORY

pytestmark = pytest.mark.trial

NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.py"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(
    notebook: Path,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert notebook.read_text().startswith("# Databricks notebook source\n")
    monkeypatch.setenv("PUBSUB_ROOT", str(tmp_path))
    after = runpy.run_path(str(notebook))
    assert after["spark"] is spark
    assert "message" in capsys.readouterr().out
