"""Lazy commands: the module of a command is imported when the command is used."""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import Any


class LazyCommands(UserDict[str, Any]):
    """The commands of a group by name, for ``click.Group(commands=…)``.

    A command that was not used yet is its place: ``module:attribute`` below ``pubsub_delta.cli``.
    """

    def __getitem__(self, name: str) -> Any:
        found = self.data[name]
        if isinstance(found, str):
            module, _, attribute = found.partition(":")
            found = getattr(import_module(f"pubsub_delta.cli.{module}"), attribute)
            self.data[name] = found
        return found
