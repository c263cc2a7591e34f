"""Selects the records of a listing: flatten, filter, sort and limit, in that order."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pubsub_delta.cli.grammar.context import Context, uri_of

if TYPE_CHECKING:
    from pubsub_delta.cli.grammar.keys import Key


@dataclass(frozen=True)
class Selection:
    """The options of a listing.

    Args:
        flatten: keys of lists, each item of which becomes a record.
        filter: the filter of records.
        sort_by: sort keys; ``~`` reverses one.
        limit: the largest number of records.
        uri: whether only URIs are printed.
    """

    flatten: Sequence[str] = ()
    filter: str = ""
    sort_by: Sequence[str] = ()
    limit: int | None = None
    uri: bool = False

    @property
    def needs_all(self) -> bool:
        """Whether all records must be read to select the first one."""
        return bool(self.flatten or self.filter or self.sort_by)


def selected(
    records: Sequence[Any], selection: Selection, context: Context, aliases: Mapping[str, Key]
) -> tuple[list[Any], list[str]]:
    """Return the selected records, and the keys of the filter that no record has.

    >>> topics = [{"name": "a"}, {"name": "c"}, {"name": "b"}]
    >>> selected(topics, Selection(filter="NOT name=a", sort_by=["~name"]), Context(), {})
    ([{'name': 'c'}, {'name': 'b'}], [])
    """
    found, absent = list(records), []
    for key in selection.flatten:
        found = list(flattened(found, key))
    if selection.filter:
        from pubsub_delta.cli.grammar.filters import parse_filter  # most listings have none

        wanted = parse_filter(selection.filter, context, aliases=aliases)
        absent = wanted.absent(found)
        found = [each for each in found if wanted.matches(each)]
    found = in_order(found, sort_keys(selection.sort_by, aliases))
    found = found[: selection.limit]
    if selection.uri:
        found = [uri for each in found if (uri := uri_of(each)) is not None]
    return found, absent


def sort_keys(
    names: Sequence[str], aliases: Mapping[str, Key] | None = None
) -> list[tuple[Key, bool]]:
    """Return sort keys, and whether each is reversed; the first item of a list counts."""
    if not names:
        return []
    from pubsub_delta.cli.grammar.keys import parse_key, resolve_alias

    keys = [parse_key(each.lstrip("~").replace("[]", "[0]")) for each in names]
    return [
        (resolve_alias(key, aliases or {}), name[:1] == "~")
        for key, name in zip(keys, names, strict=True)
    ]


def in_order(records: Sequence[Any], keys: Sequence[tuple[Key, bool]]) -> list[Any]:
    """Return records sorted by keys; values are compared as text."""
    from pubsub_delta.cli.grammar.keys import value_at

    kept = list(records)
    for key, reverse in reversed(keys):
        kept.sort(key=lambda record: str(value_at(record, key)), reverse=reverse)
    return kept


def flattened(records: Sequence[Any], name: str) -> Iterator[Any]:
    """Yield a record for each item of the list at a key; others unchanged.

    >>> list(flattened([{"a": [1, 2]}, {"a": 3}, {}], "a[]"))
    [{'a': 1}, {'a': 2}, {'a': 3}, {}]
    >>> list(flattened([{"a": {"b": [1, 2], "c": 3}}], "a.b[]"))
    [{'a': {'b': 1, 'c': 3}}, {'a': {'b': 2, 'c': 3}}]
    >>> list(flattened([{"messageIds": ["7", "8"]}], "message_ids[]"))
    [{'messageIds': '7'}, {'messageIds': '8'}]
    """
    from pubsub_delta.cli.grammar.keys import parse_key, spelled, value_at

    path: tuple[str | int, ...] = ()
    ends = []
    for part in (*parse_key(name), None):
        if part is not None:
            path += (part,)
        elif path and path not in ends:
            ends.append(path)
    found: list[Any] = list(records)
    for end in ends:
        spread: list[Any] = []
        for record in found:
            items = value_at(record, end)
            if not isinstance(items, list):
                spread.append(record)
                continue
            for item in items:
                one = copy.deepcopy(record)
                holder, last = value_at(one, end[:-1]), end[-1]
                holder[spelled(last, holder) if isinstance(holder, dict) else last] = item
                spread.append(one)
        found = spread
    yield from found
