"""The walk-throughs of the documentation, run as they stand there, one after the other."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from string import Template

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from pubsub_delta import ManualClock
from pubsub_delta.cli.application import App
from pubsub_delta.cli.main import cli
from tests.conftest import REPOSITORY

DOCS = REPOSITORY / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"^print\(.*\)(?:  |\n)# (.+)$", re.MULTILINE)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def pages_with(block: re.Pattern[str]) -> list[str]:
    """Return the pages that have such a block, without their ending."""
    texts = {path: path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}
    return sorted(
        path.relative_to(DOCS).with_suffix("").as_posix()
        for path, text in texts.items()
        if block.search(text)
    )


@pytest.mark.trial
@pytest.mark.parametrize("page", pages_with(BLOCK))
def test_the_walk_throughs_of_a_page_run_as_they_stand(
    page: str,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    blocks = BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"docs/{page}.md, block {number}", "exec"), names)
    assert names.get("spark", spark) is spark
    assert isinstance(names.get("clock", ManualClock()), ManualClock)
    promised = [output for block in blocks for output in OUTPUT.findall(block)]
    assert capsys.readouterr().out.splitlines() == promised


@pytest.mark.trial
@pytest.mark.parametrize("page", pages_with(CONSOLE))
def test_the_commands_of_a_page_print_what_it_shows(
    page: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "…" in a page stands for what nobody can know before, such as an ack id
    monkeypatch.chdir(tmp_path)
    variables: dict[str, str] = {"HOME": str(tmp_path)}
    blocks = CONSOLE.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    for command in re.split(r"^\$ ", "".join(blocks), flags=re.MULTILINE)[1:]:
        line, _, shown = command.partition("\n")
        printed = run_line(line, variables)
        wanted = ".*".join(map(re.escape, shown.split("…")))
        assert re.fullmatch(wanted, printed, re.DOTALL), f"$ {line}\n{printed}"


def run_line(line: str, variables: dict[str, str]) -> str:
    """Run a line of a shell in the suite's own session: a command, or an assignment."""
    assigned = re.fullmatch(r"(?:export )?([A-Z_]+)=(?:\$\((.+)\)|(.*))", line)
    if assigned:
        name, command, value = assigned.groups()
        variables[name] = run_line(command, variables).strip() if command else value
        return ""
    program, *args = shlex.split(Template(line).substitute(variables))
    assert program == "pubsub-delta", line
    # The exit code is that of a page's last word: errors are shown as they are printed.
    return CliRunner().invoke(cli, args, obj=App(environment=variables)).output
