"""What imports alone cannot show, checked from the syntax trees (see the layers in pyproject)."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import pubsub_delta

REPOSITORY = Path(__file__).resolve().parents[2]
MAX_LINES = 400


def modules(*folders: str) -> list[str]:
    """Return the Python files of some folders, as paths from the repository."""
    found = (path for folder in folders for path in (REPOSITORY / folder).rglob("*.py"))
    return sorted(str(path.relative_to(REPOSITORY)) for path in found)


JOBS = modules("pubsub_delta/jobs")
LIBRARY = [each for each in modules("pubsub_delta", "pyspark_pubsub_delta") if each not in JOBS]
USERS = [*JOBS, *modules("notebooks")]
ASKING = (
    "batches",
    "cli/application",
    "client",
    "datasource/batch_reader",
    "datasource/consumer",
    "datasource/writer",
    "micro_batch_lease",
    "methods/inspection",
    "methods/maintenance",
    "methods/metrics",
    "methods/schemas",
    "methods/snapshots",
    "methods/streams",
    "methods/subscriptions",
    "methods/topics",
    "streaming",
    "subscriber",
)
CLIENT = tuple(f"pubsub_delta/{name}.py" for name in ASKING)
"""PubSub, what runs on its behalf in the background, and what Spark calls in its stead."""
UNIT_TESTS = modules("tests/unit")

each_module = pytest.mark.parametrize("module", LIBRARY)
each_user = pytest.mark.parametrize("module", USERS)
each_of_both = pytest.mark.parametrize("module", [*LIBRARY, *USERS])


@cache
def text_of(module: str) -> str:
    return (REPOSITORY / module).read_text(encoding="utf-8")


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(text_of(module), module)


@cache
def nodes_of(module: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(module)))


@cache
def imports(module: str) -> tuple[tuple[str, str | None], ...]:
    """Return every import as (module, name), without a name for a plain import."""
    found: list[tuple[str, str | None]] = []
    for node in nodes_of(module):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            found += [(origin, alias.name) for alias in node.names]
    return tuple(found)


@cache
def calls(module: str) -> tuple[str, ...]:
    """Return what is called in a module, as it is written: ``datetime.now``, ``self.f``."""
    return tuple(ast.unparse(node.func) for node in nodes_of(module) if isinstance(node, ast.Call))


@cache
def attributes(module: str) -> tuple[str, ...]:
    """Return every attribute in a module, with what it is taken from."""
    return tuple(ast.unparse(node) for node in nodes_of(module) if isinstance(node, ast.Attribute))


@cache
def literals(module: str) -> tuple[str, ...]:
    """Return the texts in a module that are not docstrings, parts of f-strings included."""
    nodes = nodes_of(module)
    prose = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return tuple(
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
    )


def test_there_is_something_to_check() -> None:
    assert "pubsub_delta/policy/delivery.py" in LIBRARY
    assert "pubsub_delta/jobs/publish.py" in USERS


@each_module
def test_only_the_clock_asks_for_the_time(module: str) -> None:
    """`now()` only in `clock`; an injected clock is asked as `self._clock.now()` by the client."""
    if module == "pubsub_delta/clock.py":
        return
    asked = [call for call in calls(module) if re.search(r"(^|\.)(now|utcnow|today)$", call)]
    allowed = {"self._clock.now", "self._channel.now"} if module in CLIENT else set()
    assert set(asked) <= allowed
    machine = r"(^|\.)(time|time_ns|monotonic|monotonic_ns|perf_counter|localtime|gmtime)$"
    assert [c for c in calls(module) if re.search(machine, c)] == []
    assert not {"time"} & {origin for origin, _ in imports(module)}


@each_of_both
def test_spark_is_never_asked_for_the_time(module: str) -> None:
    # `current_timestamp` nowhere: not as a function, not in SQL, not in any case
    assert not re.search(r"current_?(timestamp|date)\b", text_of(module), flags=re.IGNORECASE)
    functions = re.compile(r"(^|\.)(now|curdate|unix_timestamp)$")
    assert [c for c in calls(module) if c.startswith("F.") and functions.search(c)] == []


@each_module
def test_nothing_reaches_below_the_dataframe_api(module: str) -> None:
    # no `_jvm`/`rdd`/`sparkContext`: they are absent under Spark Connect
    below = re.compile(r"\.(_jvm|_jsc|_jsparkSession|_jdf|rdd|sparkContext|_sc)$")
    assert [each for each in attributes(module) if below.search(each)] == []
    assert "SparkContext" not in {name for _, name in imports(module)}


@each_user
def test_jobs_and_notebooks_come_in_by_the_public_door(module: str) -> None:
    found = [(o, name) for o, name in imports(module) if o.split(".")[0] == "pubsub_delta"]
    ours = [each for each in found if not each[0].startswith("pubsub_delta.jobs")]
    assert [each for each in ours if each[0] != "pubsub_delta" or each[1] is None] == []
    assert {name for _, name in ours} <= set(pubsub_delta.__all__)


@pytest.mark.parametrize("module", modules("pubsub_delta", "tests"))
def test_no_module_has_two_subjects(module: str) -> None:
    # "When a module passes 400 lines it has two subjects"
    assert len(text_of(module).splitlines()) <= MAX_LINES


def test_all_is_exactly_the_public_names() -> None:
    door = "pubsub_delta/__init__.py"
    origins = {name: origin for origin, name in imports(door) if origin.startswith("pubsub_delta.")}
    own: set[str] = set()
    for node in tree_of(door).body:
        if isinstance(node, ast.Assign):
            own.update(each.id for each in node.targets if isinstance(each, ast.Name))
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            own.add(node.name)
    assert {name for name in own if not name.startswith("_")} == set()
    assert pubsub_delta.__all__ == sorted(map(str, origins))
    assert set(pubsub_delta.__all__) <= set(dir(pubsub_delta))
    for name, origin in origins.items():  # also those that are loaded when they are asked for
        assert getattr(pubsub_delta, str(name)) is getattr(import_module(origin), str(name))
    with pytest.raises(AttributeError, match="absent"):
        pubsub_delta.absent  # type: ignore[attr-defined]  # noqa: B018


@each_of_both
def test_only_the_session_imports_delta(module: str) -> None:
    importers = {origin.split(".")[0] for origin, _ in imports(module)}
    assert ("delta" in importers) == (module == "pubsub_delta/session.py")


READS_ERRORS = {
    "pubsub_delta/tables/lanes/storage_errors.py": "tells from an error which file is damaged",
    "pubsub_delta/tables/lanes/spark/errors.py": "tells from an error's text that there is no log",
}
"""Modules that know the name of Delta's log, and why; they reach no file."""
REACH_FILES = {"glob", "io", "os", "pathlib", "shutil", "tempfile", "fsspec", "pyarrow.fs"}


