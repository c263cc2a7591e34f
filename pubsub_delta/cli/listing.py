"""Options of listings, and reading a listing to its end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import click

from pubsub_delta.cli.application import App
from pubsub_delta.cli.arguments import FilterType, KeysType, LimitType
from pubsub_delta.cli.service import Service
from pubsub_delta.jobs.option_groups import options
from pubsub_delta.resources import Page, all_pages

T = TypeVar("T")


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Keep the value of an option for printing the listing."""
    if value not in (None, False, ()) and param.name is not None:
        ctx.ensure_object(App).selection_options[param.name] = value
    return value


_kept_option = partial(click.option, callback=_keep, expose_value=False)

selection_options = options(
    _kept_option(
        "--filter",
        type=FilterType(),
        help="The filter of results, as in `gcloud topic filters`: name:my* AND labels.env=prod.",
    ),
    _kept_option(
        "--sort-by",
        type=KeysType(),
        help="Keys to sort by: topic,~name; ~ reverses the order.",
    ),
    _kept_option(
        "--page-size",
        type=LimitType(),
        help="The number of rows of a table, before the next table begins.",
    ),
)
"""Adds --filter, --sort-by and --page-size."""


listing_options = options(
    selection_options,
    click.option(
        "--limit",
        type=LimitType(),
        callback=_keep,
        help="The largest number of results. Default: unlimited.",
    ),
    _kept_option(
        "--uri",
        is_flag=True,
        help="Print only the URI of each resource, as Google writes it.",
    ),
)
"""The options of a listing of resources."""


def list_all(
    app: App, fetch: Callable[[Service, str | None], Page[T]], limit: int | None = None
) -> list[T]:
    """Return the first ``limit`` items of a listing, or all of them.

    With a filter or a sort order all items are read, as any of them may be printed.
    """
    most = None if app.selection.needs_all else limit
    return app.call(lambda store: list(islice(all_pages(partial(fetch, store)), most)))
