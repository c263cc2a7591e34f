"""What a command shows of records: those that its options select, in a format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pubsub_delta.cli.formats import Format, parse_format, sorted_by
from pubsub_delta.cli.grammar.context import Context
from pubsub_delta.cli.grammar.selection import Selection, selected, sort_keys
from pubsub_delta.cli.printing import render


def usual_or_given(given: str, usual: str, selection: Selection, context: Context) -> Format:
    """Return the format that is asked for, or else the usual one of a command."""
    if not given and selection.uri:
        return parse_format("value(.)", context)
    return parse_format(given, context, usual)


def text_of_records(
    records: Sequence[Any],
    form: Format,
    selection: Selection,
    context: Context,
    *,
    single: bool = False,
    page_size: int | None = None,
    width: int | None = None,
    warn: Callable[[str], object] = lambda _: None,
) -> tuple[str, int]:
    """Return records as a text, and how many of them are shown.

    ``warn``: is told of keys of the filter that no record has.
    """
    found, absent = selected(records, selection, context, form.aliases)
    if absent:
        warn(f"The following filter keys were not present in any resource : {', '.join(absent)}")
    keys = sort_keys(selection.sort_by, form.aliases)
    if keys and form.kind == "table":
        form = sorted_by(form, keys)
    return render(found, form, single=single, page_size=page_size, width=width), len(found)
