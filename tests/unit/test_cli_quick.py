"""What answers at once: help, versions and completion load nothing that takes long; no timings."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pubsub_delta.cli.completion_names import FILE_TTL, SETTLED, NamesFile
from pubsub_delta.clock import ManualClock, SystemClock

REPOSITORY = Path(__file__).resolve().parents[2]

SLOW = {"asyncio", "deltalake", "grpc", "lark", "numpy", "pandas", "prompt_toolkit", "pyarrow",
        "pyspark", "py4j", "rich.console", "yaml"}  # fmt: skip
"""Modules that take long to import; ``rich`` alone is nothing but a name."""

EACH_HELP = """
import json, sys
from click.testing import CliRunner
from pubsub_delta.cli.main import cli

def paths(command, path=()):
    yield path
    for name in getattr(command, "commands", ()):
        yield from paths(command.commands[name], (*path, name))

failed = []
for path in [["--version"], *([*path, "--help"] for path in paths(cli))]:
    result = CliRunner().invoke(cli, path)
    if result.exit_code or not result.stdout:
        failed.append(path)
print(json.dumps([failed, sorted(sys.modules)]))
"""

THEN = """
import atexit, json, os, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from pubsub_delta.cli.main import main
main()
"""


PATIENT = """
from pubsub_delta.cli import completion_names
from pubsub_delta.cli.main import main
completion_names.TIMEOUT_SECONDS = 60  # a machine that is busy loads deltalake for long
main()
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Return an environment with an empty home, and the program itself on the path."""
    program = tmp_path / "bin/pubsub-delta"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{PATIENT}")
    program.chmod(0o755)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PUBSUB_")}
    kept.pop("XDG_CACHE_HOME", None)
    return {
        **kept,
        "HOME": str(tmp_path),
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY),
        "PUBSUB_DELTA_ROOT": str(tmp_path / "store"),
        "TERM": "xterm",
    }


def python(script: str, *args: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", script, *args], capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def slow(modules: list[str]) -> list[str]:
    return sorted(SLOW.intersection(modules))


def test_help_of_every_command_and_the_version_load_nothing_slow(env: dict[str, str]) -> None:
    failed, modules = json.loads(python(EACH_HELP, env=env).stdout)
    assert failed == []
    assert slow(modules) == []


@pytest.mark.parametrize(
    ("words", "found"), [("to", "topics"), ("subscriptions pu", "pull"), ("topics list --l", None)]
)
def test_completion_of_a_word_loads_nothing_slow(
    env: dict[str, str], words: str, found: str | None
) -> None:
    asked = {"COMP_WORDS": f"pubsub-delta {words}", "COMP_CWORD": str(len(words.split()))}
    done = python(THEN, env={**env, **asked, "_PUBSUB_DELTA_COMPLETE": "bash_complete"})
    assert f"plain,{found or '--limit'}" in done.stdout.splitlines()
    assert slow(json.loads(done.stderr)) == []


def test_names_of_an_unchanged_store_are_completed_without_opening_it(env: dict[str, str]) -> None:
    python(THEN, "topics", "create", "flights", env=env)
    settle(Path(env["PUBSUB_DELTA_ROOT"]))
    asked = {"COMP_WORDS": "pubsub-delta topics describe fl", "COMP_CWORD": "3"}
    asked["_PUBSUB_DELTA_COMPLETE"] = "bash_complete"
    first, second = (python(THEN, env={**env, **asked}) for _ in range(2))
    assert first.stdout == second.stdout == "plain,flights\n"
    assert "deltalake" in json.loads(first.stderr)
    assert slow(json.loads(second.stderr)) == []
    python(THEN, "topics", "create", "flown", env=env)
    changed = python(THEN, env={**env, **asked})
    assert changed.stdout == "plain,flights\nplain,flown\n"


UNANSWERED = """
import atexit, sys, time
from pubsub_delta.cli import completion_names
completion_names.TIMEOUT_SECONDS = 0.05
completion_names.ResourceNames._list_into = lambda *_: time.sleep(60)
atexit.register(lambda: print("an orderly exit", file=sys.stderr))
from pubsub_delta.cli.main import main
main()
"""


def test_a_listing_that_goes_on_does_not_crash_the_exit(env: dict[str, str]) -> None:
    """A daemon thread in native code can crash the process: a Tab printed "Aborted"."""
    asked = {"COMP_WORDS": "pubsub-delta topics describe fl", "COMP_CWORD": "3"}
    done = python(UNANSWERED, env={**env, **asked, "_PUBSUB_DELTA_COMPLETE": "bash_complete"})
    assert (done.stdout.strip(), done.stderr) == ("", "")


def settle(directory: Path) -> None:
    """Let a directory look as if it had been changed a minute ago."""
    for path in [*directory.rglob("*")]:
        os.utime(path, (path.stat().st_atime - 60, path.stat().st_mtime - 60))


def test_a_command_on_a_directory_starts_no_spark_and_loads_no_pandas(env: dict[str, str]) -> None:
    for words in (
        ["topics", "create", "flights"],
        ["subscriptions", "create", "delays", "--topic=flights"],
        ["topics", "publish", "flights", "--message=late"],
        ["subscriptions", "pull", "delays", "--auto-ack"],
        ["snapshots", "create", "before", "--subscription=delays"],
        ["subscriptions", "seek", "delays", "--snapshot=before"],
        ["snapshots", "list"],
    ):
        modules = json.loads(python(THEN, *words, env=env).stderr.splitlines()[-1])
        assert {"pyspark", "py4j", "pandas", "grpc"}.intersection(modules) == set(), words


def test_pandas_is_found_by_who_asks_for_it(env: dict[str, str]) -> None:
    pytest.importorskip("pandas")
    script = """
