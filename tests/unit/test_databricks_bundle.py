"""The Asset Bundle in conf/databricks: its tasks call commands of the wheel as they are."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
BUNDLE = REPOSITORY / "conf/databricks"
FILES = ["databricks.yml", "resources/jobs.yml"]
SCHEMA = "DATABRICKS_BUNDLE_SCHEMA"
"""A file with what ``databricks bundle schema`` prints. Its licence lets nobody put it here."""


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((BUNDLE / name).read_text("utf-8"))
    return found


JOBS: dict[str, dict[str, Any]] = read("resources/jobs.yml")["resources"]["jobs"]
TASKS = [(job, task) for job, told in JOBS.items() for task in told["tasks"]]


def command_of(task: dict[str, Any]) -> click.Command:
    """Return the command that a task calls, by the wheel's entry points."""
    tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    module, _, job = project["scripts"][task["python_wheel_task"]["entry_point"]].partition(":")
    assert module == "pubsub_delta.jobs.entry_points"
    command: click.Command = getattr(import_module(f"pubsub_delta.jobs.{job}"), job)
    return command


@pytest.mark.parametrize(("job", "task"), TASKS)
def test_a_task_calls_a_job_of_the_wheel_with_arguments_that_it_takes(
    job: str, task: dict[str, Any]
) -> None:
    # "Entry points so that `python_wheel_task` … work"
    called = task["python_wheel_task"]
    assert called["package_name"] == "pubsub_delta"
    command = command_of(task)
    context = command.make_context(called["entry_point"], list(called["parameters"]))
    assert context.params["root"] == "${var.root}"


def test_what_the_store_needs_is_done_on_a_schedule() -> None:
    # "the jobs on schedules: publish, consume, maintain, metrics"
    entry_points = {task["python_wheel_task"]["entry_point"] for _, task in TASKS}
    wanted = ("publish", "consume", "maintain", "create-views", "export-metrics")
    assert entry_points == {f"pubsub-delta-{each}" for each in wanted}
    for job in JOBS.values():
        assert job["max_concurrent_runs"] == 1
        seconds, *fields = job["schedule"]["quartz_cron_expression"].split()
        assert (seconds, len(fields)) == ("0", 5)
        assert job["schedule"]["timezone_id"] == "UTC"


def test_nothing_is_installed_that_brings_a_spark() -> None:
    # "the maintenance example installs no pyspark"
    for job in JOBS.values():
        (environment,) = job["environments"]
        wheel, *others = environment["spec"]["dependencies"]
        assert wheel == "../dist/*.whl"  # without an extra
        assert {re.split(r"[<>=\[]", each)[0] for each in others} == {"click", "rich"}
        assert {task["environment_key"] for task in job["tasks"]} == {
            environment["environment_key"]
        }


def test_the_variables_are_those_that_are_used() -> None:
    used = set(re.findall(r"\$\{var\.(\w+)\}", (BUNDLE / FILES[1]).read_text("utf-8")))
    assert used == read(FILES[0])["variables"].keys()


def objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, (dict, list)):
            yield from objects(each)


@pytest.mark.skipif(SCHEMA not in os.environ, reason=f"{SCHEMA} names no file of the schema")
@pytest.mark.parametrize("name", FILES)
def test_a_file_of_the_bundle_is_as_the_published_schema_has_it(name: str) -> None:
    # "checked against its published schema"
    schema = json.loads(Path(os.environ[SCHEMA]).read_text("utf-8"))
    for each in objects(schema):  # of Unicode's properties, which Python's expressions lack
        if isinstance(each.get("pattern"), str):
            each["pattern"] = each["pattern"].replace(r"[\p{L}\p{N}]", r"\w")
            each["pattern"] = each["pattern"].replace(r"\p{L}", r"[^\W\d_]")
    checker = jsonschema.Draft202012Validator(schema)
    assert [error.message for error in checker.iter_errors(read(name))] == []
    wrong = json.loads(
        json.dumps(read(name)).replace('"mode"', '"mood"').replace("task_key", "key")
    )
    assert list(checker.iter_errors(wrong))
