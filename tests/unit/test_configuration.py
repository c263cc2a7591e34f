"""The files in conf/ against what the library says of its settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pubsub_delta.session import (
    DELTA_PACKAGE,
    DELTA_SETTINGS,
    LOCAL_SETTINGS,
    SPEED_SETTINGS,
)

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = ("spark-defaults.conf", "local.conf", "databricks.conf")


def settings(name: str) -> dict[str, str]:
    """Return the settings of a file in conf/, read as spark-submit reads them."""
    found = {}
    for line in (REPOSITORY / "conf" / name).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            key, value = line.split(maxsplit=1)
            assert key not in found, f"{key} appears twice in {name}"
            found[key] = value.strip()
    return found


@pytest.mark.parametrize("name", FILES)
def test_each_line_has_its_reason(name: str) -> None:
    """Each setting stands under a comment, alone or with those that share its reason."""
    text = (REPOSITORY / "conf" / name).read_text(encoding="utf-8")
    paragraphs = [part.splitlines() for part in text.split("\n\n")]
    for lines in paragraphs:
        assert lines[0].startswith("#"), f"no reason for {lines[0]!r}"
        told = [line.startswith("#") for line in lines]
        assert told == sorted(told, reverse=True), f"a comment after a setting: {lines}"


def test_the_defaults_are_those_of_the_library() -> None:
    found = settings("spark-defaults.conf")
    assert found.pop("spark.jars.packages") == DELTA_PACKAGE
    assert found.items() >= {**DELTA_SETTINGS, **SPEED_SETTINGS}.items()
    shared = LOCAL_SETTINGS.keys() & found.keys()
    assert {key: found[key] for key in shared} == {key: LOCAL_SETTINGS[key] for key in shared}


def test_local_conf_says_what_the_defaults_say_and_what_local_session_sets() -> None:
    found = settings("local.conf")
    assert found.items() >= settings("spark-defaults.conf").items()
    assert found.items() >= LOCAL_SETTINGS.items()


def test_databricks_conf_has_what_makes_a_store_fast_and_leaves_delta_alone() -> None:
    found = settings("databricks.conf")
    assert found.items() >= SPEED_SETTINGS.items()
    assert not found.keys() & {*DELTA_SETTINGS, "spark.jars.packages", "spark.master"}


@pytest.mark.parametrize("name", FILES)
def test_the_docs_name_every_setting(name: str) -> None:
    told = (REPOSITORY / "docs/configuration.md").read_text(encoding="utf-8")
    assert f"conf/{name}" in told
    missing = [key for key in settings(name) if f"`{key}`" not in told]
    assert not missing


def test_the_log_keeps_quiet_about_lost_races_and_prints_no_stack_traces() -> None:
    text = (REPOSITORY / "conf/log4j2.properties").read_text(encoding="utf-8")
    loggers = dict(re.findall(r"^logger\.(\w+)\.name = (.+)$", text, re.MULTILINE))
    levels = dict(re.findall(r"^logger\.(\w+)\.level = (.+)$", text, re.MULTILINE))
    assert "org.apache.spark.sql.delta.OptimisticTransaction" in loggers.values()
    assert {levels[name] for name in loggers} == {"off"}
    assert "%ex{0}" in text