import sys
import pyarrow as pa
from pubsub_delta.cli.session import without_pandas
without_pandas()
rows = pa.table({"a": [1]})
print("pandas" in sys.modules)
print(rows.to_pandas()["a"].tolist(), pa.Table.from_pandas(rows.to_pandas()).num_rows)
"""
    assert python(script, env=env).stdout == "False\n[1] 1\n"


class TestNamesFile:
    def kept(self, folder: Path, clock: Any = None) -> NamesFile:
        environment = {"XDG_CACHE_HOME": str(folder / "cache")}
        return NamesFile(str(folder / "store"), environment, (clock or SystemClock()).now)

    def test_names_hold_until_the_table_changes(self, tmp_path: Path) -> None:
        log = tmp_path / "store/topics/_delta_log"
        log.mkdir(parents=True)
        settle(tmp_path)
        asked: list[int] = []

        def list_all() -> list[str]:
            asked.append(1)
            return ["projects/p/topics/ttt"]

        def names() -> int:
            assert self.kept(tmp_path).names("topics", "p", list_all) == ["projects/p/topics/ttt"]
            return len(asked)

        assert [names(), names()] == [1, 1]
        self.kept(tmp_path).names("topics", "other", list_all)
        assert [names(), names()] == [3, 3]  # the file is about one project
        (log / "1.json").touch()
        assert [names(), names()] == [4, 5]  # it has changed just now, and may again
        settle(tmp_path)
        assert [names(), names()] == [6, 6]
        next((tmp_path / "cache").rglob("topics.json")).write_text("[1,")
        assert [names(), names()] == [7, 7]

    def test_names_hold_for_a_while_only(self, tmp_path: Path) -> None:
        # a snapshot expires, and is not list_all any more, without a commit
        (tmp_path / "store/snapshots").mkdir(parents=True)
        (tmp_path / "store/snapshots/_delta_log").mkdir()
        clock = ManualClock(SystemClock().now() + 2 * SETTLED)
        kept, answers = self.kept(tmp_path, clock), [["a"], ["b"]]

        def names() -> str:
            return kept.names("snapshots", "p", lambda: answers.pop(0))[0]

        assert [names(), names()] == ["a", "a"]
        clock.advance(FILE_TTL.total_seconds())
        assert [names(), names()] == ["b", "b"]

    def test_nothing_is_kept_of_what_is_elsewhere(self, tmp_path: Path) -> None:
        for root in ("s3a://bucket/store", "main.pubsub", "no root"):
            kept = NamesFile(root, {"HOME": str(tmp_path)}, SystemClock().now)
            assert kept.names("topics", "p", lambda: ["a"]) == ["a"]
        assert list(tmp_path.iterdir()) == []


needs = {
    name: pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed")
    for name in ("bash", "zsh", "fish")
}
TYPED = [("pubsub-delta subscr", "subscriptions"), ("pubsub-delta topics describe fl", "flights")]


@pytest.fixture
def stored(env: dict[str, str]) -> dict[str, str]:
    python(THEN, "topics", "create", "flights", env=env)
    return env


@needs["bash"]
@pytest.mark.parametrize(("typed", "found"), TYPED)
def test_bash_completes(stored: dict[str, str], typed: str, found: str) -> None:
    words = typed.split()
    script = f"""
eval "$(pubsub-delta completion bash)"
COMP_WORDS=({typed}) COMP_CWORD={len(words) - 1}
_pubsub_delta_completion pubsub-delta {words[-1]} {words[-2]}
echo "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, text=True, env=stored, check=True
    )
    assert done.stdout.split() == [found], done.stderr


@needs["fish"]
@pytest.mark.parametrize(("typed", "found"), TYPED)
def test_fish_completes(stored: dict[str, str], typed: str, found: str) -> None:
    script = f"pubsub-delta completion fish | source; complete -C '{typed}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        capture_output=True,
        text=True,
        env=stored,
        check=True,
    )
    assert done.stdout.split("\t")[0].strip() == found, done.stderr


@needs["zsh"]
@pytest.mark.parametrize(("typed", "found"), TYPED)
def test_zsh_completes(stored: dict[str, str], typed: str, found: str) -> None:
    shell, terminal = pty.openpty()
    begin = (
        'autoload -U compinit && compinit -u && eval "$(pubsub-delta completion zsh)"; echo re""ady'
    )
    with subprocess.Popen(
        ["zsh", "-f", "-i"], stdin=terminal, stdout=terminal, stderr=terminal, env=stored
    ) as process:
        try:
            os.write(shell, f"{begin}\n".encode())
            until(shell, "ready")
            os.write(shell, f"{typed}\t".encode())
            until(shell, found)
        finally:
            process.kill()
    os.close(shell)
    os.close(terminal)


def until(shown: int, text: str, seconds: float = 60) -> None:
    """Read a terminal until a text stands there."""
    told = ""
    while text not in told:
        ready, _, _ = select.select([shown], [], [], seconds)
        assert ready, told
        told += os.read(shown, 65536).decode("utf-8", "replace")


@pytest.mark.parametrize("protocol", ["zsh", "fish"])
def test_the_scripts_of_zsh_and_fish_are_answered(stored: dict[str, str], protocol: str) -> None:
    """Where neither is installed: what their scripts ask, as click's protocol has it."""
    asked = {"COMP_WORDS": "pubsub-delta topics describe fl", "COMP_CWORD": "3"}
    if protocol == "fish":
        asked["COMP_CWORD"] = "fl"
    done = python(
        PATIENT, env={**stored, **asked, "_PUBSUB_DELTA_COMPLETE": f"{protocol}_complete"}
    )
    assert done.stdout.split() in (
        ["plain", "flights", "_"],
        ["plain,flights"],
        ["plain", "flights"],
    )
