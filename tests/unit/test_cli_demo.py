"""``demo`` beside other settings: its store is where it says, and its commands work on it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pubsub_delta.cli.application import App
from pubsub_delta.cli.demo import TO_TRY
from pubsub_delta.cli.main import cli


def run(environment: dict[str, str], *words: str) -> Result:
    return CliRunner().invoke(cli, words, obj=App(environment=environment))


def test_the_commands_that_a_demo_prints_work_on_it(tmp_path: Path) -> None:
    # "DIRECTORY … makes a store with a thousand flights, and tells what to try on it"
    environment = {"HOME": "/nowhere", "PUBSUB_DELTA_ENDPOINT": "localhost:1"}
    made = run(environment, "demo", str(tmp_path / "flights"), "--project=acme")
    assert made.exit_code == 0, made.stderr
    for line in made.stdout.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "export":
            name, _, value = rest.partition("=")
            environment[name] = shlex.split(value)[0]
        elif word == "unset":
            del environment[rest]
    assert environment.keys() == {"HOME", "PUBSUB_DELTA_ROOT", "PUBSUB_DELTA_PROJECT"}
    command, _ = TO_TRY[1]
    assert f"pubsub-delta {command}\n" in made.stdout
    shown = run(environment, *command.split())
    assert shown.exit_code == 0, shown.stderr
    assert "carrier=" in shown.stdout


def test_a_demo_is_made_in_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The root of every command may begin so: no shell expands it after an equals sign."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    made = run({"HOME": str(tmp_path)}, "demo", "--root=~/flights")
    assert made.exit_code == 0, made.stderr
    assert f"export PUBSUB_DELTA_ROOT={tmp_path}/flights\n" in made.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["flights"]
