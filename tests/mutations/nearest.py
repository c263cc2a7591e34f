"""Which tests are asked first whether they notice a bug, and which ones after that."""

from __future__ import annotations

from pathlib import Path

from tests.mutations.bug import LIBRARY, REPOSITORY, Bug

NEAREST: dict[str, tuple[str, ...]] = {
    "console/jobs.py": ("console_jobs",),
    "console/pages.py": ("console_jobs", "console_pages"),
    "batches.py": ("readings", "batches"),
    "clock.py": ("fine_times", "clock"),
    "durations.py": ("fine_times", "durations"),
    "cli/arguments.py": ("cli_arguments",),
    "tables/lanes/direct/attributes.py": ("stored_attributes",),
    "tables/lanes/direct/filters.py": ("stored_attributes",),
    "cli/times.py": ("fine_times", "cli_times"),
    "server/wire.py": ("fine_times", "server_wire"),
    "policy/ack_ids.py": ("ack_ids",),
    "policy/ack_state.py": ("spans", "replay", "snapshots", "delivery_order"),
    "policy/delivery.py": (
        "delivery",
        "exactly_once",
        "ordering",
        "redelivery",
        "streams",
        "replay",
        "turns",
    ),
    "policy/drains.py": ("data_source_consumer",),
    "policy/fields.py": ("fields", "updates", "snapshots"),
    "policy/filters.py": ("filters",),
    "policy/messages.py": ("messages",),
    "policy/ordering.py": ("ordering", "delivery_order"),
    "policy/paging.py": ("paging",),
    "policy/positions.py": ("positions",),
    "policy/push_configs.py": ("push_configs",),
    "policy/push_window.py": ("push_window",),
    "policy/redelivery.py": ("redelivery", "delivery_order", "consumer_calls"),
    "policy/replay.py": ("replay", "snapshots", "seek_calls", "every_seek"),
    "policy/retention.py": ("retention", "needed", "replay"),
    "policy/sampling.py": (),
    "policy/spans.py": ("spans", "delivery_order", "ordering"),
    "policy/streams.py": ("streams", "data_source_consumer"),
    "policy/turns.py": ("turns",),
    "policy/unchanged.py": ("if_unchanged",),
    "operations/acknowledge.py": ("consumer_calls", "expiration", "tables_in_memory"),
    "operations/administer.py": (
        "update_calls",
        "if_unchanged",
        "crossed_changes",
        "expiration",
    ),
    "operations/history.py": ("topic_history",),
    "operations/maintain.py": ("expiration", "retention_job", "races", "tables_in_memory"),
    "operations/measure.py": (),
    "operations/metrics.py": ("metrics_of_a_store",),
    "operations/publish.py": ("tables_in_memory", "races", "schema_publishing"),
    "operations/pull.py": ("consumer_calls", "expiration"),
    "operations/seek.py": ("seek_calls", "races"),
    "operations/snapshot.py": ("seek_calls", "snapshot_calls"),
    "operations/survey.py": ("survey",),
    "cli/message_lines.py": ("cli_publish",),
    "cli/publish.py": ("cli_publish",),
    "delivery/dead_letters.py": (
        "readings",
        "restored",
        "tables_in_memory",
        "races",
        "consumer_calls",
        "simulation",
    ),
    "datasource/checking.py": ("data_source_checking",),
    "datasource/columns.py": ("data_source_options",),
    "datasource/consumer.py": ("data_source_consumer",),
    "datasource/offsets.py": ("data_source_consumer",),
    "datasource/options.py": ("data_source_options",),
    "datasource/parts.py": ("data_source_parts", "data_source_consumer"),
    "datasource/reading.py": (),
    "datasource/writing.py": (),
    "delivery/leases.py": ("readings", "tables_in_memory"),
    "delivery/readings.py": ("readings",),
    "delivery/sources.py": ("tables_in_memory", "snapshot_calls"),
    "delivery/schemas.py": ("schema_publishing", "schema_calls"),
    "operations/schemas.py": ("schema_calls",),
    "policy/schemas/avro.py": ("schema_avro",),
    "policy/schemas/avro_binary.py": ("schema_avro",),
    "policy/schemas/avro_json.py": ("schema_avro",),
    "policy/schemas/fitting.py": ("schema_typing", "schema_publishing"),
    "policy/schemas/protobuf.py": ("schema_protobuf",),
    "policy/schemas/revisions.py": ("schema_revisions", "schema_calls"),
    "policy/schemas/types.py": ("schema_avro",),
    "tables/registry/schemas.py": ("schema_publishing", "schema_calls"),
    "server/publishing.py": ("server_gathering", "server_schemas"),
    "server/leasing.py": ("server_pull", "server_streams"),
    "errors.py": ("errors",),
    "subscriber.py": ("subscriber",),
    "server/ledger.py": ("server_ledger", "server_seeks"),
    "server/outbox.py": ("server_outbox",),
    "server/status.py": ("server_replies",),
    "server/subscriber_service.py": ("server_pull", "server_replies"),
    "cli/application.py": ("cli_formats",),
    "cli/delivery.py": ("cli_pull",),
    "cli/endpoint/failures.py": ("cli_endpoint",),
    "console/security.py": ("console_security",),
    "tables/ack_state/rows.py": ("state_rows",),
    "tables/ack_state/snapshots.py": ("snapshot_calls",),
    "tables/ack_state/states.py": ("lost_answers", "restored", "consumer_calls", "simulation"),
    "tables/ack_state/tables.py": ("tables_in_memory",),
    "tables/lanes/locks.py": ("locks",),
    "tables/messages/commits.py": ("restored", "tables_in_memory", "retention_job"),
    "tables/messages/messages.py": ("tables_in_memory", "retention_job", "races"),
    "tables/messages/ranges.py": ("tables_in_memory",),
    "tables/registry/registry.py": (
        "tables_in_memory",
        "snapshot_calls",
        "expiration",
        "schema_publishing",
    ),
    "tables/registry/resource_table.py": ("tables_in_memory", "if_unchanged", "expiration"),
}
"""Unit tests of a module, besides the examples in its docstrings. Others follow anyway."""

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
