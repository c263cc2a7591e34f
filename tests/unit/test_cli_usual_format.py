"""The format of the settings file is the usual one of every command that shows something."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pubsub_delta.cli.application import App
from pubsub_delta.cli.main import cli
from tests.unit.serving_world import WorldBackend


@pytest.mark.parametrize(
    "line",
    ["subscriptions watch delays --count=1", "maintain --dry-run", "doctor", "topics list"],
)
def test_the_format_of_the_file_is_that_of_each_command(line: str, tmp_path: Path) -> None:
    # "`--format` in a file is the usual one of all commands"
    backend = WorldBackend()
    backend.store.create_topic("flights")
    backend.store.create_subscription("delays", "flights")
    file = tmp_path / "config.toml"
    file.write_text('format = "json"')
    environment = {"PUBSUB_DELTA_ROOT": str(tmp_path), "PUBSUB_DELTA_CONFIG": str(file)}
    app = App(lambda _: backend.store, backend.clock, environment)
    shown = CliRunner().invoke(cli, line.split(), obj=app)
    assert json.loads(shown.stdout), shown.stderr
