"""What is done with all of a store, where there is none: its root is misspelt, or not mounted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pubsub_delta import ManualClock, NotFound, PubSub
from pubsub_delta.cli.main import cli
from pubsub_delta.jobs.export_metrics import export_metrics
from pubsub_delta.jobs.maintain import maintain
from tests.lanes.test_damaged_metrics import scraped


def run(command: Any, *arguments: str) -> tuple[int, str]:
    ended = CliRunner().invoke(command, arguments)
    return ended.exit_code, ended.output


def test_a_store_that_nobody_has_created_is_not_maintained(tmp_path: Path) -> None:
    """ "What it could not do is in `problems`": also where a schedule misspells a root."""
    root = tmp_path / "stroe"
    store = PubSub(None, str(root), clock=ManualClock())
    for dry_run in (True, False):
        report = store.maintain(vacuum=True, log_retention="1d", dry_run=dry_run)
        assert list(report.problems) == [str(root)]
        assert "NotFound: there is no store here" in report.problems[str(root)]
    assert "there is no store here" in run(maintain, "--root", str(root))[1]
    assert run(maintain, "--root", str(root))[0] == 1
    assert run(cli, "maintain", f"--root={root}")[0] == 1
    assert not root.exists(), "nothing was written"
    store.create_topic("orders")
    assert store.maintain(vacuum=True).problems == {}
    store.delete_topic("orders")
    store.maintain()
    assert store.maintain().problems == {}, "a store without topics is one"
    assert run(maintain, "--root", str(root))[0] == 0


def test_the_metrics_of_a_store_that_is_not_there_are_not_those_of_an_empty_one(
    tmp_path: Path,
) -> None:
    """A watch that has no series of a subscription would be silent, as if all were well."""
    root = tmp_path / "store"
    arguments = ("--root", str(root), "--once")
    code, told = run(export_metrics, *arguments)
    assert (code, "NOT_FOUND: " in told, "pubsub_delta_up 1.0" in told) == (3, True, False)
    exporter = PubSub(None, str(root), clock=ManualClock()).metrics_exporter()
    with pytest.raises(NotFound, match="there is no store here"):
        exporter.refresh()
    assert scraped(exporter.text(), "pubsub_delta_up") == {"": 0}
    PubSub(None, str(root)).create_topic("orders")
    exporter.refresh()
    assert scraped(exporter.text(), "pubsub_delta_up") == {"": 1}
    root.rename(tmp_path / "not mounted")
    with pytest.raises(NotFound):
        exporter.refresh()
    assert scraped(exporter.text(), "pubsub_delta_up") == {"": 0}
    assert "pubsub_topic_message_count" in exporter.text(), "the last metrics stay, and grow old"
