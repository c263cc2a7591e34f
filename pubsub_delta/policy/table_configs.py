"""The accepted configurations of a table subscription (Pub/Sub: BigQuery subscriptions)."""

from __future__ import annotations

import re
from dataclasses import replace

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.arguments import check_switch, is_given
from pubsub_delta.resources import PushConfig
from pubsub_delta.table_config import TableConfig

MAX_TABLE_CHARACTERS = 1024
SWITCHES = ("use_topic_schema", "use_table_schema", "write_metadata", "drop_unknown_fields")

_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){0,2}")
_OF_GCLOUD = re.compile(r"([A-Za-z0-9_-]+):([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)")
"""How gcloud's help writes the name of a table: ``project:dataset.table``."""
_ACCEPTED = (
    "a name (project.dataset.table, dataset.table, table; of letters, digits, _ and -), or the "
    "whole path or URL of a table is accepted"
)


def check_table_config(
    config: TableConfig | None,
    *,
    push_config: PushConfig | None,
    enable_exactly_once_delivery: bool,
) -> TableConfig | None:
    """Return a checked table configuration; None without one.

    Pub/Sub: a subscription is pulled from, pushes, or writes to one table; only pull has
    exactly-once delivery; the schema is the topic's or the table's.
    """
    without = "a subscription that writes to no table"
    if not is_given(config, TableConfig, "table_config", without):
        return None
    table = _checked_table(config.table)
    for name in SWITCHES:
        check_switch(getattr(config, name), f"table_config.{name}")
    if config.use_topic_schema and config.use_table_schema:
        raise InvalidArgument(
            "table_config: use_topic_schema together with use_table_schema; one of them is accepted"
        )
    if push_config is not None:
        raise InvalidArgument(
            f"table_config.table: {config.table!r} together with a push_config; a subscription "
            "either pushes its messages or writes them to a table"
        )
    if enable_exactly_once_delivery:
        raise InvalidArgument(
            f"table_config.table: {config.table!r} together with enable_exactly_once_delivery, "
            "which works only where messages are pulled; a table gets each message once without it"
        )
    return replace(config, table=table, state=None)


def parts_of(table: str) -> list[str] | None:
    """Return the parts of the name of a table; None for a path or a URL.

    >>> parts_of("shop.sales.orders"), parts_of("/data/orders")
    (['shop', 'sales', 'orders'], None)
    """
    return table.split(".") if _NAME.fullmatch(table) else None


def _checked_table(table: object) -> str:
    if not isinstance(table, str) or not 1 <= len(table) <= MAX_TABLE_CHARACTERS or "\0" in table:
        raise InvalidArgument(f"table_config.table: {table!r} names no table; {_ACCEPTED}")
    named = _OF_GCLOUD.fullmatch(table)
    if named:
        return f"{named[1]}.{named[2]}"
    if parts_of(table) is None and ("/" not in table or {".", ".."} & set(table.split("/"))):
        raise InvalidArgument(f"table_config.table: {table!r} names no table; {_ACCEPTED}")
    return table
