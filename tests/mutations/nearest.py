"""Which tests are asked first whether they notice a bug, and which ones after that."""

from __future__ import annotations

from pathlib import Path

from tests.mutations.bug import LIBRARY, REPOSITORY, Bug

NEAREST: dict[str, tuple[str, ...]] = {
    "policy/ack_ids.py": ("ack_ids",),
    "policy/ack_state.py": ("spans", "replay", "snapshots"),
    "policy/delivery.py": (
        "delivery",
        "exactly_once",
        "ordering",
        "redelivery",
        "streams",
        "replay",
    ),
    "policy/fields.py": ("fields", "updates", "snapshots"),
    "policy/filters.py": ("filters",),
    "policy/messages.py": ("messages",),
    "policy/ordering.py": ("ordering",),
    "policy/paging.py": ("paging",),
    "policy/positions.py": ("positions",),
    "policy/push_configs.py": ("push_configs",),
    "policy/push_window.py": ("push_window",),
    "policy/redelivery.py": ("redelivery", "consumer_calls"),
    "policy/replay.py": ("replay", "snapshots", "seek_calls", "every_seek"),
    "policy/retention.py": ("retention", "needed", "replay"),
    "policy/sampling.py": (),
    "policy/spans.py": ("spans", "ordering"),
    "policy/streams.py": ("streams",),
    "policy/turns.py": ("turns",),
    "policy/unchanged.py": ("if_unchanged",),
    "operations/acknowledge.py": ("consumer_calls", "expiration", "tables_in_memory"),
    "operations/administer.py": ("update_calls", "if_unchanged", "expiration"),
    "operations/history.py": ("topic_history",),
    "operations/maintain.py": ("expiration", "retention_job", "tables_in_memory"),
    "operations/measure.py": (),
    "operations/metrics.py": ("metrics_of_a_store",),
    "operations/publish.py": ("tables_in_memory",),
    "operations/pull.py": ("consumer_calls", "expiration"),
    "operations/seek.py": ("seek_calls",),
    "operations/snapshot.py": ("seek_calls", "snapshot_calls"),
    "operations/survey.py": ("survey",),
    "cli/message_lines.py": ("cli_publish",),
    "cli/publish.py": ("cli_publish",),
    "delivery/dead_letters.py": ("tables_in_memory", "consumer_calls", "simulation"),
    "delivery/leases.py": ("tables_in_memory",),
    "delivery/sources.py": ("tables_in_memory", "snapshot_calls"),
    "tables/ack_state/rows.py": ("state_rows",),
    "tables/ack_state/snapshots.py": ("snapshot_calls",),
    "tables/ack_state/states.py": ("lost_answers", "consumer_calls", "simulation"),
    "tables/ack_state/tables.py": ("tables_in_memory",),
    "tables/messages/commits.py": ("tables_in_memory", "retention_job"),
    "tables/messages/messages.py": ("tables_in_memory", "retention_job"),
    "tables/messages/ranges.py": ("tables_in_memory",),
    "tables/registry/registry.py": ("tables_in_memory", "snapshot_calls"),
    "tables/registry/resource_table.py": ("tables_in_memory", "if_unchanged"),
}
"""Unit tests of a module, besides the examples in its docstrings. Others follow anyway."""

CLOSE = (
    "consumer_calls",
    "delivery",
    "every_seek",
    "exactly_once",
    "expiration",
    "lost_answers",
    "metrics_of_a_store",
    "needed",
    "ordering",
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
    "turns",
    "update_calls",
)
"""Unit tests of what the modules do together, by examples: a few seconds for all."""

MACHINE = "tests/model/test_machine.py"
"""The state machine over the whole specification, on tables in memory."""

FAR_AWAY = (
    "architecture",
    "benchmark",
    "cli",
    "configuration",
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
    "layout",
    "mutations",
    "names",
    "server",
    "shell",
)
"""Unit tests that know neither policy nor operations, by how their names begin."""


def nearest_tests(bug: Bug) -> list[str]:
    """Return the files with the nearest tests of a bug's module, examples in docstrings too."""
    found = [f"tests/unit/test_{name}.py" for name in NEAREST[bug.file]]
    has_examples = ">>>" in bug.path(REPOSITORY).read_text(encoding="utf-8")
    return [f"{LIBRARY}/{bug.file}", *found] if has_examples else found


def other_tests(root: Path) -> list[str]:
    """Return all files with unit tests that have to do with policy or operations."""
    names = sorted(path.stem for path in (root / "tests" / "unit").glob("test_*.py"))
    near = [name for name in names if not name.removeprefix("test_").startswith(FAR_AWAY)]
    return [f"tests/unit/{name}.py" for name in near]


def rungs(bug: Bug, root: Path) -> list[list[str]]:
    """Return the tests to run for a bug: few at first, and more if those notice nothing."""
    if bug.needs_spark:
        return [list(bug.needs_spark)]
    close = [f"tests/unit/test_{name}.py" for name in CLOSE]
    return [tests for tests in (nearest_tests(bug), close, [MACHINE], other_tests(root)) if tests]
