"""Which tests are asked first whether they notice a bug, and which ones after that."""

from __future__ import annotations

from pathlib import Path

from tests.mutations.bug import LIBRARY, REPOSITORY, Bug
from tests.mutations.bugs import NEAREST

CLOSE = (
    "consumer_calls",
    "crossed_changes",
    "delivery",
    "delivery_order",
    "every_seek",
    "exactly_once",
    "expiration",
    "lost_answers",
    "metrics_of_a_store",
    "needed",
    "ordering",
    "races",
    "redelivery",
    "replay",
    "retention",
    "retention_job",
    "seek_calls",
    "snapshot_calls",
    "snapshots",
    "spans",
    "state_rows",
    "streams",
    "tables_in_memory",
    "ack_requests",
    "update_calls",
)
"""Unit tests of what the modules do together, by examples: a few seconds for all."""

CLOSE_TO_CONSUMERS = (
    "callbacks",
    "exactly_once",
    "outstanding",
    "server_assigner",
    "server_iam",
    "server_leaser",
    "server_leases",
    "server_memory",
    "server_lease_journals",
    "server_pull",
    "server_push",
    "server_push_changes",
    "server_replies",
    "server_response_queue",
    "server_seeks",
    "server_streams",
    "server_wire",
    "subscriber",
    "subscriber_end",
    "successors",
)
"""The same of what a server or a StreamingPull does: they know no operations of their own."""

MACHINE = "tests/model/test_machine.py"
"""The state machine over the whole specification, on tables in memory."""

OF_CONSUMERS = (
    "callbacks.py",
    "policy/ack_buffer.py",
    "policy/outstanding.py",
    "subscriber.py",
)
"""Modules whose bugs such a test notices, besides those of the server."""

FAR_AWAY = (
    "architecture",
    "benchmark",
    "charts",
    "cli",
    "configuration",
    "databricks",
    "dependencies",
    "docs",
    "durations",
    "errors",
    "exporter",
    "fuzz_command",
    "fuzz_names",
    "fuzz_roots",
    "fuzz_sql",
    "fuzz_times",
    "guarantees",
    "hostile",
    "job",
    "layout",
    "mutations",
    "names",
    "server",
    "shell",
)
"""Unit tests that know neither policy nor operations, by how their names begin."""


def nearest_tests(bug: Bug) -> list[str]:
    """Return the files with the nearest tests of a bug's module, examples in docstrings too."""
    found = NEAREST[bug.file]
    has_examples = ">>>" in bug.path(REPOSITORY).read_text(encoding="utf-8")
    return [f"{LIBRARY}/{bug.file}", *found] if has_examples else [*found]


def other_tests(root: Path) -> list[str]:
    """Return all files with unit tests that have to do with policy or operations."""
    names = sorted(path.stem for path in (root / "tests" / "unit").glob("test_*.py"))
    near = [name for name in names if not name.removeprefix("test_").startswith(FAR_AWAY)]
    return [f"tests/unit/{name}.py" for name in near]


def rungs(bug: Bug, root: Path) -> list[list[str]]:
    """Return the tests to run for a bug: few at first, and more if those notice nothing."""
    if bug.needs_spark:
        return [list(bug.needs_spark)]
    of_consumers = bug.file in OF_CONSUMERS or bug.file.startswith("server/")
    names = CLOSE_TO_CONSUMERS if of_consumers else CLOSE
    close = [f"tests/unit/test_{name}.py" for name in names]
    return [tests for tests in (nearest_tests(bug), close, [MACHINE], other_tests(root)) if tests]
