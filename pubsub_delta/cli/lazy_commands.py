"""Lazy commands: the module of a command is imported when the command is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module

import click


class LazyCommands(MutableMapping[str, click.Command]):
    """The commands of a group by name, for ``click.Group(commands=…)``.

    Args:
        places: the commands as ``module:attribute`` below ``pubsub_delta.cli``.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(places)
        self._loaded: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._loaded:
            module, _, attribute = self._places[name].partition(":")
            found = import_module(f"pubsub_delta.cli.{module}")
            self._loaded.setdefault(name, getattr(found, attribute))
        return self._loaded[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        known = [each.pop(name, None) for each in (self._loaded, self._places)]
        if not any(known):
            raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter({**self._places, **self._loaded})

    def __len__(self) -> int:
        return len({**self._places, **self._loaded})