@each_module
def test_nothing_of_ours_reaches_into_a_delta_log(module: str) -> None:
    """What a lane needs of the log it asks deltalake or Spark for."""
    if any("_delta_log" in text for text in literals(module)):
        assert module in READS_ERRORS
    if module in READS_ERRORS:
        assert not REACH_FILES & {origin for origin, _ in imports(module)}
        assert not {"open", "write_text", "unlink", "remove"} & {
            call.rpartition(".")[2] for call in calls(module)
        }


CALLED_BY_SPARK = {
    *(f"pubsub_delta/datasource/{n}.py" for n in ("batch_reader", "source", "stream_reader")),
    "pubsub_delta/datasource/older_spark.py",
    "pubsub_delta/datasource/writer.py",
    "pyspark_pubsub_delta/__init__.py",
}
SPARK_LANE, DIRECT_LANE = "pubsub_delta/tables/lanes/spark/", "pubsub_delta/tables/lanes/direct/"


@each_module
def test_whoever_needs_no_spark_does_not_import_it(module: str) -> None:
    """Outside of the Spark lane pyspark is imported in functions, and for types alone.

    But by the data source: nobody but Spark imports that.
    """
    if module.startswith(SPARK_LANE) or module in CALLED_BY_SPARK:
        return
    at_once = [node for node in tree_of(module).body if isinstance(node, ast.Import)]
    named = [alias.name for node in at_once for alias in node.names]
    named += [n.module or "" for n in tree_of(module).body if isinstance(n, ast.ImportFrom)]
    heavy = {"pyspark", "delta", "py4j", "pandas"}
    assert [name for name in named if name.split(".")[0] in heavy] == []
    assert [name for name in named if name.startswith("pubsub_delta.tables.lanes.spark")] == []


@each_of_both
def test_only_the_direct_lane_imports_deltalake(module: str) -> None:
    importers = {origin.split(".")[0] for origin, _ in imports(module)}
    assert "deltalake" not in importers or module.startswith(DIRECT_LANE)


@each_of_both
def test_only_the_session_builds_one(module: str) -> None:
    builders = [each for each in attributes(module) if each.endswith("SparkSession.builder")]
    assert bool(builders) == (module == "pubsub_delta/session.py")


HISTORY_OPERATIONS = {"CREATE TABLE", "VACUUM START", "VACUUM END", "OPTIMIZE"}
"""Names under which Delta's history lists commits: they are read there, not run."""

STATEMENTS = re.compile(
    r"\b(MERGE\s+INTO|DELETE\s+FROM|INSERT\s+(INTO|OVERWRITE)|CREATE\s+(OR\s+REPLACE\s+)?TABLE"
    r"|ALTER\s+TABLE|DROP\s+TABLE|OPTIMIZE|VACUUM)\b"
)


@each_of_both
def test_only_the_spark_lane_writes_sql_statements(module: str) -> None:
    # "only `tables.lanes.spark` runs Delta DML and commands, as SQL"
    found = [
        text
        for text in literals(module)
        if STATEMENTS.search(text) and text not in HISTORY_OPERATIONS
    ]
    assert found == [] or module.startswith(SPARK_LANE)


@each_of_both
def test_only_the_direct_lane_uses_a_delta_table_api(module: str) -> None:
    """That of deltalake: Delta's own for Spark needs a JVM beside Python."""
    assert "DeltaTable" not in text_of(module) or module.startswith(DIRECT_LANE)


@pytest.mark.parametrize("module", modules("benchmarks", "pubsub_delta/jobs"))
def test_a_script_hides_no_module_of_python(module: str) -> None:
    """The directory of a script that is run stands before Python's own modules."""
    assert Path(module).stem not in sys.stdlib_module_names


@pytest.mark.parametrize("module", UNIT_TESTS)
def test_unit_tests_start_no_spark(module: str) -> None:
    """A test that needs a SparkSession is not a unit test."""
    assert "pyspark" not in {origin.split(".")[0] for origin, _ in imports(module)}
    assert not {"local_session", "PubSub"} & {name for _, name in imports(module)}
    arguments = {node.arg for node in ast.walk(tree_of(module)) if isinstance(node, ast.arg)}
    assert not {"spark", "bench"} & arguments
