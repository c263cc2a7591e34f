"""Options of table subscriptions, as gcloud's of BigQuery subscriptions."""

from __future__ import annotations

from typing import Any

import click

from pubsub_delta.cli.arguments import Switch, mutually_exclusive
from pubsub_delta.jobs.option_groups import options
from pubsub_delta.policy.table_configs import SWITCHES
from pubsub_delta.table_config import TableConfig

table_options = options(
    click.option(
        "--table",
        "--bigquery-table",
        "table",
        metavar="TABLE",
        help="The Delta table that messages are written to: project.dataset.table, or a path.",
    ),
    click.option(
        "--use-topic-schema",
        cls=Switch,
        help="The fields of the topic's schema are the columns.",
    ),
    click.option(
        "--use-table-schema",
        cls=Switch,
        help="The data is JSON, and its members are the columns.",
    ),
    click.option(
        "--write-metadata",
        cls=Switch,
        help="Write subscription_name, message_id, publish_time and attributes, too.",
    ),
    click.option(
        "--drop-unknown-fields",
        cls=Switch,
        help="With a schema: leave out fields without a column.",
    ),
)
"""The options of the table and its columns."""


def table_fields(given: dict[str, Any], *, clear: bool = False) -> dict[str, Any]:
    """Return the table config that the options give. As at Google, it is replaced as a whole."""
    switches = {name: given[name] for name in SWITCHES}
    mutually_exclusive(table=given["table"], clear_bigquery_config=clear)
    if clear:
        return {"table_config": None}
    if given["table"] is None:
        named = next((name for name, value in switches.items() if value), None)
        if named is not None:
            raise click.UsageError(f"--{named.replace('_', '-')} needs --table")
        return {}
    chosen: dict[str, Any] = {name: bool(value) for name, value in switches.items()}
    return {"table_config": TableConfig(given["table"], **chosen)}
