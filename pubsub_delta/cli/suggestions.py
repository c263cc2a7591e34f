"""Suggestions for an unknown command or resource: a similar name, or the next command."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import click

_MISSING = re.compile(
    r"(?P<name>projects/(?P<project>[^/\s]+)/"
    r"(?P<collection>topics|subscriptions|snapshots)/(?P<id>[^\s/;:,'\"]+)) does not exist"
)
_CREATING = {
    "topics": "topics create {}",
    "subscriptions": "subscriptions create {} --topic=TOPIC",
    "snapshots": "snapshots create {} --subscription=SUBSCRIPTION",
}

ListNames = Callable[[str, str], Sequence[str]]
"""Returns the full names of a collection ("topics") in a project."""


def _close(name: str, names: Iterable[str]) -> list[str]:
    from difflib import get_close_matches  # imported after a typing error only

    return get_close_matches(name, list(names), n=1)


def suggest_command(root: click.Command, group: click.Group, name: str) -> str:
    """Return a suggestion for a command that a group does not have."""
    close = _close(name, group.commands)
    if close:
        return f"did you mean {close[0]}?"
    elsewhere = [path for path in _paths(root) if path.split()[-1] == name]
    if elsewhere:
        return f"did you mean {' or '.join(elsewhere)}?"
    return f"there are {', '.join(sorted(group.commands))}"


def _paths(command: click.Command, above: str = "") -> Iterator[str]:
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield f"{above}{name}"
            yield from _paths(below, f"{above}{name} ")


def suggest_resource(message: str, project: str, stored: ListNames) -> str:
    """Return the error of a missing resource with a suggestion.

    Args:
        message: the error of the store or the server.
        project: the project of short names.
        stored: returns the names of existing resources.
    """
    missing = _MISSING.search(message)
    if missing is None:
        return message
    of, collection = missing["project"], missing["collection"]

    def short(name: str) -> str:
        return name.rpartition("/")[2] if of == project else name

    ids = {name.rpartition("/")[2]: name for name in stored(collection, of)}
    close = _close(missing["id"], ids)
    beginning = message[: missing.end()]
    if close:
        return f"{beginning}; did you mean {short(ids[close[0]])}?"
    for other in _CREATING:
        if missing["name"].replace(f"/{collection}/", f"/{other}/") in stored(other, of):
            return f"{beginning}; there is a {other[:-1]} of that name"
    if ids:
        return f"{beginning}; `pubsub-delta {collection} list` shows those that exist"
    creating = _CREATING[collection].format(short(missing["name"]))
    return f"{beginning}; `pubsub-delta {creating}` creates it"
