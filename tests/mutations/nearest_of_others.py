"""The nearest tests of the modules that ``bugs_of_an_outsider`` was the first to change."""

from __future__ import annotations

NEAREST_OF_OTHERS: dict[str, tuple[str, ...]] = {
    "methods/metrics.py": ("exporter", "metrics_of_a_store"),
    "methods/schemas.py": ("schema_calls",),
    "methods/streams.py": ("publisher", "successors"),
    "tables/store.py": ("races", "publish_calls"),
    "server/iam_service.py": ("server_iam",),
    "server/rest/selection.py": ("rest_answers",),
    "micro_batch_lease.py": ("micro_batch_lease",),
    "datasource/batch_reader.py": ("lanes/test_data_source_filters",),
    "console/pulling.py": ("console_messages",),
    "console/charts.py": ("console_ack_state_chart",),
    "console/replay.py": ("console_flows",),
    "console/overview.py": ("console_pages", "console_lists"),
    "cli/settings.py": ("cli_endpoint_reached", "cli_arguments"),
    "cli/rest.py": ("cli_watch", "cli_formats", "gcloud_listings"),
    "cli/watch.py": ("cli_watch",),
    "exporter.py": ("exporter",),
    "jobs/file_formats.py": ("job_file_formats",),
    "jobs/idempotency_ids.py": ("job_idempotency_ids",),
    "tables/lanes/spark/columns.py": (),
    "tables/lanes/spark/frames.py": (),
    "policy/schemas/avro_defaults.py": ("schema_typing",),
    "tables/messages/commits.py": (
        "looks",
        "restored",
        "tables_in_memory",
        "retention_job",
        "as_of",
    ),
}
