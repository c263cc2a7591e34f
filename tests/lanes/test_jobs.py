"""The jobs for schedulers that need no Spark, on real tables: what their options ask for."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable

from pubsub_delta import PubSub, TableConfig
from pubsub_delta.jobs.maintain import maintain
from tests.lanes.table_world import BYTES

TOPIC, NAME = "flights", "delays"
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")


@pytest.fixture
def store(tmp_path: Path) -> PubSub:
    """Return a store with a topic, a subscription, and three messages."""
    made = PubSub(None, str(tmp_path / "store"))
    made.create_topic(TOPIC)
    made.create_subscription(NAME, TOPIC)
    made.publish(TOPIC, [b"a", b"b", b"c"])
    return made


def run(job: click.Command, root: Path, *more: str) -> str:
    result = CliRunner().invoke(job, ["--root", str(root / "store"), *more])
    assert result.exit_code == 0, result.output
    return result.output


def test_retention_deletes_single_messages_where_it_is_asked_to(
    store: PubSub, tmp_path: Path
) -> None:
    """With --exact it does not wait for the end of their day; a dry run only counts them."""
    store.pull(NAME).ack()
    how = ("--duties", "retention", "--exact")
    dry = run(maintain, tmp_path, *how, "--dry-run")
    assert "maintain (retention): 3 messages would be deleted" in dry
    assert store.topic_metrics(TOPIC).message_count == 3
    assert "maintain (retention): 3 messages deleted" in run(maintain, tmp_path, *how)
    assert store.topic_metrics(TOPIC).message_count == 0


def test_tables_are_written_below_their_root(store: PubSub, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    DeltaTable.create(str(lake / "shop" / "orders"), BYTES)
    there = PubSub(None, str(tmp_path / "store"), tables_root=str(lake))
    there.create_subscription("rows", TOPIC, table_config=TableConfig("shop.orders"))
    store.publish(TOPIC, [b"d"])
    told = run(maintain, tmp_path, "--duties", "tables", "--tables-root", str(lake))
    assert "1 message written to tables" in told
    found = DeltaTable(str(lake / "shop" / "orders")).to_pyarrow_table()
    assert found["data"].to_pylist() == [b"d"]


def samples(text: str, name: str) -> Iterator[float]:
    """Yield the values of a metric in Prometheus' text."""
    for value in re.findall(rf"^pubsub_{name}{{.*}} (.*)$", text, re.MULTILINE):
        yield float(value)


def test_metrics_are_those_of_all_resources_or_of_the_named_ones(
    store: PubSub, tmp_path: Path
) -> None:
    pytest.importorskip("prometheus_client")
    from pubsub_delta.jobs.export_metrics import export_metrics

    store.create_subscription("archive", TOPIC)
    backlog = "subscription_num_undelivered_messages"
    assert sorted(samples(run(export_metrics, tmp_path, "--once"), backlog)) == [0, 3]
    named = run(export_metrics, tmp_path, "--once", "--name", NAME)
    assert list(samples(named, backlog)) == [3]


def test_exact_metrics_are_no_estimates(store: PubSub, tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client")
    from pubsub_delta.jobs.export_metrics import export_metrics

    store.publish(TOPIC, [b"x" * 1000])
    estimates = [
        [*samples(run(export_metrics, tmp_path, "--once", *more), r"\w+_is_estimate")]
        for more in ((), ("--exact",))
    ]
    assert any(estimates[0])
    assert not any(estimates[1])


def test_a_summary_is_written_into_a_directory_that_is_not_there_yet(
    store: PubSub, tmp_path: Path
) -> None:
    """A job that has done its work does not fail at its last line."""
    pytest.importorskip("prometheus_client")
    from pubsub_delta.jobs.export_metrics import export_metrics

    del store
    paths = [tmp_path / name / "runs" / "last.json" for name in ("maintain", "metrics")]
    run(maintain, tmp_path, "--summary", str(paths[0]))
    run(export_metrics, tmp_path, "--once", "--summary", str(paths[1]))
    assert all(isinstance(json.loads(path.read_text()), dict) for path in paths)


@FULL
def test_metrics_that_a_full_disk_did_not_take_are_told_as_not_printed(
    store: PubSub, tmp_path: Path
) -> None:
    """ "An error of the library is one line", and its exit code 3."""
    pytest.importorskip("prometheus_client")
    del store
    program = "from pubsub_delta.jobs.entry_points import export_metrics; export_metrics()"
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", program, f"--root={tmp_path}/store", "--once"],
            stdout=full, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert ended.returncode == 3
    assert ended.stderr.decode() == (
        "ERROR: (pubsub-delta-export-metrics) FAILED_PRECONDITION: "
        "standard output cannot be written: No space left on device\n"
    )


def test_the_address_of_metrics_is_a_url(store: PubSub, tmp_path: Path, monkeypatch: Any) -> None:
    """An IPv6 address has brackets in a URL."""
    pytest.importorskip("prometheus_client")
    from pubsub_delta.jobs import export_metrics as job

    del store
    monkeypatch.setattr(job, "wait_for_interrupt", lambda: None)
    told = run(job.export_metrics, tmp_path, "--port=0", "--address=::1")
    assert re.search(r"^export-metrics: http://\[::1\]:\d+/metrics$", told, re.MULTILINE)


@FULL
def test_a_job_whose_log_is_full_ends_with_the_code_of_what_it_has_done(
    store: PubSub, tmp_path: Path
) -> None:
    """A scheduler decides by the exit code whether to run it again."""
    del store
    program = "from pubsub_delta.jobs.entry_points import maintain; maintain()"
    buffered = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", program, f"--root={tmp_path}/store"],
            stdout=full, stderr=subprocess.PIPE, env=buffered, check=False,
        )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, b"")
