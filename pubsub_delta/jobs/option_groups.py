"""Options that several commands share are declared once, as a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def options(*group: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return a decorator that adds options, which help shows in this order."""

    def add(command: F) -> F:
        for option in reversed(group):
            command = option(command)
        return command

    return add
