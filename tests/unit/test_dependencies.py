"""What pip installs with the library: the core has no Spark, and who needs one says so."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pubsub_delta import MaintenanceReport
from pubsub_delta.errors import FailedPrecondition
from pubsub_delta.jobs import entry_points
from pubsub_delta.session import DELTA_VERSION, check_pair

REPOSITORY = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = import_module(
    "tomllib" if sys.version_info >= (3, 11) else "tomli"
).loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
SPARKS = {"pyspark", "pyspark-client", "delta-spark", "databricks-connect", "py4j"}
NEED_SPARK = {"connect", "demo", "dev"}


def name_of(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None
    return found[0].lower().replace("_", "-")


def installed_by(extra: str) -> set[str]:
    """Return the packages that an extra names, and those of the extras that it names."""
    found: set[str] = set()
    for requirement in EXTRAS[extra]:
        if name_of(requirement) != "pubsub-delta":
            found.add(name_of(requirement))
            continue
        inner = re.search(r"\[([\w,-]+)\]", requirement)
        assert inner is not None
        found = found.union(*map(installed_by, inner[1].split(",")))
    return found


def test_the_core_brings_no_spark() -> None:
    # "installing the core beside a managed runtime or `databricks-connect` pulls in no other Spark"
    assert not SPARKS & {name_of(each) for each in PROJECT["dependencies"]}


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_an_extra_that_brings_a_spark_says_so_by_the_extra_spark(extra: str) -> None:
    # "all extras that need Spark name it", and no other brings one beside a platform's
    pair = {"pyspark", "delta-spark"}
    needs = extra == "spark" or extra in NEED_SPARK
    assert (SPARKS & installed_by(extra)) == (pair if needs else set())
    named = [each for each in EXTRAS[extra] if name_of(each) == "pubsub-delta"]
    assert extra == "spark" or not needs or any("spark" in each for each in named)


def test_the_two_are_a_pair_that_has_jars() -> None:
    # versions "that are tested as pairs"
    wanted = {name_of(each): each for each in EXTRAS["spark"]}
    assert wanted["delta-spark"] == f"delta-spark=={DELTA_VERSION}"
    locked = (REPOSITORY / "constraints.txt").read_text("utf-8").splitlines()
    assert set(wanted.values()) <= set(locked)
    check_pair(wanted["pyspark"].partition("==")[2], DELTA_VERSION)


def test_the_pairs_that_can_be_tried_are_started() -> None:
    script = (REPOSITORY / "conf/spark_pairs.sh").read_text("utf-8")
    pairs = re.search(r'^PAIRS="(.+)"$', script, re.MULTILINE)
    assert pairs is not None
    for pair in pairs[1].split():
        check_pair(*pair.split("/"))


@pytest.mark.parametrize(
    ("of_spark", "of_delta"), [("3.5.9", "4.4.0"), ("4.3.0", "4.4.1"), ("4.2.0", "4.3.1")]
)
def test_what_has_no_jars_is_not_started(of_spark: str, of_delta: str) -> None:
    told = rf"pyspark {of_spark} and delta-spark {of_delta} are"
    with pytest.raises(FailedPrecondition, match=told):
        check_pair(of_spark, of_delta)


def test_every_script_is_a_function_and_every_job_has_one() -> None:
    for told in PROJECT["scripts"].values():
        module, _, function = told.partition(":")
        assert callable(getattr(import_module(module), function)), told
    jobs = {
        path.stem
        for path in (REPOSITORY / "pubsub_delta/jobs").glob("[a-z]*.py")
        if "@click.command" in path.read_text("utf-8") and path.stem != "demo"
    }
    named = {told.rpartition(":")[2] for told in PROJECT["scripts"].values() if ".jobs." in told}
    assert named == jobs
    assert {f"pubsub-delta-{job.replace('_', '-')}" for job in jobs} <= PROJECT["scripts"].keys()


@pytest.mark.parametrize("job", ["maintain", "export_metrics"])
def test_a_job_that_may_do_without_spark_does_not_import_it(job: str) -> None:
    for module in (job, "terminal"):
        tree = ast.parse((REPOSITORY / f"pubsub_delta/jobs/{module}.py").read_text("utf-8"))
        at_once = [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
        assert not [each for each in at_once if each.startswith("pyspark")]


def run(
    job: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *args: str
) -> tuple[object, str]:
    """Call a job's function as a platform does; return how it left, and its standard error."""
    monkeypatch.setattr(sys, "argv", ["whatever", *args])
    try:
        getattr(entry_points, job)()
    except SystemExit as left:
        return left.code, capsys.readouterr().err
    return "returned", capsys.readouterr().err


def test_a_job_that_is_done_returns_and_one_that_is_not_leaves_with_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # "Entry points so that `python_wheel_task` … work": there SystemExit(0) would be a failure
    root = ("--root", str(tmp_path / "store"))
    assert run("maintain", monkeypatch, capsys, *root) == (1, "")  # there is no such store
    monkeypatch.setattr("pubsub_delta.PubSub.maintain", lambda *_, **__: MaintenanceReport())
    assert run("maintain", monkeypatch, capsys, *root) == ("returned", "")
    assert run("maintain", monkeypatch, capsys, *root, "--duties", "x")[0] == 2
    code, told = run("export_metrics", monkeypatch, capsys, *root, "--name", "absent", "--once")
    assert (code, "ERROR: (pubsub-delta-export-metrics) NOT_FOUND: " in told) == (3, True)


@pytest.mark.parametrize(
    ("absent", "extra"), [("pyspark", "spark"), ("click", "cli"), ("rich", "cli")]
)
def test_a_job_says_what_is_not_installed(absent: str, extra: str) -> None:
    program = (
        f"import sys; sys.modules[{absent!r}] = None; sys.argv = ['x']; "
        "from pubsub_delta.jobs import entry_points; entry_points.publish()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 3
    assert done.stderr == (
        f"ERROR: (pubsub-delta-publish) FAILED_PRECONDITION: {absent} is not installed; "
        f"pip install 'pubsub-delta[{extra}]' installs it\n"
    )
